//! Whom the half asks, when, how often, and which answers count.

use std::collections::BTreeSet;
use std::time::Duration;

use mcp_roots_core::frame::{Answer, ClientFrame, RequestId, RootsCapability, ServerFrame, Verdict};
use mcp_roots_core::server_half::{ClientRootsUse, Event, Refresh, ServerConfig, Source, State};

use super::bench::{Bench, config, error, in_words, listed, millis, number};

const SILENT_ROOTS: Option<RootsCapability> = Some(RootsCapability { list_changed: false });

#[test]
fn s1_never_asks_undeclared() {
    let mut bench = Bench::open(config(), None);
    bench.gets().unwrap();
    bench.announced();
    bench.half.handle_cue(bench.now);
    bench.passes(Duration::from_secs(3_600));
    assert!(bench.questions().is_empty());

    let mut ignored = Bench::announcing(ServerConfig { client_roots: ClientRootsUse::Ignore, ..config() });
    ignored.announced();
    assert_eq!(ignored.gets().unwrap().source, Source::Ignored);
    assert!(ignored.questions().is_empty());
}

#[test]
fn s2_discards_unexpected() {
    for declared in [None, SILENT_ROOTS] {
        let mut bench = Bench::open(config(), declared);
        if declared.is_some() {
            bench.answers(&bench.question(), listed(&["file:///a"]));
        }
        let before = bench.half.snapshot().clone();
        let questions = bench.questions().len();
        for _ in 0..3 {
            assert_eq!(bench.announced(), Verdict::Swallow);
        }
        assert_eq!(*bench.half.snapshot(), before);
        assert_eq!(bench.questions().len(), questions);
        let counts: Vec<u64> = bench
            .events()
            .filter_map(|event| match event {
                Event::Discarded { count } => Some(*count),
                _ => None,
            })
            .collect();
        assert_eq!(counts, [1, 2, 3], "the first is told from the rest, so that a log can warn once");
        assert_eq!(bench.half.status().counters.discarded, 3);
    }
}

#[test]
fn s3_relists_after_change() {
    let mut bench = Bench::settled(config(), &["file:///a"]);
    assert_eq!(bench.announced(), Verdict::Pass);
    assert_eq!(bench.questions().len(), 2);
    assert_eq!(bench.state(), State::Refreshing);
    bench.answers(&bench.question(), listed(&["file:///b"]));
    assert_eq!((bench.state(), bench.roots()), (State::Fresh, vec!["file:///b".into()]));
}

#[test]
fn s3_a_change_announced_before_the_handshake_is_done_is_seen() {
    let mut bench = Bench::connected(config());
    bench.reads(ClientFrame::Initialize { roots: Some(RootsCapability { list_changed: true }) });
    bench.announced();
    bench.sends(ServerFrame::InitializeResult { resources_list_changed: false });
    assert!(bench.questions().is_empty());
    bench.reads(ClientFrame::Initialized);
    bench.answers(&bench.question(), listed(&["file:///a"]));
    assert_eq!(bench.state(), State::Fresh);
}

#[test]
fn a_client_that_sends_requests_without_having_sent_initialized_is_asked_all_the_same() {
    let mut bench = Bench::connected(config());
    bench.reads(ClientFrame::Initialize { roots: Some(RootsCapability { list_changed: true }) });
    bench.reads(ClientFrame::Request);
    assert!(bench.questions().is_empty(), "the result of initialize goes first");
    bench.sends(ServerFrame::InitializeResult { resources_list_changed: false });
    bench.reads(ClientFrame::Ping);
    assert!(bench.questions().is_empty(), "a ping says nothing of the handshake");
    bench.reads(ClientFrame::Request);
    assert_eq!(bench.questions().len(), 1);
}

