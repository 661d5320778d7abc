//! A place under a root, and what can be done there.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, File, Metadata, OpenOptions, ReadDir};
use cap_tempfile::TempFile;
use mcp_roots_core::mapping::Mapping;
use mcp_roots_core::uri::{RootPath, RootUri};

use super::{BoundaryError, Walk};

/// A place under a root. There may be nothing yet; see [`Boundary::locate`](super::Boundary::locate).
#[derive(Debug)]
pub struct Place {
    /// What was asked for.
    pub(super) asked: PathBuf,
    /// The path that was found, absolute and local.
    pub(super) path: PathBuf,
    /// What the client calls it, by the local folders' real places too.
    pub(super) names: Mapping,
    pub(super) root: RootPath,
    pub(super) directory: Dir,
    /// Relative to `directory`; never empty.
    pub(super) relative: PathBuf,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name.
    pub name: OsString,
    /// Whether it is a directory. A link is not followed.
    pub is_dir: bool,
}

/// The entries of a directory, one after the other, in no order.
pub struct Entries {
    entries: ReadDir,
    asked: PathBuf,
}

impl Place {
    /// Where it is, absolute and local.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the client calls it, for a message; as nearly as its system can spell that.
    pub fn shown(&self) -> String {
        self.shown_below("")
    }

    /// What the client calls the place at `below` from here, for a message.
    pub fn shown_below(&self, below: impl AsRef<Path>) -> String {
        let local = self.path.join(below);
        let shown = RootPath::from_native(&local).map(|path| self.names.shown(&path).to_string());
        shown.unwrap_or_else(|_| local.display().to_string())
    }

    /// The URI by which the client knows it; `None` if it has a name that no URI holds, or that the client's system cannot
    /// spell.
    pub fn uri(&self) -> Option<RootUri> {
        self.uri_below("")
    }

    /// The URI by which the client knows the place at `below` from here; `None` if it has a name that no URI holds, or
    /// that the client's system cannot spell.
    pub fn uri_below(&self, below: impl AsRef<Path>) -> Option<RootUri> {
        let path = RootPath::from_native(&self.path.join(below)).ok()?;
        (!self.names.is_unspellable(&path)).then(|| RootUri::from_path(&self.names.to_client(&path)))
    }

    /// The root that it was found under, local, for a lease.
    pub fn root(&self) -> &RootPath {
        &self.root
    }

    /// What it is. A link is followed.
    ///
    /// # Errors
    ///
    /// When the system says no.
    pub fn metadata(&self) -> Result<Metadata, BoundaryError> {
        self.directory.metadata(&self.relative).map_err(self.failed())
    }

    /// What an entry of this directory is. A link is followed, as long as it stays under the root.
    ///
    /// # Errors
    ///
    /// When the system says no.
    pub fn metadata_of(&self, name: &OsStr) -> Result<Metadata, BoundaryError> {
        self.directory.metadata(self.relative.join(name)).map_err(self.failed())
    }

    /// Opens it as a file, to read. It does not wait for a pipe's other end, so it takes no longer than the disk
    /// does.
    ///
    /// # Errors
    ///
    /// When the system says no.
    pub fn open(&self) -> Result<File, BoundaryError> {
        self.directory.open_with(&self.relative, &reading()).map_err(self.failed())
    }

    /// What is in it, in no order, without more of it in memory than one entry.
    ///
    /// # Errors
    ///
    /// When it is no directory, or the system says no.
    pub fn entries(&self) -> Result<Entries, BoundaryError> {
        let entries = self.directory.read_dir(&self.relative).map_err(self.failed())?;
        Ok(Entries { entries, asked: self.asked.clone() })
    }

    /// What is in it, sorted by name.
    ///
    /// # Errors
    ///
    /// When it is no directory, or the system says no.
    pub fn list(&self) -> Result<Vec<Entry>, BoundaryError> {
        let mut entries = self.entries()?.collect::<Result<Vec<Entry>, BoundaryError>>()?;
        entries.sort();
        Ok(entries)
    }

    /// Walks through all that is below it.
    ///
    /// # Errors
    ///
    /// When it is no directory, or the system says no.
    pub fn walk(&self) -> Result<Walk, BoundaryError> {
        self.directory.open_dir(&self.relative).and_then(Walk::new).map_err(self.failed())
    }

    /// Puts a file with these contents there, in the place of one that is there. Whoever reads it sees the old
    /// contents or the new ones, whole, even if the power fails; if this fails, nothing has changed. A file
    /// that is replaced hands on its permissions. Its directory must be there.
    ///
    /// # Errors
    ///
    /// When something other than a file is there, or the system says no.
    pub fn write(&self, contents: &[u8]) -> Result<(), BoundaryError> {
        self.replace(contents, |_| Ok(()))
    }

