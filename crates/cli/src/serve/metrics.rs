//! What a server of many sessions has done, in the text format of Prometheus.

use std::fmt::Write;

use mcp_roots::core::server_half::Counters;
use mcp_roots::http::TrackedSessions;

use super::work::Running;

pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The metrics as of now. What sessions have counted is summed over those that there are and those that have ended.
pub(super) fn text(sessions: &TrackedSessions, running: &Running) -> String {
    let Counters { asked, retries, notified, discarded, waited, missed, revoked, .. } = sessions.counted();
    let mut text = String::new();
    for (name, kind, help, value) in [
        ("mcp_roots_sessions", "gauge", "Sessions of clients that there are now.", sessions.len() as u64),
        ("mcp_roots_questions_total", "counter", "Questions for roots that were asked.", asked),
        ("mcp_roots_retries_total", "counter", "Questions for roots that failed and were planned again.", retries),
        ("mcp_roots_notifications_total", "counter", "Notifications of changed roots that were accepted.", notified),
        (
            "mcp_roots_notifications_discarded_total",
            "counter",
            "Notifications of changed roots from clients that did not declare them.",
            discarded,
        ),
        ("mcp_roots_fence_waits_total", "counter", "Requests that waited for fresh roots.", waited),
        ("mcp_roots_fence_misses_total", "counter", "Requests that waited for fresh roots in vain.", missed),
        ("mcp_roots_leases_revoked_total", "counter", "Calls that were stopped since their root had left.", revoked),
        (
            "mcp_roots_paths_refused_total",
            "counter",
            "Calls that were refused, being outside the roots.",
            running.refused(),
        ),
        ("mcp_roots_working", "gauge", "Pieces of work on files that are under way.", running.count() as u64),
    ] {
        // Writing to a string cannot fail.
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
    }
    text
}
