//! What a server half asks of its shell, and what it reports.

use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;
use std::time::Duration;

use super::gate::WaitId;
use super::snapshot::{Generation, Problem, Snapshot, Unavailable};
use super::work::LeaseId;
use crate::frame::RequestId;
use crate::set::Diff;

/// Something for the shell to do, in the order in which it is given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Action {
    /// Send a `roots/list` request under this id.
    Ask(RequestId),
    /// Send a `roots/list` request on the stream of a request of the client's, before that is answered. Only under
    /// [`Reach::Streams`](super::Reach::Streams).
    AskWithin {
        /// The id of the question.
        id: RequestId,
        /// The id of the client's request.
        request: RequestId,
    },
    /// The root that this lease stands under has left: stop what goes on under it.
    Revoke(LeaseId),
    /// Send `notifications/resources/updated`, the last for this subscription.
    ResourceUpdated(Arc<str>),
    /// Send `notifications/resources/list_changed`.
    ResourceListChanged,
    /// From now on this is what is known. Leases under removed roots were revoked before.
    Publish(Arc<Snapshot>),
    /// A request that waited need not wait any longer.
    Release(WaitId, Result<Arc<Snapshot>, Unavailable>),
    /// Write it to the log.
    Report(Event),
}

/// What happened, for logs and diagnostics.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Event {
    /// A `list_changed` was discarded: the client did not declare that it sends them.
    Discarded {
        /// How many have been, with this one.
        count: u64,
    },
    /// A question was asked.
    Asked {
        /// Its id.
        id: RequestId,
        /// The invalidation that its answer will cover.
        generation: Generation,
    },
    /// The client answered with a list.
    Answered {
        /// How long that took.
        took: Duration,
        /// How many roots were taken.
        roots: usize,
        /// How many entries were rejected.
        rejected: usize,
        /// Whether the set is fresh now, or has been invalidated since the question.
        fresh: bool,
    },
    /// An answer came after a newer one, and was dropped.
    AnswerTooLate {
        /// The id of its question.
        id: RequestId,
    },
    /// A question failed and is retried.
    Failed {
        /// What happened.
        problem: Problem,
        /// How long until the retry.
        retry_in: Duration,
        /// How many failures in succession there were.
        failures: u32,
    },
    /// The stream that a question went by was closed, or stayed silent for a whole deadline. It counts as no failure:
    /// the client may never have seen it, and is asked again on the next stream.
    SetAside {
        /// The id of the question.
        id: RequestId,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The client has no roots to give and is not asked again before it announces a change.
    Refused {
        /// What it said.
        problem: Problem,
    },
    /// The roots in force have changed.
    Changed {
        /// What has changed.
        diff: Diff,
        /// How many leases were revoked.
        leases: usize,
        /// How many subscriptions were ended.
        subscriptions: usize,
    },
    /// A subscription is not followed, since there are too many: it will not end with its root.
    NotFollowed {
        /// The limit.
        limit: usize,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Discarded { count } => write!(
                f,
                "discarded a notifications/roots/list_changed from a client that did not declare roots.listChanged \
                 ({count} so far)"
            ),
            Event::Asked { id, generation } => write!(f, "asked roots/list as {id} for generation {generation}"),
            Event::Answered { took, roots, rejected, fresh } => write!(
                f,
                "the client answered roots/list after {:.1} ms: {roots} roots, {rejected} rejected{}",
                took.as_secs_f64() * 1e3,
                if *fresh { "" } else { "; changed again since" }
            ),
            Event::AnswerTooLate { id } => write!(f, "dropped the answer to {id}: a newer one came before it"),
            Event::Failed { problem, retry_in, failures } => {
                write!(f, "{problem}; failure {failures} in succession, retried in {} ms", retry_in.as_millis())
            }
            Event::SetAside { id, waited } => write!(
                f,
                "the stream that {id} went by led nowhere for {} ms: roots/list is asked again on the next one",
                waited.as_millis()
            ),
            Event::Refused { problem } => {
                write!(
                    f,
                    "{problem}; the client has no roots to give and is asked again only after it announces a change"
                )
            }
            Event::Changed { diff, leases, subscriptions } => write!(
                f,
                "the roots in force changed: {} added, {} removed, {} renamed; {leases} leases revoked, {subscriptions} \
                 subscriptions ended",
                diff.added.len(),
                diff.removed.len(),
                diff.renamed.len()
            ),
            Event::NotFollowed { limit } => write!(
                f,
                "a subscription is not followed, since {limit} are already: it will not end when its root leaves"
            ),
        }
    }
}

/// A half's books, for diagnostics.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Counters {
    /// Questions asked.
    pub asked: u64,
    /// Answers with a list that were applied.
    pub answered: u64,
    /// Answers dropped because a newer one came before.
    pub too_late: u64,
    /// Accepted `list_changed` notifications.
    pub notified: u64,
    /// Discarded `list_changed` notifications.
    pub discarded: u64,
    /// Questions that failed and were planned again.
    pub retries: u64,
    /// Questions whose stream led nowhere.
    pub set_aside: u64,
    /// Cues that led to a re-check.
    pub cues: u64,
    /// Cues that came too soon after another.
    pub cues_ignored: u64,
    /// Requests that waited for a fresh set.
    pub waited: u64,
    /// Requests that got no set, or an old one, since no fresh one came.
    pub missed: u64,
    /// Leases revoked.
    pub revoked: u64,
    /// Subscriptions ended.
    pub ended: u64,
    /// Updates held back, since their subscription had ended.
    pub updates_held: u64,
}

/// The sum over several connections.
impl AddAssign<&Counters> for Counters {
    fn add_assign(&mut self, other: &Counters) {
        self.asked += other.asked;
        self.answered += other.answered;
        self.too_late += other.too_late;
        self.notified += other.notified;
        self.discarded += other.discarded;
        self.retries += other.retries;
        self.set_aside += other.set_aside;
        self.cues += other.cues;
        self.cues_ignored += other.cues_ignored;
        self.waited += other.waited;
        self.missed += other.missed;
        self.revoked += other.revoked;
        self.ended += other.ended;
        self.updates_held += other.updates_held;
    }
}
