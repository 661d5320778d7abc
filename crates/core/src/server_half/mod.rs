//! The server half: stands on the server's side of the wire and tracks a client's roots.
//!
//! Its methods come in three kinds. `handle_*` and the other verbs that take the time tell it what
//! happened; the getters say what it knows; [`ServerHalf::poll_action`] is drained after each call until
//! it gives nothing, and [`ServerHalf::next_timeout`] says when to call
//! [`ServerHalf::handle_timeout`] next. It does no I/O and reads no clock.
//!
//! All state that can be derived is derived. The set is *settled* when the newest answer covers the newest
//! invalidation; whether to ask, what state to show and whom to release follow from that, in one place that
//! runs at the end of each call.
//!
//! It can be told of a client that is reached only on the streams which that has open ([`Reach::Streams`]). Then a
//! question is asked as soon as it is due *and* there is a stream; one that is owed meanwhile costs no timer and counts
//! as no failure.
//!
//! This half knows the legacy era (2024-11-05 to 2025-11-25), in which a server sends `roots/list`
//! (client/roots, Listing Roots) and a client announces changes (client/roots, Root List Changes).

mod asking;
mod config;
mod deriving;
mod event;
mod gate;
mod reading;
mod settling;
mod snapshot;
mod ways;
mod work;

use std::collections::VecDeque;
use std::sync::Arc;

pub use config::{ClientRootsUse, OnStale, Reach, Refresh, ServerConfig, UnknownChoice, parse_duration};
pub use event::{Action, Counters, Event};
pub use gate::WaitId;
pub use snapshot::{Generation, Problem, Silence, Snapshot, Source, State, Unavailable};
pub use ways::RequestStream;
pub use work::LeaseId;

use crate::frame::{ClientFrame, RequestId, RootsCapability, ServerFrame, Verdict};
use crate::mapping::Mapping;
use crate::policy::Policy;
use crate::set::{Rejected, RootSet};
use crate::time::Time;
use crate::uri::RootPath;
use asking::Asking;
use gate::Gate;
use ways::{Way, Ways};
use work::Work;

/// MCP's "resource not found" (2025-11-25, server/resources, Error Handling).
const RESOURCE_NOT_FOUND: i64 = -32002;

/// Tracks one client's roots. See the [module](self) for how to drive it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServerHalf {
    config: ServerConfig,
    link: Link,
    /// What the client declared in `initialize`.
    capability: Option<RootsCapability>,
    resources_list_changed: bool,
    generation: Generation,
    view: View,
    asking: Asking,
    ways: Ways,
    gate: Gate,
    work: Work,
    cued_at: Option<Time>,
    published: Arc<Snapshot>,
    last_problem: Option<Problem>,
    counters: Counters,
    actions: VecDeque<Action>,
}

/// How far the connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Link {
    /// Before `initialize`.
    Opening,
    /// `initialize` has been read; its result has not been sent.
    Introduced,
    /// The result has been sent. The client owes `notifications/initialized`.
    Welcomed,
    /// The server may send requests.
    Open,
    Closed,
}

/// What the client's answers came to, and what the policy made of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct View {
    told: Option<Told>,
    /// The client said that it has no roots to give.
    refused: bool,
    /// The mapping, as it is for what the client has told.
    mapping: Mapping,
    /// The operator's directories where they are, under what the client calls them: so every root's text is in the
    /// client's terms, whoever brought it.
    operator: RootSet,
    in_force: RootSet,
    rejected: Arc<[Rejected]>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Told {
    set: RootSet,
    rejected: Vec<Rejected>,
    covers: Generation,
    at: Time,
}

/// What a request that needs roots gets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Demand {
    /// An outcome at once.
    Now(Result<Arc<Snapshot>, Unavailable>),
    /// A place in the queue; [`Action::Release`] follows within the deadline.
    Wait(WaitId),
}

