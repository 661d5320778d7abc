//! Deriving: what follows from the books, worked out anew each time it is asked for.

use std::time::Duration;

use super::config::{ClientRootsUse, Refresh};
use super::snapshot::{Snapshot, Source, State};
use super::ways::Way;
use super::{Link, ServerHalf};
use crate::mapping::Mapping;
use crate::policy::{ClientRoots, Policy};
use crate::set::{Root, RootSet};
use crate::time::Time;

/// The shortest time there is.
const INSTANT: Duration = Duration::from_nanos(1);

impl ServerHalf {
    pub(super) fn source(&self) -> Source {
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
            Source::Client if self.is_asking() => State::Refreshing,
            Source::Client => State::Stale,
        }
    }

    /// Whether the newest answer covers the newest invalidation.
    fn settled(&self) -> bool {
        self.view.told.as_ref().is_some_and(|told| told.covers == self.generation)
    }

    /// Whether the client says that it announces changes, and is believed.
    pub(super) fn announces(&self) -> bool {
        self.capability.is_some_and(|roots| roots.list_changed)
    }

    /// Whether a question may be sent at all.
    pub(super) fn may_ask(&self) -> bool {
        self.link == Link::Open && matches!(self.source(), Source::Nobody | Source::Client)
    }

    /// The way by which a question is owed, if one is and there is a way.
    pub(super) fn way_to_ask(&self) -> Option<Way> {
        let owed = self.may_ask() && !self.settled();
        owed.then(|| self.ways.best(self.config.reach)).flatten()
    }

    /// Whether a request pays for the question that is owed: one that waits for the answer, or one on whose stream it
    /// would go. Such a question is not held up by the bucket.
    pub(super) fn is_paid(&self) -> bool {
        !self.gate.is_empty() || self.ways.pays()
    }

    /// Whether a question is on its way, or could be at any moment.
    pub(super) fn is_asking(&self) -> bool {
        self.asking.in_flight.is_some() || self.ways.best(self.config.reach).is_some()
    }

    /// Since when a settled set has stood without anybody watching it.
    pub(super) fn unannounced_since(&self) -> Option<Time> {
        let watched = self.announces() || !self.may_ask() || !self.settled();
        self.view.told.as_ref().filter(|_| !watched).map(|told| told.at)
    }

    /// Whether the set is too old for a request. At the moment of the answer it never is, or a request that waited for
    /// it would be told that it may be out of date.
    pub(super) fn aged(&self, now: Time) -> bool {
        self.ages_at().is_some_and(|at| now >= at)
    }

    pub(super) fn ages_at(&self) -> Option<Time> {
        match self.config.refresh {
            Refresh::OnRequest(age) => self.unannounced_since().map(|told_at| told_at + age.max(INSTANT)),
            Refresh::Static | Refresh::Poll(_) => None,
        }
    }

    /// Works out afresh what the policy makes of the operator's directories and what the client has told.
    pub(super) fn recombine(&mut self) {
        let mapping = &self.config.mapping;
        self.view.mapping =
            self.view.told.as_ref().map_or_else(|| mapping.clone(), |told| mapping.preferring(&told.set));
        self.view.operator = in_the_clients_terms(&self.config.operator, &self.view.mapping);
        let client = match (self.source(), &self.view.told) {
            (Source::Client, Some(told)) => ClientRoots::Set(&told.set),
            (Source::Nobody | Source::Client, _) => ClientRoots::NotYet,
            _ => ClientRoots::None,
        };
        let combined = self.config.policy.combine(&self.view.operator, client);
        let told = self.view.told.iter().flat_map(|told| told.rejected.iter().cloned());
        self.view.rejected = told.chain(combined.dropped).collect();
        self.view.in_force = combined.set;
    }

    pub(super) fn compose(&self, now: Time) -> Snapshot {
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
            mapping: self.view.mapping.clone(),
        }
    }
}

fn in_the_clients_terms(operator: &RootSet, mapping: &Mapping) -> RootSet {
    if mapping.is_empty() {
        return operator.clone();
    }
    RootSet::from_roots(operator.iter().map(|root| Root { uri: mapping.uri_of(root.uri.path()), ..root.clone() }))
}