#[test]
fn s5_late_answers_lose() {
    let mut bench = Bench::settled(config(), &["file:///v0"]);
    bench.announced();
    let old = bench.question();
    bench.announced();
    bench.answers(&old, listed(&["file:///v1"]));
    assert_eq!(bench.state(), State::Refreshing, "an answer to a question from before the change is not fresh");
    bench.passes(millis(100));
    bench.answers(&bench.question(), listed(&["file:///v2"]));
    assert_eq!((bench.state(), bench.roots()), (State::Fresh, vec!["file:///v2".into()]));
}

#[test]
fn s5_an_answer_that_comes_after_a_newer_one_is_dropped() {
    let mut bench = Bench::announcing(config());
    let old = bench.question();
    bench.passes(Duration::from_secs(6));
    let new = bench.question();
    assert_ne!(old, new);
    bench.answers(&new, listed(&["file:///new"]));
    assert_eq!(bench.answers(&old, listed(&["file:///old"])), Verdict::Swallow);
    assert_eq!((bench.state(), bench.roots()), (State::Fresh, vec!["file:///new".into()]));
    assert_eq!(bench.half.status().counters.too_late, 1);
    assert!(bench.events().any(|event| matches!(event, Event::AnswerTooLate { .. })));
}

#[test]
fn s6_bounded_asking() {
    let mut bench = Bench::settled(config(), &["file:///v0"]);
    let before = bench.questions().len();
    for _ in 0..1_000 {
        bench.announced();
    }
    assert_eq!(bench.questions().len(), before + 1, "one in flight");
    bench.answers(&bench.question(), listed(&["file:///v1"]));
    bench.passes(millis(200));
    assert_eq!(bench.questions().len(), before + 2, "and one owed");
    bench.answers(&bench.question(), listed(&["file:///v2"]));
    bench.passes(Duration::from_secs(1));
    assert_eq!(bench.questions().len(), before + 2);
    assert_eq!((bench.state(), bench.roots()), (State::Fresh, vec!["file:///v2".into()]));
}

#[test]
fn s6_an_endless_storm_is_asked_about_at_a_bounded_rate_and_its_last_change_is_not_lost() {
    let mut bench = Bench::settled(config(), &["file:///v0"]);
    let before = bench.questions().len();
    for _ in 0..50_000 {
        bench.announced();
        if bench.half.awaits(&bench.question()) {
            bench.answers(&bench.question(), listed(&["file:///storm"]));
        }
        bench.passes(Duration::from_micros(100));
    }
    let asked = bench.questions().len() - before;
    assert!((40..=52).contains(&asked), "two at once and ten a second for 5 s, and it was {asked}");
    bench.passes(millis(100));
    bench.answers(&bench.question(), listed(&["file:///last"]));
    assert_eq!((bench.state(), bench.roots()), (State::Fresh, vec!["file:///last".into()]));
}

#[test]
fn s6_a_question_that_a_request_waits_for_is_not_held_up_by_the_bucket() {
    let mut bench = Bench::settled(config(), &["file:///v0"]);
    for change in 0..100 {
        bench.announced();
        let wait = bench.waits();
        bench.answers(&bench.question(), listed(&[&format!("file:///v{change}")]));
        assert!(bench.outcome(wait).is_some_and(|outcome| outcome.is_ok()), "at change {change}");
    }
}

#[test]
fn s9_retries() {
    let mut bench = Bench::announcing(ServerConfig { deadline: millis(500), ..config() });
    let mut asked_at = vec![bench.now];
    while asked_at.len() < 12 {
        let questions = bench.questions().len();
        bench.passes(millis(5));
        if bench.questions().len() > questions {
            asked_at.push(bench.now);
        }
    }
    let waits: Vec<u128> = asked_at.windows(2).map(|pair| pair[1].since(pair[0]).as_millis() - 500).collect();
    for (failure, wait) in waits.iter().enumerate() {
        let nominal = (100u128 << failure).min(10_000);
        assert!((nominal * 3 / 4..=nominal + 5).contains(wait), "retry {failure} after {wait} ms: {waits:?}");
    }
    let nominal: Vec<u128> = (0..waits.len()).map(|failure| (100u128 << failure).min(10_000)).collect();
    assert_ne!(waits, nominal, "there is jitter");
}

