//! A workspace: the folders that a host exposes to its servers, each only while it can be reached.

mod following;
mod presence;
mod reach;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcp_roots_core::set::RootSet;
use mcp_roots_core::uri::{PathRules, Refusal, RootPath, RootUri};
use mcp_roots_core::workspace::{Folder, Folders};
use tokio::sync::watch;

use crate::local::{LocalPathError, root_path};
use crate::sources::watch::{Hint, Watch, Watches};
use following::Followed;
use reach::Reach;

/// How long folders may keep a check waiting.
const CHECK_DEADLINE: Duration = Duration::from_secs(2);

/// The folders that a host exposes. Cheap to clone; every clone is the same workspace, and one workspace
/// serves any number of connections.
///
/// A folder that cannot be reached is withheld, and comes back when it can be. Each method changes the set
/// at once; several changes that belong together go through [`Workspace::batch`]. A method that adds folders looks
/// at them on the disk, and takes as long as that takes; nobody else waits for it.
///
/// Folders are given by hand, or found by a [`Source`](crate::Source) that the workspace
/// [follows](Workspace::follow). Those given come first, then those of each source in the order in which it was
/// followed. A folder that is both is there once, where it comes first. What a source finds is not for hands: it
/// cannot be removed or named here.
#[derive(Clone, Debug)]
pub struct Workspace {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Held for a whole change, so that none undoes another.
    changing: Mutex<()>,
    /// Never held while a disk is looked at.
    folders: Mutex<Folders>,
    reach: Reach,
    followed: Mutex<Vec<Followed>>,
    watches: Arc<Watches>,
    /// Has the folders checked soon.
    check_soon: Hint,
    exposed: watch::Sender<RootSet>,
    checked: AtomicBool,
}

/// What cannot be a folder of a workspace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// The path cannot be a root.
    #[error(transparent)]
    Path(#[from] LocalPathError),
    /// The URI cannot be a root.
    #[error("{uri:?} cannot be a root: {refusal}")]
    Uri {
        /// The URI as it was given.
        uri: String,
        /// Why not.
        refusal: Refusal,
    },
    /// There is no such folder in the workspace.
    #[error("{} is not a folder of this workspace", path.display())]
    NotThere {
        /// The path as it was given.
        path: PathBuf,
    },
    /// The folder comes from a source.
    #[error("{} comes from a source ({source_name}) and changes with it; it was not given by hand", path.display())]
    OfSource {
        /// The path as it was given.
        path: PathBuf,
        /// What the source is called.
        source_name: Arc<str>,
    },
}

impl Workspace {
    /// A workspace without folders.
    pub fn new() -> Self {
        Workspace {
            shared: Arc::new(Shared {
                changing: Mutex::default(),
                folders: Mutex::default(),
                reach: Reach::new(reach::on_disk, CHECK_DEADLINE),
                followed: Mutex::default(),
                watches: Arc::default(),
                check_soon: Hint::default(),
                exposed: watch::Sender::new(RootSet::default()),
                checked: AtomicBool::new(false),
            }),
        }
    }

    /// A workspace of these folders. Relative paths are taken from the working directory. A folder that
    /// does not exist is withheld until it does.
    ///
    /// # Errors
    ///
    /// When one of them cannot be a root at all.
    pub fn open<P: AsRef<Path>>(dirs: impl IntoIterator<Item = P>) -> Result<Self, WorkspaceError> {
        let workspace = Workspace::new();
        workspace.batch(|batch| dirs.into_iter().try_for_each(|dir| batch.add(dir, None)))?;
        Ok(workspace)
    }

    /// Adds a folder at the end. If it is there already, it keeps its place and takes on the name if one is given.
    ///
    /// # Errors
    ///
    /// When it cannot be a root.
    pub fn add(&self, dir: impl AsRef<Path>, name: Option<&str>) -> Result<(), WorkspaceError> {
        self.batch(|batch| batch.add(dir, name))
    }

    /// Removes a folder that was given by hand. If a source finds it, too, it stays for the source.
    ///
    /// # Errors
    ///
    /// When it is not there, or comes from a source alone.
    pub fn remove(&self, dir: impl AsRef<Path>) -> Result<(), WorkspaceError> {
        self.batch(|batch| batch.remove(dir))
    }

    /// Names a folder that was given by hand, or takes its name away.
    ///
    /// # Errors
    ///
    /// When it is not there, or comes from a source alone.
    pub fn rename(&self, dir: impl AsRef<Path>, name: Option<&str>) -> Result<(), WorkspaceError> {
        self.batch(|batch| batch.rename(dir, name))
    }

    /// Puts these folders, with their names, in the place of all that were given by hand.
    ///
    /// # Errors
    ///
    /// When one of them cannot be a root. Nothing is changed then.
    pub fn replace<P: AsRef<Path>>(
        &self,
        folders: impl IntoIterator<Item = (P, Option<String>)>,
    ) -> Result<(), WorkspaceError> {
        self.batch(|batch| batch.replace(folders))
    }

    /// Makes several changes as one: servers see all of them or, if `change` gives an error, none.
    ///
    /// # Errors
    ///
    /// The error that `change` gives.
    pub fn batch<T>(&self, change: impl FnOnce(&mut Batch) -> Result<T, WorkspaceError>) -> Result<T, WorkspaceError> {
        let _changing = self.shared.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut batch = Batch { folders: self.folders().clone() };
        let result = change(&mut batch)?;
        self.shared.change(|folders| folders.take_given(batch.folders));
        Ok(result)
    }

