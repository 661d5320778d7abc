//! Sources: where the folders of a workspace come from by themselves, and following what becomes of them.
//!
//! A source looks at the disk and says which folders it finds now, and what would be a hint that it has changed. A
//! look decides and a hint only makes it come soon, so that nothing depends on a file system that tells of changes.
//! What becomes of the folders is for [`Workspace`](crate::Workspace).

mod code_workspace;
mod follow;
mod mounts;
mod projects;
pub(crate) mod watch;
mod worktrees;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp_roots_core::workspace::Folder;

pub(crate) use follow::{Follower, SETTLE};
use watch::Interests;

/// How many folders one source may give.
const MOST: usize = 10_000;

/// Where folders of a workspace come from by themselves. [`Workspace::follow`](crate::Workspace::follow) follows it.
///
/// It displays as what people are shown as the origin of a folder, such as `mounts below /media`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source(Kind);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Kind {
    WorkspaceFile(PathBuf),
    Mounts(PathBuf),
    Worktrees(PathBuf),
    Projects(String),
}

impl Source {
    /// The folders of a `.code-workspace` file, in its order and with its names: JSON with comments and trailing
    /// commas, whose `folders` have a `path`, relative to the file's directory or absolute, or a `uri`. An entry
    /// that cannot be a folder here is left out alone, with a warning.
    ///
    /// While the file cannot be read or makes no sense, as when somebody is writing it, its last folders stand. When
    /// it is gone, and does not come back at once as it does when an editor replaces it, they go; they come back with
    /// it.
    pub fn workspace_file(file: impl Into<PathBuf>) -> Self {
        Source(Kind::WorkspaceFile(file.into()))
    }

    /// What is mounted below a directory, at any depth, by path. The directory may be a link, and need not be there
    /// yet. Linux tells of its mounts; on other Unix systems the directories in `dir` that are on another disk than
    /// it count, looked for every few seconds; elsewhere nothing is found.
    pub fn mounts(dir: impl Into<PathBuf>) -> Self {
        Source(Kind::Mounts(dir.into()))
    }

    /// The working trees of the git repository that a directory is in: the main one first, then those of
    /// `git worktree`, by path. A bare repository has no main one. A worktree whose directory is gone does not count.
    pub fn worktrees(dir: impl Into<PathBuf>) -> Self {
        Source(Kind::Worktrees(dir.into()))
    }

    /// The directories that match a pattern, by path. In each component `*` stands for any characters, `?` for one,
    /// `[abc]` and `[!a-z]` for one of some; a name that begins with a dot is matched by a component that does.
    pub fn projects(pattern: impl Into<String>) -> Self {
        Source(Kind::Projects(pattern.into()))
    }

    /// What looks for its folders.
    fn looker(&self) -> Result<Arc<dyn Look>, SourceError> {
        Ok(match &self.0 {
            Kind::WorkspaceFile(file) => Arc::new(code_workspace::WorkspaceFile::new(absolute(file)?)),
            Kind::Mounts(dir) => Arc::new(mounts::Mounts::new(absolute(dir)?)),
            Kind::Worktrees(dir) => Arc::new(worktrees::Worktrees::new(absolute(dir)?)),
            Kind::Projects(pattern) => Arc::new(projects::Projects::new(pattern)?),
        })
    }

    /// What it is called where paths are nobody's business.
    fn in_logs(&self) -> String {
        match &self.0 {
            Kind::WorkspaceFile(file) => {
                format!("workspace file {}", file.file_name().unwrap_or_default().to_string_lossy())
            }
            Kind::Mounts(_) => "mounts".into(),
            Kind::Worktrees(_) => "worktrees".into(),
            Kind::Projects(_) => "projects".into(),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::WorkspaceFile(file) => write!(f, "workspace file {}", file.display()),
            Kind::Mounts(dir) => write!(f, "mounts below {}", dir.display()),
            Kind::Worktrees(dir) => write!(f, "worktrees of {}", dir.display()),
            Kind::Projects(pattern) => write!(f, "projects {pattern}"),
        }
    }
}

/// Why a source cannot be followed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// There is no such file.
    #[error("{} is not there", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be read.
    #[error("{} cannot be read: {reason}", path.display())]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// Why not.
        reason: io::Error,
    },
    /// It is not what it should be.
    #[error("{}:{line}:{column}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What is wrong there.
        reason: String,
    },
    /// The directory is in no git repository.
    #[error("{} is in no git repository", path.display())]
    NoRepository {
        /// The directory.
        path: PathBuf,
    },
    /// The pattern cannot be used.
    #[error("{pattern:?} cannot be used as a pattern: {reason}")]
    Pattern {
        /// The pattern as it was given.
        pattern: String,
        /// Why not.
        reason: String,
    },
}

impl SourceError {
    /// Whether what gives the folders is not there at all, in contrast to being of no use at the moment.
    fn is_gone(&self) -> bool {
        matches!(self, SourceError::Missing { .. } | SourceError::NoRepository { .. })
    }

    /// What it says where paths are nobody's business.
    fn in_logs(&self) -> String {
        match self {
            SourceError::Missing { .. } => "it is gone, and so are its folders".into(),
            SourceError::NoRepository { .. } => "the repository is gone, and so are its folders".into(),
            SourceError::Unreadable { reason, .. } => {
                format!("it cannot be read, and its last folders stand: {reason}")
            }
            SourceError::Malformed { line, column, reason, .. } => {
                format!("it makes no sense at line {line}, column {column}, and its last folders stand: {reason}")
            }
            SourceError::Pattern { reason, .. } => reason.clone(),
        }
    }
}

/// Looks for the folders of a source. Blocks as long as the disk does.
trait Look: fmt::Debug + Send + Sync {
    fn look(&self) -> Sight;

    /// Whether the system's table of mounts decides what is seen.
    fn is_of_mounts(&self) -> bool {
        false
    }
}

/// What a look has shown.
#[derive(Debug)]
struct Sight {
    folders: Result<Vec<Folder>, SourceError>,
    /// What a change may come from.
    interests: Interests,
    /// What was left out, and why. Without paths.
    left_out: Vec<String>,
}

fn absolute(path: &Path) -> Result<PathBuf, SourceError> {
    std::path::absolute(path).map_err(|reason| SourceError::Unreadable { path: path.into(), reason })
}

/// Folders without names at these paths. What cannot be a root is left out, with the reason.
fn unnamed(paths: impl IntoIterator<Item = PathBuf>, left_out: &mut Vec<String>) -> Vec<Folder> {
    let mut folders = Vec::new();
    for path in paths {
        match crate::local::root_path(&path) {
            Ok(path) => folders.push(Folder::new(mcp_roots_core::uri::RootUri::from_path(&path), None)),
            Err(error) => {
                tracing::debug!(target: "mcp_roots", "{error}");
                left_out.push("a folder is left out, since its path cannot be a root".into());
            }
        }
    }
    folders
}