#[test]
fn s9_an_error_is_retried_and_a_no_is_final_until_the_next_notification() {
    let mut bench = Bench::announcing(config());
    bench.answers(&bench.question(), error(-32603, "Internal error"));
    assert_eq!(bench.state(), State::Failed);
    let wait = bench.waits();
    bench.passes(millis(100));
    assert_eq!(bench.questions().len(), 2);
    bench.answers(&bench.question(), error(-32601, "Method not found"));
    assert_eq!(bench.state(), State::Unsupported);
    assert!(bench.outcome(wait).unwrap().is_ok());
    bench.half.handle_cue(bench.now);
    bench.passes(Duration::from_secs(3_600));
    assert_eq!(bench.questions().len(), 2);
    bench.announced();
    assert_eq!(bench.questions().len(), 3);
    bench.answers(&bench.question(), listed(&["file:///a"]));
    assert_eq!(bench.state(), State::Fresh);
}

#[test]
fn s9_codes_alone_do_not_decide() {
    for (code, message) in [
        (-32600, "List roots not supported"),
        (-32603, "Roots are not implemented"),
        (-32601, "Method not found"),
        (-32601, ""),
    ] {
        let mut bench = Bench::announcing(config());
        bench.answers(&bench.question(), error(code, message));
        assert_eq!(bench.state(), State::Unsupported, "{code} {message}");
    }
    for (code, message) in [(-32600, "Invalid request"), (-32603, "Internal error"), (-32000, "busy")] {
        let mut bench = Bench::announcing(config());
        bench.answers(&bench.question(), error(code, message));
        assert_eq!(bench.state(), State::Failed, "{code} {message}");
    }
}

#[test]
fn s9_a_question_that_could_not_be_sent_is_asked_again() {
    let mut bench = Bench::announcing(config());
    bench.half.handle_send_failure(&bench.question(), "broken pipe".into(), bench.now);
    bench.passes(millis(100));
    assert_eq!(bench.questions().len(), 2);
    assert!(bench.half.status().last_problem.unwrap().to_string().contains("broken pipe"));
}

#[test]
fn s9_something_else_than_a_list_is_a_failure_and_keeps_what_was_known() {
    let mut bench = Bench::settled(config(), &["file:///a"]);
    bench.announced();
    bench.answers(&bench.question(), Answer::Unreadable("the result is null".into()));
    assert_eq!((bench.state(), bench.roots()), (State::Failed, vec!["file:///a".into()]));
}

#[test]
fn s11_cue_is_bounded() {
    let mut bench = Bench::settled(config(), &[]);
    let before = bench.questions().len();
    for _ in 0..1_000 {
        bench.sends(ServerFrame::Reply { id: &number(1), error: Some(-32002) });
        if bench.half.awaits(&bench.question()) {
            bench.answers(&bench.question(), listed(&[]));
        }
    }
    assert_eq!(bench.questions().len(), before + 1);
    bench.passes(Duration::from_secs(1));
    bench.sends(ServerFrame::Reply { id: &number(2), error: Some(-32002) });
    assert_eq!(bench.questions().len(), before + 2);
    bench.answers(&bench.question(), listed(&["file:///now"]));
    assert_eq!(bench.roots(), ["file:///now"]);
    bench.sends(ServerFrame::Reply { id: &number(3), error: Some(-32603) });
    assert_eq!(bench.questions().len(), before + 2, "another error is no cue");
}

#[test]
fn s12_sessions_are_apart() {
    let mut one = Bench::settled(ServerConfig { seed: 1, ..config() }, &["file:///one"]);
    let mut two = Bench::settled(ServerConfig { seed: 2, ..config() }, &["file:///two"]);
    one.announced();
    two.announced();
    // An answer that was meant for the other session is nobody's here.
    assert_eq!(two.answers(&one.question(), listed(&["file:///one"])), Verdict::Pass);
    assert_eq!((one.roots(), two.roots()), (vec!["file:///one".into()], vec!["file:///two".into()]));
}

