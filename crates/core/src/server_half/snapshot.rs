//! What the server side knows of a client's roots at one moment, and why it may not know them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::mapping::Mapping;
use crate::set::{Rejected, Root, RootSet};
use crate::time::Time;
use crate::uri::RootPath;

/// A counter, raised by each invalidation of the set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub u64);

impl Generation {
    pub(crate) fn next(self) -> Self {
        Generation(self.0 + 1)
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How far a snapshot can be relied on. Six different things, never folded together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// The client has not been heard on roots yet.
    NotYet,
    /// The set is what the client last said, and nothing has suggested otherwise.
    Fresh,
    /// The set may have changed; a question is on its way or owed.
    Refreshing,
    /// The set may have changed, and no question is under way: it is asked inside the next request.
    Stale,
    /// The client has no roots to give: it did not declare them, said so when asked, or is ignored.
    Unsupported,
    /// The last question failed. It is retried.
    Failed,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::NotYet => "not-yet",
            State::Fresh => "fresh",
            State::Refreshing => "refreshing",
            State::Stale => "stale",
            State::Unsupported => "unsupported",
            State::Failed => "failed",
        })
    }
}

/// Where the roots in force came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Nobody yet: the client has not been heard.
    Nobody,
    /// The client's answer, combined with the operator's directories under the policy.
    Client,
    /// The operator alone: the policy is to pin.
    Pinned,
    /// The operator alone: the client's roots are ignored by setting.
    Ignored,
    /// The operator alone: the client did not declare roots.
    Undeclared,
    /// The operator alone: the client declared roots and said no when asked.
    Refused,
    /// The operator alone: no answer came in time, and that is what the setting gives then.
    Fallback,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Nobody => "nobody yet",
            Source::Client => "the client",
            Source::Pinned => "the operator (pinned)",
            Source::Ignored => "the operator (the client's roots are ignored)",
            Source::Undeclared => "the operator (the client did not declare roots)",
            Source::Refused => "the operator (the client refused roots/list)",
            Source::Fallback => "the operator (the client did not answer in time)",
        })
    }
}

/// An immutable root set with its generation, its state and where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Snapshot {
    /// The newest invalidation when this was taken.
    pub generation: Generation,
    /// The invalidation that the client's answer below covers; `None` before the first answer.
    pub answered: Option<Generation>,
    /// How far it can be relied on.
    pub state: State,
    /// Where the roots in force came from.
    pub source: Source,
    /// The roots in force: what the policy made of the operator's directories and the client's roots.
    pub roots: RootSet,
    /// What the client told, before the policy; `None` if it has told nothing or no longer counts.
    pub told: Option<RootSet>,
    /// What was left out of `roots`, each with its reason.
    pub rejected: Arc<[Rejected]>,
    /// When the client's answer was read.
    pub told_at: Option<Time>,
    /// What the client calls the paths of the roots, and of all below them, which are local. A root's text is in the
    /// client's terms already.
    pub mapping: Mapping,
}

impl Snapshot {
    /// What is known before anything is.
    pub(super) fn before_all(mapping: Mapping) -> Self {
        Snapshot {
            generation: Generation(0),
            answered: None,
            state: State::NotYet,
            source: Source::Nobody,
            roots: RootSet::default(),
            told: None,
            rejected: Arc::default(),
            told_at: None,
            mapping,
        }
    }

    /// The deepest root in force that contains `path`, which is local.
    pub fn find(&self, path: &RootPath) -> Option<&Root> {
        self.roots.find(path)
    }

    /// Whether the client has answered since `generation`.
    pub fn covers(&self, generation: Generation) -> bool {
        self.answered.is_some_and(|answered| answered >= generation)
    }
}

/// Why a request that needs roots cannot have them now.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// No fresh set arrived within the deadline.
    #[error(
        "the client's roots are not known: {what} within {} ms. The fault is the client's. Try again, have the \
         client answer roots/list, or run the server with directories of its own and the client's roots ignored",
        waited.as_millis()
    )]
    Deadline {
        /// What the client failed to do.
        what: Silence,
        /// How long the request waited.
        waited: Duration,
    },
    /// The client keeps failing, so the request did not wait for it.
    #[error(
        "the client's roots are not known: {problem}. The fault is the client's; the question is being retried. \
         Try again later, or run the server with directories of its own and the client's roots ignored"
    )]
    Failing {
        /// What happened at the last question.
        problem: Problem,
    },
    /// More requests wait for roots than the limit allows.
    #[error("the client's roots are not known yet, and {limit} requests wait for them already. Send fewer at once")]
    TooManyWaiting {
        /// The limit.
        limit: usize,
    },
    /// The request is of a kind that cannot be returned to the client with a question, in an era in which a server asks
    /// in no other way (2026-07-28, basic/utilities/mrtr).
    #[error(
        "the client's roots are not known: it can only be asked by a tools/call, prompts/get or resources/read in this \
         protocol. Use one of these, or run the server with directories of its own"
    )]
    CannotAsk,
    /// The connection has ended.
    #[error("the connection to the client has ended, and its roots with it")]
    Closed,
}

/// What a client failed to do in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Silence {
    /// It did not finish the handshake, before which it may not be asked.
    Initialized,
    /// It did not answer.
    Answer,
    /// It could not be asked.
    Stream,
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Silence::Initialized => "it did not send notifications/initialized",
            Silence::Answer => "it declared roots and did not give a current answer to roots/list",
            Silence::Stream => "it declared roots and had no stream open on which to ask roots/list",
        })
    }
}

/// What went wrong with a question.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Problem {
    /// No answer came.
    NoAnswer {
        /// How long it was waited for.
        waited: Duration,
    },
    /// The client answered with an error.
    Error {
        /// The JSON-RPC code.
        code: i64,
        /// The client's message.
        message: String,
    },
    /// The client answered with something that is not a list of roots.
    Unreadable(String),
    /// The question could not be sent.
    NotSent(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::NoAnswer { waited } => write!(f, "no answer to roots/list for {} ms", waited.as_millis()),
            Problem::Error { code, message } => write!(f, "roots/list was answered with error {code}: {message}"),
            Problem::Unreadable(what) => write!(f, "roots/list was answered with something else than a list: {what}"),
            Problem::NotSent(error) => write!(f, "roots/list could not be sent: {error}"),
        }
    }
}
