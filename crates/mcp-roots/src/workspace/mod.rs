//! A workspace: the folders that a host exposes to its servers, each only while it can be reached.

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
use reach::Reach;

/// How often folders are looked at while a server is told of them.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How long folders may keep a check waiting.
const CHECK_DEADLINE: Duration = Duration::from_secs(2);

/// The folders that a host exposes. Cheap to clone; every clone is the same workspace, and one workspace
/// serves any number of connections.
///
/// A folder that cannot be reached is withheld, and comes back when it can be. Each method changes the set
/// at once; several changes that belong together go through [`Workspace::batch`]. A method that adds folders looks
/// at them on the disk, and takes as long as that takes; nobody else waits for it.
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
}

impl Workspace {
    /// A workspace without folders.
    pub fn new() -> Self {
        Workspace {
            shared: Arc::new(Shared {
                changing: Mutex::default(),
                folders: Mutex::default(),
                reach: Reach::new(reach::on_disk, CHECK_DEADLINE),
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

    /// Removes a folder.
    ///
    /// # Errors
    ///
    /// When it is not there.
    pub fn remove(&self, dir: impl AsRef<Path>) -> Result<(), WorkspaceError> {
        self.batch(|batch| batch.remove(dir))
    }

    /// Names a folder, or takes its name away.
    ///
    /// # Errors
    ///
    /// When it is not there.
    pub fn rename(&self, dir: impl AsRef<Path>, name: Option<&str>) -> Result<(), WorkspaceError> {
        self.batch(|batch| batch.rename(dir, name))
    }

    /// Puts these folders, with their names, in the place of all that are there.
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
        let mut folders = self.folders();
        // A check may have found something meanwhile.
        batch
            .folders
            .looked_at(&folders.iter().map(|folder| (folder.uri.path().clone(), folder.withheld.clone())).collect());
        *folders = batch.folders;
        self.shared.expose(&folders);
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

    /// Looks at each folder, and withholds or exposes it accordingly. Runs by itself once a second while the
    /// workspace is published; call it when you know better.
    pub async fn check(&self) {
        self.shared.check().await;
    }

    /// Has the folders checked for as long as the workspace lives.
    pub(crate) fn keep_checked(&self) {
        if self.shared.checked.swap(true, Ordering::Relaxed) {
            return;
        }
        let shared = Arc::downgrade(&self.shared);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(CHECK_INTERVAL).await;
                match shared.upgrade() {
                    Some(shared) => shared.check().await,
                    None => return,
                }
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
        found(self.folders.remove(&path), dir.as_ref())
    }

    /// As [`Workspace::rename`].
    ///
    /// # Errors
    ///
    /// When it is not there.
    pub fn rename(&mut self, dir: impl AsRef<Path>, name: Option<&str>) -> Result<(), WorkspaceError> {
        let path = root_path(dir.as_ref())?;
        found(self.folders.rename(&path, name.map(Arc::from)), dir.as_ref())
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

fn found(found: bool, dir: &Path) -> Result<(), WorkspaceError> {
    if found { Ok(()) } else { Err(WorkspaceError::NotThere { path: dir.into() }) }
}