/// A half's diagnostics.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Status {
    /// What is known now.
    pub snapshot: Arc<Snapshot>,
    /// The policy.
    pub policy: Policy,
    /// What the client declared; `None` before `initialize` too.
    pub capability: Option<RootsCapability>,
    /// How a set is kept current when the client does not announce changes.
    pub refresh: Refresh,
    /// Leases held now.
    pub leases: usize,
    /// Subscriptions active now.
    pub subscriptions: usize,
    /// Requests that wait now.
    pub waiting: usize,
    /// The last thing that went wrong with a question, even if a later one went well.
    pub last_problem: Option<Problem>,
    /// What has been counted since the connection began.
    pub counters: Counters,
}

/// What arrives and what leaves.
impl ServerHalf {
    /// A half for a connection that has just been opened.
    pub fn new(config: ServerConfig, now: Time) -> Self {
        let asking = Asking::new(&config, now);
        let published = Arc::new(Snapshot::before_all(config.mapping.clone()));
        let mut half = ServerHalf {
            config,
            link: Link::Opening,
            capability: None,
            resources_list_changed: false,
            // The first set is owed from the start.
            generation: Generation(1),
            view: View::default(),
            asking,
            ways: Ways::default(),
            gate: Gate::default(),
            work: Work::default(),
            cued_at: None,
            published,
            last_problem: None,
            counters: Counters::default(),
            actions: VecDeque::new(),
        };
        half.recombine();
        half.settle(now);
        half
    }

    /// A message from the client has been read. It must be told in the order of reading, before any later
    /// message is handed on.
    #[must_use = "it says whether the message is handed on"]
    pub fn handle_inbound(&mut self, frame: ClientFrame<'_>, now: Time) -> Verdict {
        let verdict = self.read(frame, now);
        self.settle(now);
        verdict
    }

    /// The server is about to send a message.
    #[must_use = "it says whether the message is handed on"]
    pub fn handle_outbound(&mut self, frame: ServerFrame<'_>, now: Time) -> Verdict {
        let mut verdict = Verdict::Pass;
        match frame {
            ServerFrame::InitializeResult { resources_list_changed } => {
                self.resources_list_changed = resources_list_changed;
                self.link = self.link.max(Link::Welcomed);
            }
            ServerFrame::Reply { id, error } => {
                self.ways.answered(id);
                if let Some(uri) = self.work.replied(id, error.is_none(), &self.view.in_force) {
                    self.end_subscriptions(vec![uri]);
                }
                if error == Some(RESOURCE_NOT_FOUND) {
                    self.cue(now);
                }
            }
            ServerFrame::ResourceUpdated { uri } if !self.work.may_update(uri) => {
                self.counters.updates_held += 1;
                verdict = Verdict::Swallow;
            }
            _ => {}
        }
        self.settle(now);
        verdict
    }

    /// The time of [`ServerHalf::next_timeout`] has come, or some later time.
    pub fn handle_timeout(&mut self, now: Time) {
        self.settle(now);
    }

    /// Under [`Reach::Streams`]: whether the client has a stream open on which the server can send what belongs to no
    /// request. A question goes out on it at once.
    pub fn handle_stream(&mut self, open: bool, now: Time) {
        if self.config.reach == Reach::Streams {
            self.ways.set_stream(open);
            if !open {
                self.lose_way(&Way::Stream, now);
            }
            self.settle(now);
        }
    }

    /// Under [`Reach::Streams`]: what became of the stream of a client's request. A question that is owed goes out on it,
    /// before the request is served; a reply to the request ends it. `initialize` is no such request, since nothing
    /// may be asked inside it.
    pub fn handle_request_stream(&mut self, request: &RequestId, became: RequestStream, now: Time) {
        if self.config.reach == Reach::Streams {
            match became {
                RequestStream::Opened => self.ways.opened(request, self.config.max_ways),
                RequestStream::Resumed => self.ways.resumed(request, self.config.max_ways),
                RequestStream::Broken => {
                    self.ways.broke(request);
                    self.lose_way(&Way::Within(request.clone()), now);
                }
            }
            self.settle(now);
        }
    }

