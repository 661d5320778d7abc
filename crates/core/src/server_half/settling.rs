//! Settling: all that is due by now is done, in the order in which it must be seen. It runs at the end of each call,
//! so no call has to remember what it owes.

use std::sync::Arc;
use std::time::Duration;

use super::config::{OnStale, Refresh};
use super::event::{Action, Event};
use super::snapshot::{Generation, Problem, Silence, Snapshot, Source, State, Unavailable};
use super::ways::Way;
use super::{Link, ServerHalf};
use crate::frame::RequestId;
use crate::time::Time;

impl ServerHalf {
    pub(super) fn settle(&mut self, now: Time) {
        self.lose_overdue(now);
        if let Refresh::Poll(wait) = self.config.refresh
            && self.unannounced_since().is_some_and(|told_at| now.since(told_at) >= wait)
        {
            self.invalidate();
        }
        if let Some(way) = self.way_to_ask()
            && self.asking.take_turn(self.is_paid(), now)
        {
            self.ask(way, now);
        }
        self.publish(now);
        self.release(now);
    }

    fn lose_overdue(&mut self, now: Time) {
        let Some(question) = self.asking.lose_overdue(self.config.deadline, now) else { return };
        let waited = now.since(question.asked_at);
        if question.way == Way::Stream {
            self.ways.doubt_stream();
            let id = question.id.clone();
            self.set_aside(id, waited);
        } else {
            self.asking.unheard();
            self.question_failed(Problem::NoAnswer { waited }, now);
        }
    }

    fn ask(&mut self, way: Way, now: Time) {
        let id = self.asking.ask(self.generation, way.clone(), now);
        self.ways.charge(&way);
        self.counters.asked += 1;
        self.actions.push_back(match way {
            Way::Direct | Way::Stream => Action::Ask(id.clone()),
            Way::Within(request) => Action::AskWithin { id: id.clone(), request },
        });
        self.report(Event::Asked { id, generation: self.generation });
    }

    /// A way to the client has been closed. A question that went by it may not have arrived.
    pub(super) fn lose_way(&mut self, way: &Way, now: Time) {
        if let Some(question) = self.asking.lose_way(way) {
            let (id, waited) = (question.id.clone(), now.since(question.asked_at));
            self.set_aside(id, waited);
        }
    }

    fn set_aside(&mut self, id: RequestId, waited: Duration) {
        self.counters.set_aside += 1;
        self.report(Event::SetAside { id, waited });
    }

    /// Work under roots that left is ended first, then the new snapshot is shown, then requests are
    /// released to see it.
    fn publish(&mut self, now: Time) {
        let snapshot = self.compose(now);
        if *self.published == snapshot {
            return;
        }
        let shown = self.published.state != State::NotYet;
        let diff = self.published.roots.diff(&snapshot.roots);
        self.published = Arc::new(snapshot);
        if !diff.is_empty() {
            let ending = self.work.reconcile(&self.published.roots);
            let (leases, subscriptions) = (ending.leases.len(), ending.subscriptions.len());
            self.counters.revoked += leases as u64;
            self.actions.extend(ending.leases.into_iter().map(Action::Revoke));
            self.end_subscriptions(ending.subscriptions);
            // Before the client is heard on roots nobody has been shown a list that could change.
            if self.resources_list_changed && shown {
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
                (waited >= deadline).then(|| self.fallback(Unavailable::Deadline { what: self.missing(), waited }))
            })
        });
        self.gate = gate;
        self.actions.extend(released.into_iter().map(|(wait, outcome)| Action::Release(wait, outcome)));
    }

    /// What the client fails to do, if anybody waits for it.
    fn missing(&self) -> Silence {
        if self.link < Link::Open {
            Silence::Initialized
        } else if self.is_asking() {
            Silence::Answer
        } else {
            Silence::Stream
        }
    }

    pub(super) fn end_subscriptions(&mut self, uris: Vec<Arc<str>>) {
        self.counters.ended += uris.len() as u64;
        self.actions.extend(uris.into_iter().map(Action::ResourceUpdated));
    }

    /// What a request that needs an answer covering `needs` gets now, if anything yet.
    pub(super) fn outcome(&mut self, needs: Generation) -> Option<Result<Arc<Snapshot>, Unavailable>> {
        if self.link == Link::Closed {
            return Some(Err(Unavailable::Closed));
        }
        let counts = matches!(self.source(), Source::Nobody | Source::Client);
        if !counts || self.published.covers(needs) {
            return Some(Ok(self.published.clone()));
        }
        let problem = self.last_problem.clone().filter(|_| self.asking.hopeless(&self.config))?;
        Some(self.fallback(Unavailable::Failing { problem }))
    }

    /// What the settings give instead of a fresh set.
    pub(super) fn fallback(&mut self, why: Unavailable) -> Result<Arc<Snapshot>, Unavailable> {
        self.counters.missed += 1;
        match self.config.on_stale {
            OnStale::Stale if self.view.told.is_some() => Ok(self.published.clone()),
            OnStale::Operator => Ok(Arc::new(Snapshot {
                source: Source::Fallback,
                roots: self.view.operator.clone(),
                ..Snapshot::clone(&self.published)
            })),
            OnStale::Error | OnStale::Stale => Err(why),
        }
    }
}