    /// As [`Place::write`], if `still` has nothing against what is there just before it is replaced; `None` if
    /// nothing is there. For whoever has read the file and would lose what was written since.
    ///
    /// # Errors
    ///
    /// As [`Place::write`], and the error of `still`.
    pub fn replace(
        &self,
        contents: &[u8],
        still: impl FnOnce(Option<&Metadata>) -> io::Result<()>,
    ) -> Result<(), BoundaryError> {
        self.put(contents, still).map_err(self.failed())
    }

    fn put(&self, contents: &[u8], still: impl FnOnce(Option<&Metadata>) -> io::Result<()>) -> io::Result<()> {
        let (directory, name) = self.leaf()?;
        let mut file = TempFile::new(&directory)?;
        file.write_all(contents)?;
        let there = match directory.metadata(name) {
            Ok(there) if there.is_file() => Some(there),
            Ok(there) if there.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(_) => return Err(io::Error::other("it is neither a file nor a directory")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if let Some(there) = &there {
            file.as_file().set_permissions(there.permissions())?;
        }
        file.as_file().sync_all()?;
        still(there.as_ref())?;
        file.replace(name)
    }

    /// Makes a directory there, and those that it is in. It may be there already.
    ///
    /// # Errors
    ///
    /// When something other than a directory is there, or the system says no.
    pub fn create_dir_all(&self) -> Result<(), BoundaryError> {
        self.directory.create_dir_all(&self.relative).map_err(self.failed())
    }

    /// Gives what is here the name `to`, which nothing must have. Both are places that
    /// [`Boundary::entry`](super::Boundary::entry) has found.
    ///
    /// # Errors
    ///
    /// When something has that name already, when it is on another file system, or the system says no.
    pub fn rename(&self, to: &Place) -> Result<(), BoundaryError> {
        let (from_directory, from) = self.leaf().map_err(self.failed())?;
        let (to_directory, name) = to.leaf().map_err(to.failed())?;
        rename_to_new((&from_directory, from), (&to_directory, name)).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => (to.failed())(error),
            _ => (self.failed())(error),
        })
    }

    /// Removes a file, a link, or an empty directory: what [`Boundary::entry`](super::Boundary::entry) has found.
    ///
    /// # Errors
    ///
    /// When it is not there, or the system says no.
    pub fn remove(&self) -> Result<(), BoundaryError> {
        let (directory, name) = self.leaf().map_err(self.failed())?;
        let removed = match directory.symlink_metadata(name) {
            Ok(there) if there.is_dir() => directory.remove_dir(name),
            Ok(_) => directory.remove_file(name),
            Err(error) => Err(error),
        };
        removed.map_err(self.failed())
    }

    /// The directory that it is in, and its name there.
    fn leaf(&self) -> io::Result<(Dir, &OsStr)> {
        let Some(name) = self.relative.file_name() else {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a root, or stands for one"));
        };
        let directory = match self.relative.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => {
                self.directory.open_dir(parent).map_err(missing_directory)?
            }
            _ => self.directory.try_clone()?,
        };
        Ok((directory, name))
    }

    fn failed(&self) -> impl Fn(io::Error) -> BoundaryError + '_ {
        |error| BoundaryError::Io { path: self.asked.clone(), error }
    }
}

impl Iterator for Entries {
    type Item = Result<Entry, BoundaryError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = |entry: io::Result<cap_std::fs::DirEntry>| {
            let entry = entry?;
            Ok(Entry { is_dir: entry.file_type()?.is_dir(), name: entry.file_name() })
        };
        let entry = read(self.entries.next()?);
        Some(entry.map_err(|error| BoundaryError::Io { path: self.asked.clone(), error }))
    }
}

/// Says what to do about a directory that is not there.
pub(super) fn missing_directory(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::NotFound => {
            io::Error::new(error.kind(), "No such file or directory: its directory has to be made first")
        }
        _ => error,
    }
}

/// To open a pipe to read waits for somebody who writes, unless it is told not to.
pub(super) fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    cap_std::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits() as i32);
    options
}

/// Renames without replacing, in one step where the system can.
fn rename_to_new(from: (&Dir, &OsStr), to: (&Dir, &OsStr)) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(from.0, from.1, to.0, to.1, RenameFlags::NOREPLACE) {
            // Not every file system can; then a look before has to do.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            outcome => return Ok(outcome?),
        }
    }
    match to.0.symlink_metadata(to.1) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => from.0.rename(from.1, to.0, to.1),
        Err(error) => Err(error),
    }
}
