//! Why a call came to nothing, in words for whoever called.

use std::io;

use mcp_roots::Unavailable;
use mcp_roots::boundary::{BoundaryError, Place};

#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error("Access denied: {0}")]
    Roots(#[from] Unavailable),
    #[error("Access denied - path outside allowed directories: {0}")]
    Outside(BoundaryError),
    #[error(transparent)]
    Boundary(BoundaryError),
    #[error("{0} is a directory; list_directory says what is in it")]
    Directory(String),
    #[error("{0} is neither a file nor a directory; a pipe or a device could keep its reader waiting for ever")]
    NoFile(String),
    #[error("{path} is {size} bytes long, and {most} are the limit here. {instead}")]
    TooLong { path: String, size: u64, most: u64, instead: &'static str },
    #[error("{path} is not UTF-8 from byte {at} on, so it is not edited as text. Nothing was changed")]
    NotText { path: String, at: usize },
    #[error(
        "Could not find exact match for edit {number}:\n{text}\nNothing was changed. Read the file again and copy the text from it"
    )]
    NoMatch { number: usize, text: String },
    #[error(
        "{0} was changed by somebody else while it was being edited. Nothing was written; read it again and repeat the edit"
    )]
    Changed(String),
    #[error("Destination already exists: {0}. Nothing was moved; choose another name or move that one away first")]
    Exists(String),
    #[error(
        "{0} and its destination are on different file systems, between which nothing is moved in one step. Nothing was changed; write it there anew"
    )]
    OtherDisk(String),
    #[error("{path}: {error}")]
    Io { path: String, error: io::Error },
    #[error(
        "{path}: its root left the set of roots while this was under way, so it was stopped{done}. The roots in force now: {roots}"
    )]
    Revoked { path: String, roots: String, done: &'static str },
    #[error("{path}: the client cancelled this, so it was stopped{done}")]
    Cancelled { path: String, done: &'static str },
    /// Seen by nobody: whoever had work stopped says why.
    #[error("stopped")]
    Stopped,
    #[error("{0}")]
    Argument(String),
}

impl CallError {
    /// Makes what the system said about a place into an error.
    pub(super) fn io(place: &Place) -> impl Fn(io::Error) -> Self + '_ {
        |error| CallError::Io { path: place.shown(), error }
    }
}

impl From<BoundaryError> for CallError {
    fn from(error: BoundaryError) -> Self {
        match error {
            BoundaryError::Outside { .. } => CallError::Outside(error),
            error => CallError::Boundary(error),
        }
    }
}
