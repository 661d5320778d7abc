//! The boundary that a server draws from the roots in force: what is asked for is opened, written, moved or
//! removed under a root, or not at all.
//!
//! A comparison of paths only chooses the root to open under; the open itself decides, through a directory
//! handle that nothing leads out of (`cap-std`, which uses `openat2` on Linux). So a link that is swapped
//! between a check and an open leads nowhere, and two spellings of one place are one place.
//!
//! ```no_run
//! # use mcp_roots::{Roots, boundary::Boundary};
//! # async fn handler(roots: Roots) -> Result<(), Box<dyn std::error::Error>> {
//! let boundary = Boundary::new(roots.current().await?);
//! let file = boundary.find("notes.txt")?.open()?;          // what is there
//! boundary.locate("new.txt")?.write(b"a new file")?;       // what is there, or is to be
//! boundary.entry("new.txt")?.rename(&boundary.entry("old.txt")?)?; // a name, be it a link
//! # Ok(())
//! # }
//! ```
//!
//! Where the client's folders are mapped to others (`ServerConfig::mapping`), what is asked for is in the client's terms,
//! and so is what an error says; [`Place::path`] is local, and [`Place::shown`] is what the client calls it.
//!
//! Everything here blocks on the file system. Async code calls it from a blocking task.

mod error;
mod place;
mod resolve;
mod walk;

use std::path::Path;
use std::sync::Arc;

use mcp_roots_core::server_half::Snapshot;

use crate::track::in_words;
pub use error::{BoundaryError, Hint};
pub use place::{Entries, Entry, Place};
use resolve::Resolver;
pub use walk::{Found, MAX_DEPTH, Walk};

/// The boundary of one moment: the roots of a snapshot.
#[derive(Clone, Debug)]
pub struct Boundary {
    resolver: Arc<Resolver>,
}

/// The three ways to look a path up read it alike: `~` is the home directory, a relative path is taken from
/// the only root, if there is exactly one, and the deepest root that contains a path is the one it is under. A path that
/// a mapping covers is read under the rules of the client's system, and its `..` are taken off as the text has them.
impl Boundary {
    /// The boundary that these roots make.
    pub fn new(snapshot: Arc<Snapshot>) -> Self {
        Boundary { resolver: Arc::new(Resolver::new(snapshot)) }
    }

    /// The snapshot that this boundary is made of.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        self.resolver.snapshot()
    }

    /// The roots in force, for a message to the client.
    pub fn in_words(&self) -> String {
        in_words(self.snapshot())
    }

    /// Finds what is at `path`, to look at it or read it. Links are followed.
    ///
    /// # Errors
    ///
    /// When it is outside, is not there, or cannot be looked at.
    pub fn find(&self, path: impl AsRef<Path>) -> Result<Place, BoundaryError> {
        self.resolver.find(path.as_ref())
    }

    /// As [`Boundary::find`], for a local path, such as one made from [`Place::path`]: no mapping applies to it.
    ///
    /// # Errors
    ///
    /// As [`Boundary::find`].
    pub fn find_local(&self, path: impl AsRef<Path>) -> Result<Place, BoundaryError> {
        self.resolver.find_local(path.as_ref())
    }

    /// Finds where `path` is, or where it would be if it were made: nothing needs to be there yet, nor its
    /// directories. Links are followed to where they end, those that lead to nothing too, so that what is
    /// written goes where it would be read from.
    ///
    /// # Errors
    ///
    /// When it is outside, or cannot be looked at.
    pub fn locate(&self, path: impl AsRef<Path>) -> Result<Place, BoundaryError> {
        self.resolver.locate(path.as_ref())
    }

    /// Finds the name `path` in its directory, to move or remove what has it. If that is a link, the link is
    /// meant; its directory is found as ever. Nothing needs to be there.
    ///
    /// # Errors
    ///
    /// When its directory is outside, is not there, or cannot be looked at; or when it is a root.
    pub fn entry(&self, path: impl AsRef<Path>) -> Result<Place, BoundaryError> {
        self.resolver.entry(path.as_ref())
    }
}
