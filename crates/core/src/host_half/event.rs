//! What a host half asks of its shell, and what it reports.

use std::fmt;
use std::time::Duration;

use crate::frame::RequestId;
use crate::set::{Diff, RootSet};

/// Something for the shell to do, in the order in which it is given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HostAction {
    /// Answer this `roots/list` request with these roots.
    Answer {
        /// The request's id.
        id: RequestId,
        /// The roots.
        roots: RootSet,
    },
    /// Answer this `roots/list` request with the error `-32601`: roots were not declared (2025-11-25,
    /// client/roots, Error Handling).
    Refuse(RequestId),
    /// Send `notifications/roots/list_changed`.
    Announce,
    /// Write it to the log.
    Report(HostEvent),
}

/// What happened, for logs and for people who watch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HostEvent {
    /// A change was announced.
    Announced {
        /// What has changed since the server was last told.
        diff: Diff,
        /// What is exposed now.
        roots: RootSet,
    },
    /// The server asked for the roots.
    Asked {
        /// How long after the announcement that it had not asked about; `None` if there is none.
        after: Option<Duration>,
    },
    /// The server was answered.
    Answered {
        /// With these roots.
        roots: RootSet,
    },
    /// A change was not announced.
    HeldBack(HeldBack),
    /// A change was announced, and the server has not asked.
    Unheeded {
        /// How long it has had.
        waited: Duration,
    },
}

/// Why something was not announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HeldBack {
    /// The change was undone before it was announced.
    TakenBack,
    /// The server asked on its own before the change was announced, and knows it now.
    AlreadyAsked,
    /// The capability `roots.listChanged` was not declared.
    NotDeclared,
    /// The client tried to announce by itself.
    NotOurs,
    /// In the modern era there are no announcements: a server asks with each request that needs roots.
    NoSession,
}

impl fmt::Display for HeldBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HeldBack::TakenBack => "the change was undone before it was announced",
            HeldBack::AlreadyAsked => "the server asked before the change was announced, and knows it now",
            HeldBack::NotDeclared => "roots.listChanged was not declared",
            HeldBack::NotOurs => {
                "the client tried to announce by itself; changes of the workspace are announced for it"
            }
            HeldBack::NoSession => "nothing is announced in this protocol; the server asks with each request",
        })
    }
}

impl fmt::Display for HostEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostEvent::Announced { diff, roots } => write!(
                f,
                "announced a change: {} added, {} removed, {} renamed; {} roots now",
                diff.added.len(),
                diff.removed.len(),
                diff.renamed.len(),
                roots.len()
            ),
            HostEvent::Asked { after: None } => f.write_str("the server asked for the roots"),
            HostEvent::Asked { after: Some(after) } => {
                write!(f, "the server asked for the roots {:.1} ms after the announcement", after.as_secs_f64() * 1e3)
            }
            HostEvent::Answered { roots } => write!(f, "answered with {} roots", roots.len()),
            HostEvent::HeldBack(why) => write!(f, "announced nothing: {why}"),
            HostEvent::Unheeded { waited } => {
                write!(f, "the server has not asked for the roots {} ms after the announcement", waited.as_millis())
            }
        }
    }
}
