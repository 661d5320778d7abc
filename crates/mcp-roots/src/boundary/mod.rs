//! The boundary that a server draws from the roots in force: what is asked for is opened under a root, or not
//! at all.
//!
//! A comparison of paths only chooses the root to open under; the open itself decides, through a directory
//! handle that nothing leads out of (`cap-std`, which uses `openat2` on Linux). So a link that is swapped
//! between a check and an open leads nowhere, and two spellings of one place are one place.
//!
//! Everything here blocks on the file system. Async code calls it from a blocking task.

mod resolve;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, File, Metadata};
use mcp_roots_core::server_half::Snapshot;
use mcp_roots_core::uri::RootPath;

use crate::track::in_words;
use resolve::Resolver;

/// The boundary of one moment: the roots of a snapshot.
#[derive(Clone, Debug)]
pub struct Boundary {
    resolver: Arc<Resolver>,
}

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
    /// It is not a path at all.
    #[error("{path:?} is not a path: {reason}")]
    Unusable {
        /// What was asked for.
        path: PathBuf,
        /// Why not.
        reason: &'static str,
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
            BoundaryError::Ambiguous { .. } | BoundaryError::Unusable { .. } => false,
        }
    }
}

/// Something found under a root.
#[derive(Debug)]
pub struct Place {
    /// What was asked for.
    asked: PathBuf,
    /// The path that was found, absolute.
    path: PathBuf,
    root: RootPath,
    directory: Dir,
    /// Relative to `directory`; never empty.
    relative: PathBuf,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name.
    pub name: OsString,
    /// Whether it is a directory. A link is not followed.
    pub is_dir: bool,
}

impl Boundary {
    /// The boundary that these roots make.
    pub fn new(snapshot: Arc<Snapshot>) -> Self {
        Boundary { resolver: Arc::new(Resolver::new(snapshot)) }
    }

    /// The snapshot that this boundary is made of.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        self.resolver.snapshot()
    }

    /// The roots in force, for a message to people.
    pub fn in_words(&self) -> String {
        in_words(&self.snapshot().roots)
    }

    /// Finds `path` under the roots. `~` is the home directory; a relative path is taken from the only root,
    /// if there is exactly one.
    ///
    /// # Errors
    ///
    /// When it is outside, or cannot be looked at. What does not exist is not found here.
    pub fn find(&self, path: impl AsRef<Path>) -> Result<Place, BoundaryError> {
        self.resolver.find(path.as_ref())
    }
}

impl Place {
    /// Where it is, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The root that it was found under, for a lease.
    pub fn root(&self) -> &RootPath {
        &self.root
    }

    /// What it is. A link is followed.
    ///
    /// # Errors
    ///
    /// When the system says no.
    pub fn metadata(&self) -> Result<Metadata, BoundaryError> {
        self.directory.metadata(&self.relative).map_err(|error| self.failed(error))
    }

    /// Opens it as a file, to read.
    ///
    /// # Errors
    ///
    /// When the system says no.
    pub fn open(&self) -> Result<File, BoundaryError> {
        self.directory.open(&self.relative).map_err(|error| self.failed(error))
    }

    /// What is in it, sorted by name.
    ///
    /// # Errors
    ///
    /// When it is no directory, or the system says no.
    pub fn list(&self) -> Result<Vec<Entry>, BoundaryError> {
        self.entries().map_err(|error| self.failed(error))
    }

    fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in self.directory.read_dir(&self.relative)? {
            let entry = entry?;
            entries.push(Entry { name: entry.file_name(), is_dir: entry.file_type()?.is_dir() });
        }
        entries.sort();
        Ok(entries)
    }

    fn failed(&self, error: io::Error) -> BoundaryError {
        BoundaryError::Io { path: self.asked.clone(), error }
    }
}
