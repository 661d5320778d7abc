//! Why something is not to be had, in words that say what was asked, where it was looked for, and what to do.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why something is not to be had under the roots in force.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoundaryError {
    /// It is outside every root, or a link leads out of its root.
    #[error("{} is outside the roots in force ({roots}){}", path.display(), hint)]
    Outside {
        /// What was asked for.
        path: PathBuf,
        /// The roots in force, in words.
        roots: String,
        /// What to do about it.
        hint: Hint,
    },
    /// A relative path, and not exactly one root to take it from.
    #[error("{} is relative, and there are several roots it could be taken from ({roots}). Give an absolute path", path.display())]
    Ambiguous {
        /// What was asked for.
        path: PathBuf,
        /// The roots in force, in words.
        roots: String,
    },
    /// It is not a path at all, or not one of this system.
    #[error("{path:?} is not a path: {reason}")]
    Unusable {
        /// What was asked for.
        path: PathBuf,
        /// Why not.
        reason: &'static str,
    },
    /// It is a root, or stands for one, and a root is moved or removed by whoever opened it.
    #[error("{} is a root itself, which is not moved or removed from inside", path.display())]
    RootItself {
        /// What was asked for.
        path: PathBuf,
    },
    /// It is under a root, and the system says no.
    #[error("{}: {error}", path.display())]
    Io {
        /// What was asked for.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

/// What to do when something is outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// There are roots, and they are what the client says now.
    AskElsewhere,
    /// The client has no roots to give, or no folder open, and the server has no directories of its own.
    OpenAFolder,
    /// What is known of the client's roots may be out of date.
    Uncertain,
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Hint::AskElsewhere => ". Ask for something under one of them, or have the client add the folder",
            Hint::OpenAFolder => {
                ". Open a folder in the client, if it has roots to give, or run the server with directories of its own"
            }
            Hint::Uncertain => ". The client has not said which folders are open; what it said last may be out of date",
        })
    }
}

impl BoundaryError {
    /// Whether there is no such thing under the roots, as opposed to a failure to get at it.
    pub fn is_not_found(&self) -> bool {
        match self {
            BoundaryError::Outside { .. } => true,
            BoundaryError::Io { error, .. } => error.kind() == io::ErrorKind::NotFound,
            BoundaryError::Ambiguous { .. } | BoundaryError::Unusable { .. } | BoundaryError::RootItself { .. } => {
                false
            }
        }
    }
}
