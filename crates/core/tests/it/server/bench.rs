//! A server half on a bench: a hand that plays the client, and a clock that moves when told.

use std::sync::Arc;
use std::time::Duration;

use mcp_roots_core::frame::{Answer, ClientFrame, RequestId, RootsCapability, ServerFrame, Verdict};
use mcp_roots_core::server_half::{
    Action, Demand, Event, LeaseId, ServerConfig, ServerHalf, Snapshot, State, Unavailable, WaitId,
};
use mcp_roots_core::set::{Origin, RawRoot, Root, RootSet};
use mcp_roots_core::time::Time;
use mcp_roots_core::uri::{PathRules, RootPath, RootUri};

pub(crate) type Outcome = Result<Arc<Snapshot>, Unavailable>;

pub(crate) struct Bench {
    pub(crate) half: ServerHalf,
    pub(crate) now: Time,
    /// Everything the half wanted done, in order.
    pub(crate) done: Vec<Action>,
    newest_question: Option<RequestId>,
}

pub(crate) fn config() -> ServerConfig {
    ServerConfig { rules: PathRules::Posix, ..ServerConfig::default() }
}

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn listed(uris: &[&str]) -> Answer {
    Answer::Listed(uris.iter().map(|uri| RawRoot::Listed { uri: uri.to_string(), name: None }).collect())
}

pub(crate) fn error(code: i64, message: &str) -> Answer {
    Answer::Error { code, message: message.into() }
}

pub(crate) fn operator(dirs: &[&str]) -> RootSet {
    RootSet::from_roots(dirs.iter().map(|dir| Root::new(RootUri::from_path(&path(dir)), None, Origin::Operator)))
}

pub(crate) fn path(text: &str) -> RootPath {
    RootPath::parse(text, PathRules::Posix).unwrap()
}

pub(crate) fn number(number: i64) -> RequestId {
    RequestId::Number(number)
}

impl Bench {
    /// A half that has just been connected.
    pub(crate) fn connected(config: ServerConfig) -> Self {
        let mut bench = Bench {
            half: ServerHalf::new(config, Time::ZERO),
            now: Time::ZERO,
            done: Vec::new(),
            newest_question: None,
        };
        bench.drain();
        bench
    }

    /// After the handshake with a client that declares this.
    pub(crate) fn open(config: ServerConfig, roots: Option<RootsCapability>) -> Self {
        let mut bench = Bench::connected(config);
        bench.reads(ClientFrame::Initialize { roots });
        bench.sends(ServerFrame::InitializeResult { resources_list_changed: true });
        bench.reads(ClientFrame::Initialized);
        bench
    }

    /// After the handshake with a client that declares roots and announces changes.
    pub(crate) fn announcing(config: ServerConfig) -> Self {
        Bench::open(config, Some(RootsCapability { list_changed: true }))
    }

    /// As [`Bench::announcing`], with the first answer given.
    pub(crate) fn settled(config: ServerConfig, uris: &[&str]) -> Self {
        let mut bench = Bench::announcing(config);
        let id = bench.question();
        bench.answers(&id, listed(uris));
        assert_eq!(bench.state(), State::Fresh);
        bench
    }

    pub(crate) fn reads(&mut self, frame: ClientFrame<'_>) -> Verdict {
        let verdict = self.half.handle_inbound(frame, self.now);
        self.drain();
        verdict
    }

    pub(crate) fn sends(&mut self, frame: ServerFrame<'_>) -> Verdict {
        let verdict = self.half.handle_outbound(frame, self.now);
        self.drain();
        verdict
    }

    pub(crate) fn answers(&mut self, id: &RequestId, answer: Answer) -> Verdict {
        self.reads(ClientFrame::Answer { id, answer })
    }

    /// The client announces a change.
    pub(crate) fn announced(&mut self) -> Verdict {
        self.reads(ClientFrame::ListChanged)
    }

    /// The client announces a change and, once asked, answers with these.
    pub(crate) fn changes_to(&mut self, uris: &[&str]) {
        self.announced();
        // Past the bucket, if the test has used it up.
        self.passes(millis(100));
        self.answers(&self.question(), listed(uris));
    }

    pub(crate) fn demands(&mut self) -> Demand {
        let demand = self.half.demand(self.now);
        self.drain();
        demand
    }

    /// A request that needs roots and has to wait for them.
    pub(crate) fn waits(&mut self) -> WaitId {
        match self.demands() {
            Demand::Wait(wait) => wait,
            Demand::Now(outcome) => panic!("expected to wait, and got {outcome:?}"),
        }
    }

    /// A request that needs roots and gets its outcome at once.
    pub(crate) fn gets(&mut self) -> Outcome {
        match self.demands() {
            Demand::Now(outcome) => outcome,
            Demand::Wait(_) => panic!("expected an outcome, and had to wait"),
        }
    }

    pub(crate) fn leases(&mut self, at: &str) -> Option<LeaseId> {
        self.half.lease(&path(at))
    }

    /// Subscribes, with the server's consent.
    pub(crate) fn subscribes(&mut self, uri: &str) {
        let id = number(900);
        self.reads(ClientFrame::Subscribe { id: &id, uri });
        self.sends(ServerFrame::Reply { id: &id, error: None });
    }

    /// Lets time pass, firing each timeout at its moment.
    pub(crate) fn passes(&mut self, wait: Duration) {
        let end = self.now + wait;
        while let Some(timeout) = self.half.next_timeout().filter(|&timeout| timeout <= end) {
            assert!(timeout > self.now || self.now == Time::ZERO, "a timeout that does not move on: {timeout:?}");
            self.now = timeout;
            self.half.handle_timeout(self.now);
            self.drain();
        }
        self.now = end;
        self.half.handle_timeout(self.now);
        self.drain();
    }

    pub(crate) fn drain(&mut self) {
        while let Some(action) = self.half.poll_action() {
            if let Some(id) = question_in(&action) {
                self.newest_question = Some(id.clone());
            }
            self.done.push(action);
        }
    }

    pub(crate) fn state(&self) -> State {
        self.half.snapshot().state
    }

    pub(crate) fn roots(&self) -> Vec<String> {
        in_words(self.half.snapshot())
    }

    /// The ids of all questions so far.
    pub(crate) fn questions(&self) -> Vec<RequestId> {
        self.done.iter().filter_map(question_in).cloned().collect()
    }

    /// The id of the newest question.
    pub(crate) fn question(&self) -> RequestId {
        self.newest_question.clone().expect("a question")
    }

    /// What a wait came to, if it has been released.
    pub(crate) fn outcome(&self, wait: WaitId) -> Option<Outcome> {
        self.done.iter().find_map(|action| match action {
            Action::Release(released, outcome) if *released == wait => Some(outcome.clone()),
            _ => None,
        })
    }

    pub(crate) fn events(&self) -> impl Iterator<Item = &Event> {
        self.done.iter().filter_map(|action| match action {
            Action::Report(event) => Some(event),
            _ => None,
        })
    }

    /// Where in the order of things the first action stands that `is` one.
    pub(crate) fn place(&self, is: impl Fn(&Action) -> bool) -> usize {
        self.done.iter().position(is).expect("such an action")
    }
}

fn question_in(action: &Action) -> Option<&RequestId> {
    match action {
        Action::Ask(id) | Action::AskWithin { id, .. } => Some(id),
        _ => None,
    }
}

pub(crate) fn in_words(snapshot: &Snapshot) -> Vec<String> {
    snapshot.roots.iter().map(|root| root.uri.as_str().to_owned()).collect()
}
