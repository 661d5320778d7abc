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
//! This half knows the legacy era (2024-11-05 to 2025-11-25), in which a server sends `roots/list`
//! (client/roots, Listing Roots) and a client announces changes (client/roots, Root List Changes).

mod asking;
mod config;
mod event;
mod gate;
mod snapshot;
mod work;

use std::collections::VecDeque;
use std::sync::Arc;

pub use config::{ClientRootsUse, OnStale, Refresh, ServerConfig, UnknownChoice, parse_duration};
pub use event::{Action, Counters, Event};
pub use gate::WaitId;
pub use snapshot::{Generation, Problem, Silence, Snapshot, Source, State, Unavailable};
pub use work::LeaseId;

use crate::frame::{Answer, ClientFrame, RequestId, RootsCapability, ServerFrame, Verdict};
use crate::policy::{ClientRoots, Policy};
use crate::set::{Origin, Rejected, RootSet};
use crate::time::Time;
use crate::uri::RootPath;
use asking::{Asking, Question};
use gate::Gate;
use work::Work;

/// JSON-RPC's "method not found".
const METHOD_NOT_FOUND: i64 = -32601;
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
        let mut half = ServerHalf {
            config,
            link: Link::Opening,
            capability: None,
            resources_list_changed: false,
            // The first set is owed from the start.
            generation: Generation(1),
            view: View::default(),
            asking,
            gate: Gate::default(),
            work: Work::default(),
            cued_at: None,
            published: Arc::new(Snapshot::before_all()),
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

    /// A question could not be sent.
    pub fn handle_send_failure(&mut self, id: &RequestId, error: String, now: Time) {
        if self.asking.answered(id).is_some() {
            self.question_failed(Problem::NotSent(error), now);
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

    /// A permission to work on `path` until no root in force covers it; `None` if none does now.
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
            Refresh::OnRequest(age) if self.published.state == State::Fresh => {
                self.unannounced_since().map(|told_at| told_at + age)
            }
            _ => None,
        };
        let asking = match &self.asking.in_flight {
            Some(question) => Some(question.asked_at + self.config.deadline),
            None => self.wants_to_ask().then(|| self.asking.next_turn(!self.gate.is_empty())),
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

/// Reading.
impl ServerHalf {
    fn read(&mut self, frame: ClientFrame<'_>, now: Time) -> Verdict {
        match frame {
            ClientFrame::Initialize { roots } if self.link == Link::Opening => {
                self.link = Link::Introduced;
                self.capability = roots;
                self.recombine();
            }
            ClientFrame::Initialized => self.open(),
            ClientFrame::ListChanged => return self.notified(),
            ClientFrame::Answer { id, answer } => {
                if let Some(question) = self.asking.answered(id) {
                    self.answered(question, answer, now);
                    return Verdict::Swallow;
                }
            }
            ClientFrame::Subscribe { id, uri } => {
                self.open_if_welcomed();
                let (limit, rules) = (self.config.max_subscriptions, self.config.rules);
                if !self.work.subscribe(id, uri, &self.view.in_force, rules, limit) {
                    self.report(Event::NotFollowed { limit });
                }
            }
            ClientFrame::Unsubscribe { uri } => self.work.unsubscribe(uri),
            ClientFrame::Request => self.open_if_welcomed(),
            _ => {}
        }
        Verdict::Pass
    }

    /// A client that sends requests after the welcome regards the handshake as done, even if its
    /// `notifications/initialized` is late or missing. Before that, a server sends nothing but pings and
    /// logging (2025-11-25, basic/lifecycle, Initialization).
    fn open_if_welcomed(&mut self) {
        if self.link == Link::Welcomed {
            self.open();
        }
    }

    fn open(&mut self) {
        if self.link < Link::Open {
            self.link = Link::Open;
        }
    }

    fn notified(&mut self) -> Verdict {
        if !self.announces() {
            self.counters.discarded += 1;
            self.report(Event::Discarded { count: self.counters.discarded });
            return Verdict::Swallow;
        }
        self.counters.notified += 1;
        // It is there, and it speaks of roots: what it failed at before may go well now.
        self.asking.heard();
        if self.view.refused {
            self.view.refused = false;
            self.recombine();
        }
        self.invalidate();
        Verdict::Pass
    }

    fn answered(&mut self, question: Question, answer: Answer, now: Time) {
        let problem = match answer {
            Answer::Listed(entries) => {
                let set = RootSet::admit(entries, self.config.rules, Origin::Client, self.config.max_roots);
                return self.told(question, set.set, set.rejected, now);
            }
            Answer::Error { code, message } => Problem::Error { code, message },
            Answer::Unreadable(what) => Problem::Unreadable(what),
        };
        if means_no(&problem) {
            if self.asking.apply(&question) {
                self.refused(problem);
            }
        } else if self.asking.in_flight.is_none() {
            // A later question may still do better than this one did.
            self.question_failed(problem, now);
        }
    }

    fn told(&mut self, question: Question, set: RootSet, rejected: Vec<Rejected>, now: Time) {
        if !self.asking.apply(&question) {
            self.counters.too_late += 1;
            self.report(Event::AnswerTooLate { id: question.id });
            return;
        }
        self.asking.heard();
        self.counters.answered += 1;
        self.report(Event::Answered {
            took: now.since(question.asked_at),
            roots: set.len(),
            rejected: rejected.len(),
            fresh: question.covers == self.generation,
        });
        self.view.told = Some(Told { set, rejected, covers: question.covers, at: now });
        self.recombine();
    }

    fn refused(&mut self, problem: Problem) {
        self.asking.heard();
        self.last_problem = Some(problem.clone());
        self.report(Event::Refused { problem });
        self.view.refused = true;
        self.view.told = None;
        self.recombine();
    }

    fn question_failed(&mut self, problem: Problem, now: Time) {
        let retry_at = self.asking.failed(&self.config, now);
        self.counters.retries += 1;
        self.last_problem = Some(problem.clone());
        self.report(Event::Failed { problem, retry_in: retry_at.since(now), failures: self.asking.failures() });
    }

    fn cue(&mut self, now: Time) {
        if !self.may_ask() {
            return;
        }
        if self.cued_at.is_some_and(|cued_at| now.since(cued_at) < self.config.cue_interval) {
            self.counters.cues_ignored += 1;
            return;
        }
        self.cued_at = Some(now);
        self.counters.cues += 1;
        self.invalidate();
    }

    fn invalidate(&mut self) {
        self.generation = self.generation.next();
    }

    fn report(&mut self, event: Event) {
        self.actions.push_back(Action::Report(event));
    }
}

/// Settling: all that is due by now is done, in the order in which it must be seen.
impl ServerHalf {
    fn settle(&mut self, now: Time) {
        if let Some(waited) = self.asking.lose_overdue(self.config.deadline, now) {
            self.question_failed(Problem::NoAnswer { waited }, now);
        }
        if let Refresh::Poll(wait) = self.config.refresh
            && self.unannounced_since().is_some_and(|told_at| now.since(told_at) >= wait)
        {
            self.invalidate();
        }
        if self.wants_to_ask() && self.asking.take_turn(!self.gate.is_empty(), now) {
            let id = self.asking.ask(self.generation, now);
            self.counters.asked += 1;
            self.actions.push_back(Action::Ask(id.clone()));
            self.report(Event::Asked { id, generation: self.generation });
        }
        self.publish(now);
        self.release(now);
    }

    /// Work under roots that left is ended first, then the new snapshot is shown, then requests are
    /// released to see it.
    fn publish(&mut self, now: Time) {
        let snapshot = self.compose(now);
        if *self.published == snapshot {
            return;
        }
        let first = self.published.answered.is_none();
        let diff = self.published.roots.diff(&snapshot.roots);
        self.published = Arc::new(snapshot);
        if !diff.is_empty() {
            let ending = self.work.reconcile(&self.published.roots);
            let (leases, subscriptions) = (ending.leases.len(), ending.subscriptions.len());
            self.counters.revoked += leases as u64;
            self.actions.extend(ending.leases.into_iter().map(Action::Revoke));
            self.end_subscriptions(ending.subscriptions);
            // Before the first answer nobody has been shown a list that could change.
            if self.resources_list_changed && !first {
                self.actions.push_back(Action::ResourceListChanged);
            }
            self.report(Event::Changed { diff, leases, subscriptions });
        }
        self.actions.push_back(Action::Publish(self.published.clone()));
    }

    fn release(&mut self, now: Time) {
        let mut gate = std::mem::take(&mut self.gate);
        let deadline = self.config.deadline;
        let released = gate.release(|wait| {
            self.outcome(wait.needs).or_else(|| {
                let waited = now.since(wait.since);
                let what = if self.link < Link::Open { Silence::Initialized } else { Silence::Answer };
                (waited >= deadline).then(|| self.fallback(Unavailable::Deadline { what, waited }))
            })
        });
        self.gate = gate;
        self.actions.extend(released.into_iter().map(|(wait, outcome)| Action::Release(wait, outcome)));
    }

    fn end_subscriptions(&mut self, uris: Vec<Arc<str>>) {
        self.counters.ended += uris.len() as u64;
        self.actions.extend(uris.into_iter().map(Action::ResourceUpdated));
    }

    /// What a request that needs an answer covering `needs` gets now, if anything yet.
    fn outcome(&mut self, needs: Generation) -> Option<Result<Arc<Snapshot>, Unavailable>> {
        if self.link == Link::Closed {
            return Some(Err(Unavailable::Closed));
        }
        let counts = matches!(self.source(), Source::Nobody | Source::Client);
        if !counts || self.published.covers(needs) {
            return Some(Ok(self.published.clone()));
        }
        let problem = self.last_problem.clone().filter(|_| self.asking.hopeless())?;
        Some(self.fallback(Unavailable::Failing { problem }))
    }

    /// What the settings give instead of a fresh set.
    fn fallback(&mut self, why: Unavailable) -> Result<Arc<Snapshot>, Unavailable> {
        self.counters.missed += 1;
        match self.config.on_stale {
            OnStale::Stale if self.view.told.is_some() => Ok(self.published.clone()),
            OnStale::Operator => Ok(Arc::new(Snapshot {
                source: Source::Fallback,
                roots: self.config.operator.clone(),
                ..Snapshot::clone(&self.published)
            })),
            OnStale::Error | OnStale::Stale => Err(why),
        }
    }
}

/// What follows from what is known.
impl ServerHalf {
    fn source(&self) -> Source {
        if self.config.policy == Policy::Pin {
            Source::Pinned
        } else if self.config.client_roots == ClientRootsUse::Ignore {
            Source::Ignored
        } else if self.link == Link::Opening {
            Source::Nobody
        } else if self.capability.is_none() {
            Source::Undeclared
        } else if self.view.refused {
            Source::Refused
        } else if self.view.told.is_none() {
            Source::Nobody
        } else {
            Source::Client
        }
    }

    fn state(&self, now: Time) -> State {
        match self.source() {
            Source::Pinned => State::Fresh,
            Source::Ignored | Source::Undeclared | Source::Refused | Source::Fallback => State::Unsupported,
            Source::Nobody | Source::Client if self.asking.failures() > 0 => State::Failed,
            Source::Nobody => State::NotYet,
            Source::Client if self.link == Link::Closed || self.aged(now) => State::Stale,
            Source::Client if self.settled() => State::Fresh,
            Source::Client => State::Refreshing,
        }
    }

    /// Whether the newest answer covers the newest invalidation.
    fn settled(&self) -> bool {
        self.view.told.as_ref().is_some_and(|told| told.covers == self.generation)
    }

    /// Whether the client says that it announces changes, and is believed.
    fn announces(&self) -> bool {
        self.capability.is_some_and(|roots| roots.list_changed)
    }

    /// Whether a question may be sent at all.
    fn may_ask(&self) -> bool {
        self.link == Link::Open && matches!(self.source(), Source::Nobody | Source::Client)
    }

    fn wants_to_ask(&self) -> bool {
        self.may_ask() && !self.settled()
    }

    /// Since when a settled set has stood without anybody watching it.
    fn unannounced_since(&self) -> Option<Time> {
        let watched = self.announces() || !self.may_ask() || !self.settled();
        self.view.told.as_ref().filter(|_| !watched).map(|told| told.at)
    }

    fn aged(&self, now: Time) -> bool {
        match self.config.refresh {
            Refresh::OnRequest(age) => self.unannounced_since().is_some_and(|told_at| now.since(told_at) >= age),
            Refresh::Static | Refresh::Poll(_) => false,
        }
    }

    /// Works out afresh what the policy makes of the operator's directories and what the client has told.
    fn recombine(&mut self) {
        let client = match (self.source(), &self.view.told) {
            (Source::Client, Some(told)) => ClientRoots::Set(&told.set),
            (Source::Nobody | Source::Client, _) => ClientRoots::NotYet,
            _ => ClientRoots::None,
        };
        let combined = self.config.policy.combine(&self.config.operator, client);
        let told = self.view.told.iter().flat_map(|told| told.rejected.iter().cloned());
        self.view.rejected = told.chain(combined.dropped).collect();
        self.view.in_force = combined.set;
    }

    fn compose(&self, now: Time) -> Snapshot {
        let told = self.view.told.as_ref();
        Snapshot {
            generation: self.generation,
            answered: told.map(|told| told.covers),
            state: self.state(now),
            source: self.source(),
            roots: self.view.in_force.clone(),
            told: told.map(|told| told.set.clone()),
            rejected: self.view.rejected.clone(),
            told_at: told.map(|told| told.at),
        }
    }
}

impl Snapshot {
    fn before_all() -> Self {
        Snapshot {
            generation: Generation(0),
            answered: None,
            state: State::NotYet,
            source: Source::Nobody,
            roots: RootSet::default(),
            told: None,
            rejected: Arc::default(),
            told_at: None,
        }
    }
}

/// Whether a problem is a client's way to say that it has no roots to give. Clients in the field use several
/// codes for that, so the words count as well.
fn means_no(problem: &Problem) -> bool {
    let Problem::Error { code, message } = problem else {
        return false;
    };
    let message = message.to_lowercase();
    *code == METHOD_NOT_FOUND
        || ["not supported", "unsupported", "not implemented", "method not found", "unknown method"]
            .iter()
            .any(|no| message.contains(no))
}
