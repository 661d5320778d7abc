//! A request that arrives after `list_changed` never sees roots from before it, and none waits for ever.

use std::time::Duration;

use mcp_roots_core::frame::{ClientFrame, RootsCapability, ServerFrame, Verdict};
use mcp_roots_core::policy::Policy;
use mcp_roots_core::server_half::{OnStale, ServerConfig, Source, State, Unavailable};

use super::bench::{Bench, config, error, in_words, listed, millis, operator};

#[test]
fn s4_fence() {
    let mut bench = Bench::settled(config(), &["file:///old"]);
    bench.announced();
    let wait = bench.waits();
    assert_eq!(bench.outcome(wait), None);
    bench.answers(&bench.question(), listed(&["file:///new"]));
    assert_eq!(in_words(&bench.outcome(wait).unwrap().unwrap()), ["file:///new"]);
}

#[test]
fn s4_a_request_is_not_served_from_an_answer_older_than_its_own_notification() {
    let mut bench = Bench::settled(config(), &["file:///v0"]);
    bench.announced();
    let first = bench.question();
    let early = bench.waits();
    bench.announced();
    let late = bench.waits();
    bench.answers(&first, listed(&["file:///v1"]));
    // The first request came before the second notification, so what it gets is new enough for it.
    assert_eq!(in_words(&bench.outcome(early).unwrap().unwrap()), ["file:///v1"]);
    assert_eq!(bench.outcome(late), None);
    bench.answers(&bench.question(), listed(&["file:///v2"]));
    assert_eq!(in_words(&bench.outcome(late).unwrap().unwrap()), ["file:///v2"]);
}

#[test]
fn the_first_request_waits_for_the_first_set() {
    let mut bench = Bench::announcing(config());
    let wait = bench.waits();
    bench.answers(&bench.question(), listed(&["file:///a"]));
    assert_eq!(in_words(&bench.outcome(wait).unwrap().unwrap()), ["file:///a"]);
}

#[test]
fn s8_never_blocks() {
    for (on_stale, expected) in [
        (OnStale::Error, Err(())),
        (OnStale::Stale, Ok(vec!["file:///old".to_owned()])),
        (OnStale::Operator, Ok(vec!["file:///operator".to_owned()])),
    ] {
        let config = ServerConfig { on_stale, operator: operator(&["/operator"]), ..config() };
        let mut bench = Bench::settled(config, &["file:///old"]);
        bench.announced();
        let wait = bench.waits();
        bench.passes(millis(4_999));
        assert_eq!(bench.outcome(wait), None);
        bench.passes(millis(1));
        let outcome = bench.outcome(wait).expect("an outcome at the deadline");
        assert_eq!(outcome.as_ref().map(|snapshot| in_words(snapshot)).map_err(|_| ()), expected, "{on_stale:?}");
        if let Err(error) = outcome {
            let text = error.to_string();
            assert!(text.contains("roots") && text.contains("client"), "{text}");
        }
    }
}

#[test]
fn s8_a_client_that_has_been_silent_for_a_whole_deadline_is_not_waited_for_again() {
    let mut bench = Bench::announcing(config());
    bench.passes(Duration::from_secs(5));
    assert_eq!(bench.state(), State::Failed);
    assert!(matches!(bench.gets(), Err(Unavailable::Failing { .. })));
    // It is still asked, and once it answers all is well.
    bench.passes(Duration::from_secs(1));
    bench.answers(&bench.question(), listed(&["file:///a"]));
    assert_eq!(in_words(&bench.gets().unwrap()), ["file:///a"]);
}

#[test]
fn s8_an_answer_after_the_deadline_is_still_welcome() {
    let mut bench = Bench::announcing(config());
    let question = bench.question();
    bench.passes(Duration::from_secs(6));
    assert_eq!(bench.answers(&question, listed(&["file:///a"])), Verdict::Swallow);
    assert_eq!(bench.state(), State::Fresh);
    assert_eq!(bench.roots(), ["file:///a"]);
}

#[test]
fn s8_a_handshake_that_is_never_finished_is_not_waited_for_past_the_deadline() {
    let mut bench = Bench::connected(config());
    bench.reads(ClientFrame::Initialize { roots: Some(RootsCapability { list_changed: true }) });
    bench.sends(ServerFrame::InitializeResult { resources_list_changed: false });
    let wait = bench.waits();
    assert!(bench.questions().is_empty(), "nothing but pings and logging goes out before `initialized`");
    bench.passes(Duration::from_secs(5));
    let error = bench.outcome(wait).unwrap().unwrap_err();
    assert!(error.to_string().contains("notifications/initialized"), "{error}");
}

#[test]
fn s8_a_connection_that_ends_releases_everybody() {
    let mut bench = Bench::announcing(config());
    let wait = bench.waits();
    bench.half.handle_close(bench.now);
    bench.passes(Duration::ZERO);
    assert_eq!(bench.outcome(wait), Some(Err(Unavailable::Closed)));
    assert_eq!(bench.gets(), Err(Unavailable::Closed));
}

#[test]
fn b3_bounded_waits() {
    let mut bench = Bench::announcing(ServerConfig { max_waits: 2, ..config() });
    bench.waits();
    let second = bench.waits();
    assert_eq!(bench.gets(), Err(Unavailable::TooManyWaiting { limit: 2 }));
    bench.half.withdraw(second);
    bench.waits();
}

#[test]
fn a_request_that_needs_no_roots_is_nobodys_concern() {
    let mut bench = Bench::announcing(config());
    assert_eq!(bench.reads(ClientFrame::Ping), Verdict::Pass);
    assert_eq!(bench.reads(ClientFrame::Request), Verdict::Pass);
    assert_eq!(bench.reads(ClientFrame::Other), Verdict::Pass);
}

#[test]
fn a_pinned_boundary_never_waits_and_never_asks() {
    let config = ServerConfig { policy: Policy::Pin, operator: operator(&["/srv"]), ..config() };
    let mut bench = Bench::announcing(config);
    let snapshot = bench.gets().unwrap();
    assert_eq!(
        (in_words(&snapshot), snapshot.source, snapshot.state),
        (vec!["file:///srv".into()], Source::Pinned, State::Fresh)
    );
    bench.announced();
    assert!(bench.questions().is_empty());
}

#[test]
fn a_refusal_releases_those_who_wait_to_the_operators_directories() {
    let mut bench = Bench::announcing(ServerConfig { operator: operator(&["/srv"]), ..config() });
    let wait = bench.waits();
    bench.answers(&bench.question(), error(-32601, "Method not found"));
    let snapshot = bench.outcome(wait).unwrap().unwrap();
    assert_eq!((in_words(&snapshot), snapshot.state), (vec!["file:///srv".into()], State::Unsupported));
}
