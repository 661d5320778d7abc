//! What a half needs to know of a message, and no more.
//!
//! A shell reads a message in whatever form it has it (typed by an SDK, raw JSON) and describes it as a
//! [`ClientFrame`] or a [`ServerFrame`], after the side that *sent* it. The server half reads client
//! frames and watches the server's go out; the host half does the reverse. Parsing stays in the shell,
//! so the halves know nothing of JSON.

use std::fmt;
use std::sync::Arc;

use crate::set::RawRoot;

/// A JSON-RPC request id. A number and a text are never equal, whatever they look like.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequestId {
    /// An integer id.
    Number(i64),
    /// A text id.
    Text(Arc<str>),
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestId::Number(number) => write!(f, "{number}"),
            RequestId::Text(text) => write!(f, "{text:?}"),
        }
    }
}

/// The `roots` capability as a client declares it (2025-11-25, client/roots, Capabilities).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RootsCapability {
    /// Whether the client says that it will send `notifications/roots/list_changed`.
    pub list_changed: bool,
}

/// A client's answer to a `roots/list` request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// A list, entry by entry, each well formed or not.
    Listed(Vec<RawRoot>),
    /// A JSON-RPC error.
    Error {
        /// The error's code.
        code: i64,
        /// The error's message.
        message: String,
    },
    /// A result that holds no list of roots; the text says what it held instead.
    Unreadable(String),
}

/// A message on its way from the client to the server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientFrame<'a> {
    /// The `initialize` request.
    Initialize {
        /// What the client declares of roots, if it declares them.
        roots: Option<RootsCapability>,
    },
    /// The `notifications/initialized` notification.
    Initialized,
    /// The `notifications/roots/list_changed` notification.
    ListChanged,
    /// A response to a question that [`ServerHalf::awaits`](crate::server_half::ServerHalf::awaits).
    Answer {
        /// The id of the question.
        id: &'a RequestId,
        /// What the client answered.
        answer: Answer,
    },
    /// A `resources/subscribe` request.
    Subscribe {
        /// The request's id.
        id: &'a RequestId,
        /// The resource.
        uri: &'a str,
    },
    /// A `resources/unsubscribe` request.
    Unsubscribe {
        /// The resource.
        uri: &'a str,
    },
    /// A `ping` request, which never depends on roots.
    Ping,
    /// A request of the modern era (2026-07-28), which brings its own capabilities along.
    ModernRequest,
    /// Any other request.
    Request,
    /// Anything else: other notifications, and responses to what the server itself asked.
    Other,
}

/// A message on its way from the server to the client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ServerFrame<'a> {
    /// The result of `initialize`.
    InitializeResult {
        /// Whether the server declares `resources.listChanged`.
        resources_list_changed: bool,
    },
    /// A `roots/list` request.
    ListRoots {
        /// The request's id.
        id: &'a RequestId,
    },
    /// A response to a client's request.
    Reply {
        /// The id of the request.
        id: &'a RequestId,
        /// The JSON-RPC error code, if the request failed.
        error: Option<i64>,
    },
    /// A `notifications/resources/updated` notification.
    ResourceUpdated {
        /// The resource.
        uri: &'a str,
    },
    /// Anything else.
    Other,
}

/// What a shell does with the message that it described.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// Hand it on untouched.
    Pass,
    /// Hand it on with this `roots` capability declared, or with none, whatever stood there. Only for a client's
    /// `initialize`, and for each of its requests in the modern era.
    Declare(Option<RootsCapability>),
    /// Do not hand it on: it was the half's own affair.
    Swallow,
}