    /// The folders, withheld ones included.
    pub fn list(&self) -> Vec<Folder> {
        self.folders().iter().cloned().collect()
    }

    /// What is exposed now, and a way to hear of changes.
    pub fn exposed(&self) -> watch::Receiver<RootSet> {
        self.shared.exposed.subscribe()
    }

    /// Looks at each folder, and withholds or exposes it accordingly. While the workspace is published that runs by
    /// itself when the system tells that one has gone or come, and once a second; call it when you know better.
    pub async fn check(&self) {
        self.shared.check().await;
    }

    /// Has the folders checked for as long as the workspace lives.
    pub(crate) fn keep_checked(&self) {
        if self.shared.checked.swap(true, Ordering::Relaxed) {
            return;
        }
        let watch = Watch::new(&self.shared.watches, self.shared.check_soon.clone());
        let gone = gone(self.exposed());
        let keeping = presence::keep(Arc::downgrade(&self.shared), watch);
        tokio::spawn(async move {
            tokio::select! {
                () = keeping => {}
                () = gone => {}
            }
        });
    }

    fn folders(&self) -> MutexGuard<'_, Folders> {
        self.shared.folders()
    }
}

impl Default for Workspace {
    fn default() -> Self {
        Workspace::new()
    }
}

/// Changes of a workspace that belong together. See [`Workspace::batch`].
#[derive(Debug)]
pub struct Batch {
    folders: Folders,
}

impl Batch {
    /// As [`Workspace::add`].
    ///
    /// # Errors
    ///
    /// When it cannot be a root.
    pub fn add(&mut self, dir: impl AsRef<Path>, name: Option<&str>) -> Result<(), WorkspaceError> {
        let path = root_path(dir.as_ref())?;
        self.folders.add(folder(&path, name));
        Ok(())
    }

    /// Adds a folder by its `file://` URI, whose text servers are shown exactly.
    ///
    /// # Errors
    ///
    /// When it cannot be a root.
    pub fn add_uri(&mut self, uri: &str, name: Option<&str>) -> Result<(), WorkspaceError> {
        let parsed = RootUri::parse(uri, PathRules::native());
        let parsed = parsed.map_err(|refusal| WorkspaceError::Uri { uri: uri.into(), refusal })?;
        let withheld = reach::on_disk(parsed.path());
        self.folders.add(Folder { withheld, ..Folder::new(parsed, name.map(Arc::from)) });
        Ok(())
    }

    /// As [`Workspace::remove`].
    ///
    /// # Errors
    ///
    /// When it is not there.
    pub fn remove(&mut self, dir: impl AsRef<Path>) -> Result<(), WorkspaceError> {
        let path = root_path(dir.as_ref())?;
        let removed = self.folders.remove(&path);
        self.found(removed, &path, dir.as_ref())
    }

    /// As [`Workspace::rename`].
    ///
    /// # Errors
    ///
    /// When it is not there.
    pub fn rename(&mut self, dir: impl AsRef<Path>, name: Option<&str>) -> Result<(), WorkspaceError> {
        let path = root_path(dir.as_ref())?;
        let renamed = self.folders.rename(&path, name.map(Arc::from));
        self.found(renamed, &path, dir.as_ref())
    }

    /// As [`Workspace::replace`].
    ///
    /// # Errors
    ///
    /// When one of them cannot be a root.
    pub fn replace<P: AsRef<Path>>(
        &mut self,
        folders: impl IntoIterator<Item = (P, Option<String>)>,
    ) -> Result<(), WorkspaceError> {
        let folders: Result<Vec<Folder>, WorkspaceError> =
            folders.into_iter().map(|(dir, name)| Ok(folder(&root_path(dir.as_ref())?, name.as_deref()))).collect();
        self.folders.replace(folders?);
        Ok(())
    }

    fn found(&self, found: bool, path: &RootPath, dir: &Path) -> Result<(), WorkspaceError> {
        match self.folders.source_of(path) {
            _ if found => Ok(()),
            Some(source) => Err(WorkspaceError::OfSource { path: dir.into(), source_name: source.clone() }),
            None => Err(WorkspaceError::NotThere { path: dir.into() }),
        }
    }
}

impl Shared {
    fn folders(&self) -> MutexGuard<'_, Folders> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn expose(&self, folders: &Folders) {
        self.exposed.send_if_modified(|exposed| {
            let now = folders.exposed();
            let changed = *exposed != now;
            *exposed = now;
            changed
        });
    }

    /// Changes which folders there are.
    fn change<T>(&self, change: impl FnOnce(&mut Folders) -> T) -> T {
        let mut folders = self.folders();
        let changed = change(&mut folders);
        self.expose(&folders);
        drop(folders);
        // What is new is not watched yet.
        self.check_soon.give();
        changed
    }

    async fn check(&self) {
        let paths: Vec<RootPath> = self.folders().iter().map(|folder| folder.uri.path().clone()).collect();
        let found = self.reach.look_at(&paths).await;
        let mut folders = self.folders();
        folders.looked_at(&found);
        self.expose(&folders);
    }
}

fn folder(path: &RootPath, name: Option<&str>) -> Folder {
    Folder { withheld: reach::on_disk(path), ..Folder::new(RootUri::from_path(path), name.map(Arc::from)) }
}

/// Ends when the workspace has gone.
async fn gone(mut exposed: watch::Receiver<RootSet>) {
    while exposed.changed().await.is_ok() {}
}
