//! A client that can be reached only while it has a stream open is asked on that, and on nothing else.

use std::time::Duration;

use mcp_roots_core::frame::{ClientFrame, RequestId, RootsCapability, ServerFrame, Verdict};
use mcp_roots_core::server_half::{
    Action, Demand, Event, Reach, RequestStream, ServerConfig, Silence, State, Unavailable, WaitId,
};

use super::bench::{Bench, config, error, listed, millis, number};

fn streams() -> ServerConfig {
    ServerConfig { reach: Reach::Streams, ..config() }
}

/// After the handshake with a client that has no stream open.
fn unreachable() -> Bench {
    Bench::announcing(streams())
}

/// As [`unreachable`], with the first answer given inside a request.
fn settled(uris: &[&str]) -> Bench {
    let mut bench = unreachable();
    bench.requests(1);
    bench.answers(&bench.question(), listed(uris));
    bench.replies(1);
    assert_eq!(bench.state(), State::Fresh);
    bench
}

impl Bench {
    /// A request is read.
    fn requests(&mut self, id: i64) {
        self.stream_of(id, RequestStream::Opened);
        assert_eq!(self.reads(ClientFrame::Request), Verdict::Pass);
    }

    /// A request is read whose handler needs roots, and waits for them.
    fn requests_roots(&mut self, id: i64) -> WaitId {
        self.requests(id);
        self.waits()
    }

    fn replies(&mut self, id: i64) {
        assert_eq!(self.sends(ServerFrame::Reply { id: &number(id), error: None }), Verdict::Pass);
    }

    fn stream_of(&mut self, id: i64, became: RequestStream) {
        self.half.handle_request_stream(&number(id), became, self.now);
        self.drain();
    }

    fn opens_stream(&mut self) {
        self.half.handle_stream(true, self.now);
        self.drain();
    }

    fn closes_stream(&mut self) {
        self.half.handle_stream(false, self.now);
        self.drain();
    }

    /// The questions so far, each with the request that it was asked within.
    fn asked(&self) -> Vec<Option<RequestId>> {
        let asked = |action: &Action| match action {
            Action::Ask(_) => Some(None),
            Action::AskWithin { request, .. } => Some(Some(request.clone())),
            _ => None,
        };
        self.done.iter().filter_map(asked).collect()
    }
}

#[test]
fn with_no_stream_open_nothing_is_asked_counted_or_timed() {
    let mut bench = unreachable();
    assert_eq!((bench.state(), bench.half.next_timeout()), (State::NotYet, None));
    bench.passes(Duration::from_secs(3_600));
    assert!(bench.asked().is_empty());

    let mut bench = settled(&["file:///a"]);
    bench.announced();
    assert_eq!((bench.state(), bench.half.next_timeout()), (State::Stale, None));
    bench.passes(Duration::from_secs(3_600));
    let counters = bench.half.status().counters;
    assert_eq!((counters.asked, counters.retries, counters.set_aside), (1, 0, 0));
}

#[test]
fn what_is_owed_is_asked_within_the_next_request_before_it_is_served() {
    let mut bench = settled(&["file:///a"]);
    bench.announced();
    bench.requests(2);
    assert_eq!(bench.asked(), [Some(number(1)), Some(number(2))], "although nobody has needed roots yet");
    assert_eq!(bench.state(), State::Refreshing);
    let wait = bench.waits();
    bench.answers(&bench.question(), listed(&["file:///b"]));
    assert!(bench.outcome(wait).is_some_and(|outcome| outcome.is_ok()));
    assert_eq!((bench.state(), bench.roots()), (State::Fresh, vec!["file:///b".into()]));
}

#[test]
fn a_request_takes_a_question_along_however_soon_it_comes_after_others() {
    let mut bench = settled(&["file:///a"]);
    for request in 2..100 {
        bench.announced();
        bench.requests(request);
        assert_eq!(bench.asked().last(), Some(&Some(number(request))));
        bench.answers(&bench.question(), listed(&["file:///a"]));
        bench.replies(request);
    }
}

#[test]
fn a_ping_will_do() {
    let mut bench = settled(&["file:///a"]);
    bench.announced();
    bench.stream_of(2, RequestStream::Opened);
    bench.reads(ClientFrame::Ping);
    assert_eq!(bench.asked().last(), Some(&Some(number(2))));
}

#[test]
fn an_open_stream_is_used_at_once() {
    let mut bench = unreachable();
    bench.opens_stream();
    assert_eq!(bench.asked(), [None], "what was owed already");
    bench.answers(&bench.question(), listed(&["file:///a"]));
    bench.announced();
    assert_eq!(bench.asked(), [None, None], "what has come to be owed");
    bench.answers(&bench.question(), listed(&["file:///b"]));
    assert_eq!((bench.state(), bench.roots()), (State::Fresh, vec!["file:///b".into()]));
}

