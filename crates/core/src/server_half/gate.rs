//! The requests that wait for a fresh set. None waits past its deadline.

use std::collections::BTreeMap;
use std::time::Duration;

use super::snapshot::Generation;
use crate::time::Time;

/// A request that waits for a fresh set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitId(u64);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Wait {
    /// The request was read after this invalidation, so an answer must cover it.
    pub(super) needs: Generation,
    pub(super) since: Time,
}

/// The deadline is one for all, so the order of arrival is the order of expiry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Gate {
    waits: BTreeMap<WaitId, Wait>,
    next: u64,
}

impl Gate {
    pub(super) fn admit(&mut self, needs: Generation, now: Time) -> WaitId {
        let id = WaitId(self.next);
        self.next += 1;
        self.waits.insert(id, Wait { needs, since: now });
        id
    }

    pub(super) fn withdraw(&mut self, id: WaitId) {
        self.waits.remove(&id);
    }

    pub(super) fn len(&self) -> usize {
        self.waits.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    /// When the oldest wait runs into its deadline.
    pub(super) fn next_expiry(&self, deadline: Duration) -> Option<Time> {
        self.waits.first_key_value().map(|(_, wait)| wait.since + deadline)
    }

    /// Takes out each wait that `verdict` has an outcome for.
    pub(super) fn release<T>(&mut self, mut verdict: impl FnMut(&Wait) -> Option<T>) -> Vec<(WaitId, T)> {
        let mut released = Vec::new();
        self.waits.retain(|&id, wait| match verdict(wait) {
            Some(outcome) => {
                released.push((id, outcome));
                false
            }
            None => true,
        });
        released
    }
}