#[test]
fn s14_ids_are_apart() {
    let mut bench = Bench::settled(config(), &["file:///a"]);
    bench.announced();
    let ours = bench.question();
    // The client numbers its own requests as it likes.
    bench.reads(ClientFrame::Subscribe { id: &ours, uri: "file:///a/x" });
    assert!(bench.half.awaits(&ours), "a request with our id is not an answer");
    // The server's own questions have numbers, and so have their answers.
    for theirs in [number(0), number(1), RequestId::Text("1".into())] {
        assert!(!bench.half.awaits(&theirs));
        assert_eq!(bench.answers(&theirs, listed(&["file:///evil"])), Verdict::Pass);
    }
    assert_eq!(bench.roots(), ["file:///a"]);

    let ids: BTreeSet<String> =
        (0..100).map(|seed| Bench::announcing(ServerConfig { seed, ..config() }).question().to_string()).collect();
    assert_eq!(ids.len(), 100, "two halves behind each other do not use the same ids");
}

#[test]
fn a_duplicate_of_an_answer_is_not_the_servers() {
    let mut bench = Bench::announcing(config());
    let question = bench.question();
    bench.answers(&question, listed(&["file:///a"]));
    bench.answers(&question, listed(&["file:///b"]));
    assert_eq!(bench.roots(), ["file:///a"]);
}

#[test]
fn without_list_changed_an_old_set_is_asked_for_inside_the_next_request() {
    let mut bench = Bench::open(config(), SILENT_ROOTS);
    bench.answers(&bench.question(), listed(&["file:///a"]));
    bench.passes(millis(9_999));
    assert_eq!(in_words(&bench.gets().unwrap()), ["file:///a"]);
    bench.passes(millis(1));
    assert_eq!(bench.state(), State::Stale, "and nobody is asked while nobody needs it");
    assert_eq!(bench.questions().len(), 1);
    let wait = bench.waits();
    bench.answers(&bench.question(), listed(&["file:///b"]));
    assert_eq!(in_words(&bench.outcome(wait).unwrap().unwrap()), ["file:///b"]);
}

#[test]
fn without_list_changed_a_set_is_polled_or_stands_as_the_settings_say() {
    let mut polled =
        Bench::open(ServerConfig { refresh: Refresh::Poll(Duration::from_secs(30)), ..config() }, SILENT_ROOTS);
    for question in 1..=3 {
        assert_eq!(polled.questions().len(), question);
        polled.answers(&polled.question(), listed(&["file:///a"]));
        polled.passes(Duration::from_secs(30));
    }

    let mut fixed = Bench::open(ServerConfig { refresh: Refresh::Static, ..config() }, SILENT_ROOTS);
    fixed.answers(&fixed.question(), listed(&["file:///a"]));
    fixed.passes(Duration::from_secs(3_600));
    assert_eq!((fixed.state(), fixed.questions().len()), (State::Fresh, 1));
    fixed.half.handle_cue(fixed.now);
    fixed.passes(Duration::ZERO);
    assert_eq!(fixed.questions().len(), 2, "a cue re-checks even then");
}

#[test]
fn a_set_that_is_asked_for_with_each_request_is_fresh_for_the_one_that_it_was_asked_for() {
    let config = ServerConfig { refresh: Refresh::OnRequest(Duration::ZERO), ..config() };
    let mut bench = Bench::open(config, SILENT_ROOTS);
    bench.answers(&bench.question(), listed(&["file:///a"]));
    for question in 2..=4 {
        bench.passes(millis(1));
        let wait = bench.waits();
        bench.answers(&bench.question(), listed(&["file:///a"]));
        assert_eq!(bench.outcome(wait).unwrap().unwrap().state, State::Fresh);
        assert_eq!(bench.questions().len(), question);
    }
}

#[test]
fn with_list_changed_age_is_no_matter() {
    let mut bench = Bench::settled(config(), &["file:///a"]);
    bench.passes(Duration::from_secs(3_600));
    assert_eq!((bench.state(), bench.questions().len()), (State::Fresh, 1));
}