#[test]
fn a_request_in_flight_goes_before_the_open_stream() {
    let mut bench = settled(&["file:///a"]);
    bench.opens_stream();
    bench.requests(2);
    bench.announced();
    assert_eq!(bench.asked().last(), Some(&Some(number(2))));
}

#[test]
fn a_question_on_a_stream_that_closes_is_asked_within_the_next_request_and_its_answer_still_counts() {
    let mut bench = settled(&["file:///a"]);
    bench.opens_stream();
    bench.announced();
    let lost = bench.question();
    bench.closes_stream();
    assert_eq!((bench.state(), bench.half.next_timeout()), (State::Stale, None));
    bench.passes(Duration::from_secs(60));
    let wait = bench.requests_roots(2);
    assert_eq!(bench.asked().last(), Some(&Some(number(2))), "at once, not after some deadline");
    let asked = bench.question();
    assert_eq!(bench.answers(&lost, listed(&["file:///b"])), Verdict::Swallow);
    assert!(bench.outcome(wait).is_some_and(|outcome| outcome.is_ok()));
    assert_eq!(bench.answers(&asked, listed(&["file:///b"])), Verdict::Swallow);
    assert_eq!((bench.state(), bench.roots()), (State::Fresh, vec!["file:///b".into()]));
    let counters = bench.half.status().counters;
    assert_eq!((counters.set_aside, counters.retries), (1, 0));
}

#[test]
fn a_question_is_asked_anew_when_the_stream_is_opened_anew() {
    let mut bench = settled(&["file:///a"]);
    bench.opens_stream();
    bench.announced();
    bench.closes_stream();
    bench.opens_stream();
    // One that opens and closes its stream all the time is asked at the same bounded rate as any.
    bench.passes(millis(100));
    assert_eq!(bench.asked(), [Some(number(1)), None, None]);
}

#[test]
fn an_answer_that_comes_twice_is_kept_from_the_server() {
    let mut bench = settled(&["file:///a"]);
    let answered = bench.question();
    bench.announced();
    assert_eq!(bench.answers(&answered, listed(&["file:///old"])), Verdict::Swallow);
    assert_eq!(bench.roots(), ["file:///a"]);
}

#[test]
fn the_answer_may_come_after_the_reply_to_the_request() {
    let mut bench = settled(&["file:///a"]);
    bench.announced();
    bench.requests(2);
    bench.replies(2);
    bench.requests(3);
    assert_eq!(bench.asked().len(), 2, "the client has the question, so it is not asked anew");
    bench.replies(3);
    bench.answers(&bench.question(), listed(&["file:///b"]));
    assert_eq!((bench.state(), bench.roots()), (State::Fresh, vec!["file:///b".into()]));
}

#[test]
fn a_client_that_never_answers_costs_one_deadline_and_is_asked_again_only_on_a_stream() {
    let mut bench = unreachable();
    let wait = bench.requests_roots(1);
    bench.passes(Duration::from_secs(5));
    assert!(matches!(bench.outcome(wait), Some(Err(Unavailable::Failing { .. }))), "{:?}", bench.outcome(wait));
    bench.replies(1);
    assert_eq!((bench.state(), bench.half.next_timeout()), (State::Failed, None));
    bench.passes(Duration::from_secs(3_600));
    assert_eq!(bench.asked().len(), 1);
    bench.requests(2);
    assert_eq!(bench.asked().len(), 2);
    assert!(matches!(bench.gets(), Err(Unavailable::Failing { .. })));
    bench.answers(&bench.question(), listed(&["file:///a"]));
    bench.gets().unwrap();
}

#[test]
fn a_silent_stream_is_not_taken_for_a_silent_client() {
    let mut bench = settled(&["file:///a"]);
    bench.opens_stream();
    bench.announced();
    let slow = bench.question();
    bench.passes(Duration::from_secs(60));
    assert_eq!(bench.asked(), [Some(number(1)), None], "it is not relied on any more");
    assert!(bench.events().any(|event| matches!(event, Event::SetAside { .. })));
    let wait = bench.requests_roots(2);
    bench.answers(&bench.question(), listed(&["file:///b"]));
    assert!(bench.outcome(wait).is_some_and(|outcome| outcome.is_ok()));
    bench.replies(2);
    // An answer shows that it works after all.
    bench.answers(&slow, listed(&["file:///old"]));
    assert_eq!(bench.roots(), ["file:///b"]);
    bench.announced();
    assert_eq!(bench.asked().last(), Some(&None));
}

