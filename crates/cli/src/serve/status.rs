//! The state of the roots as structured content, for people and programs that wonder.

use mcp_roots::core::mapping::Mapping;
use mcp_roots::core::server_half::{Counters, Status};
use mcp_roots::core::set::{Origin, Root};
use schemars::JsonSchema;
use serde::Serialize;

/// What the tool `roots_status` gives.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RootsStatus {
    /// not-yet, fresh, refreshing, stale, unsupported or failed.
    state: String,
    /// Raised by each invalidation of the set.
    generation: u64,
    /// The invalidation that the client's last answer covers; null before the first answer.
    answered_generation: Option<u64>,
    /// replace, merge, narrow or pin.
    policy: String,
    /// Where the roots in force came from.
    source: String,
    /// What the client declared: null if it declared no roots.
    client_declared: Option<Declared>,
    /// How the set is kept current when the client does not announce changes.
    refresh: String,
    /// The roots in force, in order.
    roots: Vec<RootStatus>,
    /// What is not in force, each with its reason.
    rejected: Vec<RejectedStatus>,
    questions_asked: u64,
    answers: u64,
    answers_too_late: u64,
    notifications: u64,
    notifications_discarded: u64,
    retries: u64,
    cues: u64,
    requests_waiting: usize,
    requests_waited: u64,
    requests_missed: u64,
    leases: usize,
    leases_revoked: u64,
    subscriptions: usize,
    subscriptions_ended: u64,
    /// Pieces of work on files that are under way.
    working: usize,
    /// The last thing that went wrong with a question.
    last_error: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Declared {
    list_changed: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RootStatus {
    uri: String,
    path: String,
    name: Option<String>,
    /// client or operator.
    origin: &'static str,
    /// What was repaired in the URI.
    repairs: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RejectedStatus {
    entry: String,
    reason: String,
}

impl RootsStatus {
    pub(super) fn new(status: Status, working: usize) -> Self {
        let snapshot = &status.snapshot;
        let Counters {
            asked,
            answered,
            too_late,
            notified,
            discarded,
            retries,
            cues,
            waited,
            missed,
            revoked,
            ended,
            ..
        } = status.counters;
        RootsStatus {
            state: snapshot.state.to_string(),
            generation: snapshot.generation.0,
            answered_generation: snapshot.answered.map(|generation| generation.0),
            policy: status.policy.to_string(),
            source: snapshot.source.to_string(),
            client_declared: status.capability.map(|roots| Declared { list_changed: roots.list_changed }),
            refresh: status.refresh.to_string(),
            roots: snapshot.roots.iter().map(|root| RootStatus::new(root, &snapshot.mapping)).collect(),
            rejected: snapshot
                .rejected
                .iter()
                .map(|rejected| RejectedStatus { entry: rejected.shown.clone(), reason: rejected.reason.to_string() })
                .collect(),
            questions_asked: asked,
            answers: answered,
            answers_too_late: too_late,
            notifications: notified,
            notifications_discarded: discarded,
            retries,
            cues,
            requests_waiting: status.waiting,
            requests_waited: waited,
            requests_missed: missed,
            leases: status.leases,
            leases_revoked: revoked,
            subscriptions: status.subscriptions,
            subscriptions_ended: ended,
            working,
            last_error: status.last_problem.map(|problem| problem.to_string()),
        }
    }
}

impl RootStatus {
    fn new(root: &Root, mapping: &Mapping) -> Self {
        RootStatus {
            uri: root.uri.to_string(),
            path: mapping.shown(root.uri.path()).to_string(),
            name: root.name.as_deref().map(String::from),
            origin: match root.origin {
                Origin::Client => "client",
                Origin::Operator => "operator",
            },
            repairs: root.uri.repairs().iter().map(ToString::to_string).collect(),
        }
    }
}
