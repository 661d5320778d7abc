//! Walks below a directory, through handles that nothing leads out of.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, DirEntry, File, FileType, Metadata, ReadDir};

/// How deep a walk goes: each level holds two file handles open.
pub const MAX_DEPTH: usize = 200;

/// A walk, depth first, in the order in which the system lists the entries. It enters no directory by itself:
/// whoever walks says which, with [`Walk::enter`]. No link is followed. What is in memory is one entry, and one
/// path a level.
pub struct Walk {
    levels: Vec<Level>,
}

struct Level {
    directory: Dir,
    entries: ReadDir,
    /// From where the walk began.
    path: PathBuf,
}

/// Something that a walk has come to.
pub struct Found {
    path: PathBuf,
    entry: DirEntry,
    kind: FileType,
}

impl Walk {
    pub(super) fn new(directory: Dir) -> io::Result<Self> {
        let level = Level::open(directory, PathBuf::new())?;
        Ok(Walk { levels: vec![level] })
    }

    /// Goes into a directory that was found: its entries come next.
    ///
    /// # Errors
    ///
    /// When it is no directory any more, the system says no, or it is deeper than [`MAX_DEPTH`]. The walk goes on
    /// beside it.
    pub fn enter(&mut self, found: &Found) -> io::Result<()> {
        if self.levels.len() >= MAX_DEPTH {
            return Err(io::Error::other(format!("it is more than {MAX_DEPTH} directories deep")));
        }
        self.levels.push(Level::open(found.entry.open_dir()?, found.path.clone())?);
        Ok(())
    }

    /// Reads a file beside what comes next: in the directory that the walk is in. `None` if there is none.
    ///
    /// # Errors
    ///
    /// When the system says no.
    pub fn open_here(&self, name: impl AsRef<Path>) -> io::Result<Option<File>> {
        let Some(level) = self.levels.last() else { return Ok(None) };
        match level.directory.open_with(name, &super::place::reading()) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// How many directories the walk is in: one at the beginning.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }
}

/// An error is about one entry, or ends one directory; the walk goes on.
impl Iterator for Walk {
    type Item = io::Result<Found>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let level = self.levels.last_mut()?;
            match level.entries.next() {
                None => {
                    self.levels.pop();
                }
                Some(Err(error)) => {
                    self.levels.pop();
                    return Some(Err(error));
                }
                Some(Ok(entry)) => {
                    let path = level.path.join(entry.file_name());
                    return Some(entry.file_type().map(|kind| Found { path, entry, kind }));
                }
            }
        }
    }
}

impl Level {
    fn open(directory: Dir, path: PathBuf) -> io::Result<Self> {
        Ok(Level { entries: directory.entries()?, directory, path })
    }
}

impl Found {
    /// Where it is, from where the walk began.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name.
    pub fn name(&self) -> OsString {
        self.entry.file_name()
    }

    /// Whether it is a directory; a link to one is none.
    pub fn is_dir(&self) -> bool {
        self.kind.is_dir()
    }

    /// Whether it is a file; a link to one is none.
    pub fn is_file(&self) -> bool {
        self.kind.is_file()
    }

    /// What it is; for a link, the link.
    ///
    /// # Errors
    ///
    /// When the system says no.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.entry.metadata()
    }

    /// Opens it as a file, to read.
    ///
    /// # Errors
    ///
    /// When the system says no.
    pub fn open(&self) -> io::Result<File> {
        self.entry.open_with(&super::place::reading())
    }
}