#[test]
fn a_request_whose_stream_breaks_off_is_a_way_again_once_that_is_resumed() {
    let mut bench = settled(&["file:///a"]);
    bench.announced();
    let wait = bench.requests_roots(2);
    bench.stream_of(2, RequestStream::Broken);
    assert_eq!(bench.asked().len(), 2);
    bench.passes(millis(500));
    bench.stream_of(2, RequestStream::Resumed);
    assert_eq!(bench.asked(), [Some(number(1)), Some(number(2)), Some(number(2))]);
    bench.answers(&bench.question(), listed(&["file:///b"]));
    assert!(bench.outcome(wait).is_some_and(|outcome| outcome.is_ok()));
    bench.stream_of(2, RequestStream::Broken);
    bench.replies(2);
    bench.announced();
    bench.stream_of(2, RequestStream::Resumed);
    assert_eq!(bench.asked().len(), 3, "a request that has been answered leads nowhere");
}

#[test]
fn a_demand_outside_of_any_request_says_what_is_missing() {
    let mut bench = settled(&["file:///a"]);
    bench.announced();
    let wait = bench.waits();
    bench.passes(Duration::from_secs(5));
    let Some(Err(why @ Unavailable::Deadline { what: Silence::Stream, .. })) = bench.outcome(wait) else {
        panic!("{:?}", bench.outcome(wait))
    };
    assert!(why.to_string().contains("stream"), "{why}");
}

#[test]
fn a_storm_with_and_without_a_way_stays_bounded() {
    let mut bench = settled(&["file:///a"]);
    for _ in 0..100_000 {
        bench.announced();
    }
    assert_eq!(bench.asked().len(), 1);
    // A request pays for one question, and those after it share the bucket.
    bench.requests(2);
    for _ in 0..5_000 {
        bench.announced();
        bench.answers(&bench.question(), listed(&["file:///storm"]));
        bench.passes(millis(1));
    }
    let asked = bench.asked().len();
    assert!((40..=54).contains(&asked), "two at once and ten a second for 5 s, and it was {asked}");
    bench.passes(millis(100));
    bench.answers(&bench.question(), listed(&["file:///last"]));
    assert_eq!((bench.state(), bench.roots()), (State::Fresh, vec!["file:///last".into()]));
}

#[test]
fn more_requests_in_flight_than_are_kept_in_mind_are_still_a_way() {
    let mut bench = Bench::announcing(ServerConfig { max_ways: 4, ..streams() });
    for request in 0..100 {
        bench.requests(request);
    }
    bench.answers(&bench.question(), error(-32603, "Internal error"));
    (4..100).for_each(|request| bench.replies(request));
    bench.passes(Duration::from_secs(1));
    assert_eq!(bench.asked().len(), 1, "the others are forgotten");
    bench.requests(200);
    assert_eq!(bench.asked().last(), Some(&Some(number(200))));
}

#[test]
fn s1_never_asks_undeclared_on_any_stream() {
    for (config, roots) in [
        (streams(), None),
        (
            ServerConfig { client_roots: mcp_roots_core::server_half::ClientRootsUse::Ignore, ..streams() },
            Some(RootsCapability { list_changed: true }),
        ),
    ] {
        let mut bench = Bench::open(config, roots);
        bench.opens_stream();
        bench.requests(1);
        bench.announced();
        assert!(matches!(bench.demands(), Demand::Now(Ok(_))));
        bench.closes_stream();
        bench.passes(Duration::from_secs(60));
        assert!(bench.asked().is_empty());
    }
}

#[test]
fn nothing_is_asked_inside_the_handshake() {
    let mut bench = Bench::connected(streams());
    bench.reads(ClientFrame::Initialize { roots: Some(RootsCapability { list_changed: true }) });
    bench.opens_stream();
    bench.requests(1);
    assert!(bench.asked().is_empty());
    bench.sends(ServerFrame::InitializeResult { resources_list_changed: false });
    bench.reads(ClientFrame::Initialized);
    assert_eq!(bench.asked(), [Some(number(1))]);
}

#[test]
fn a_client_that_can_be_reached_always_is_asked_as_ever() {
    let mut bench = Bench::settled(config(), &["file:///a"]);
    bench.requests(2);
    bench.opens_stream();
    bench.announced();
    bench.closes_stream();
    bench.stream_of(2, RequestStream::Broken);
    assert_eq!(bench.asked(), [None, None]);
    assert_eq!(bench.half.status().counters.set_aside, 0);
}