    /// A question could not be sent.
    pub fn handle_send_failure(&mut self, id: &RequestId, error: String, now: Time) {
        if self.asking.answered(id).is_some() {
            self.question_failed(Problem::NotSent(error), now);
        }
        self.settle(now);
    }

    /// There is no way to ask the client. Whoever waits for it gets what its answer could not take away, if there is
    /// any, and waits in vain otherwise.
    pub fn handle_no_way(&mut self, now: Time) {
        for (wait, ()) in self.gate.release(|_| Some(())) {
            let outcome = match self.view.in_force.is_empty() {
                true => self.fallback(Unavailable::CannotAsk),
                false => Ok(self.published.clone()),
            };
            self.actions.push_back(Action::Release(wait, outcome));
        }
        self.settle(now);
    }

    /// The connection has ended.
    pub fn handle_close(&mut self, now: Time) {
        self.link = Link::Closed;
        self.settle(now);
    }

    /// A request that has been read needs the roots.
    pub fn demand(&mut self, now: Time) -> Demand {
        if self.aged(now) {
            self.invalidate();
        }
        let needs = self.generation;
        let demand = match self.outcome(needs) {
            Some(outcome) => Demand::Now(outcome),
            None if self.gate.len() >= self.config.max_waits => {
                Demand::Now(self.fallback(Unavailable::TooManyWaiting { limit: self.config.max_waits }))
            }
            None => {
                self.counters.waited += 1;
                Demand::Wait(self.gate.admit(needs, now))
            }
        };
        self.settle(now);
        demand
    }

    /// A request no longer waits, because it was cancelled.
    pub fn withdraw(&mut self, wait: WaitId) {
        self.gate.withdraw(wait);
    }

    /// There is a hint that the set has changed without a notification, such as a ResourceNotFound. Asks
    /// again, at most once per interval.
    pub fn handle_cue(&mut self, now: Time) {
        self.cue(now);
        self.settle(now);
    }

    /// A permission to work on `path`, which is local, until no root in force covers it; `None` if none does now.
    pub fn lease(&mut self, path: &RootPath) -> Option<LeaseId> {
        self.view.in_force.find(path)?;
        Some(self.work.lease(path.clone()))
    }

    /// The work under a lease is done.
    pub fn return_lease(&mut self, lease: LeaseId) {
        self.work.return_lease(lease);
    }

    /// The next thing to do. Drain it after each call above.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When [`ServerHalf::handle_timeout`] is due, if nothing happens before.
    pub fn next_timeout(&self) -> Option<Time> {
        let refresh = match self.config.refresh {
            Refresh::Poll(wait) => self.unannounced_since().map(|told_at| told_at + wait),
            Refresh::OnRequest(_) if self.published.state == State::Fresh => self.ages_at(),
            _ => None,
        };
        let asking = match &self.asking.in_flight {
            Some(question) => Some(question.asked_at + self.config.deadline),
            None => self.way_to_ask().map(|_| self.asking.next_turn(self.is_paid())),
        };
        [refresh, asking, self.gate.next_expiry(self.config.deadline)].into_iter().flatten().min()
    }
}

/// What is known.
impl ServerHalf {
    /// What is known now.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.published
    }

    /// Whether a response with this id answers a question of this half, so that its content is wanted.
    pub fn awaits(&self, id: &RequestId) -> bool {
        self.asking.knows(id)
    }

    /// The settings.
    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// The diagnostics.
    pub fn status(&self) -> Status {
        Status {
            snapshot: self.published.clone(),
            policy: self.config.policy,
            capability: self.capability,
            refresh: self.config.refresh,
            leases: self.work.leases(),
            subscriptions: self.work.subscriptions(),
            waiting: self.gate.len(),
            last_problem: self.last_problem.clone(),
            counters: self.counters.clone(),
        }
    }
}
