//! Sources that feed a workspace.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, Weak};

use mcp_roots_core::uri::RootPath;
use mcp_roots_core::workspace::{Folder, SourceId};
use tokio::task::AbortHandle;

use super::{Shared, Workspace, gone};
use crate::sources::{Follower, Source, SourceError};

/// A source that is followed.
#[derive(Debug)]
pub(super) struct Followed {
    source: Source,
    id: SourceId,
    task: AbortHandle,
}

impl Workspace {
    /// Has a source feed this workspace from now on, for as long as the workspace lives. Its folders are there when
    /// this ends, after those given by hand and those of the sources followed before; each change on the disk is one
    /// change of the set, and what makes no difference is none. A source that is followed already goes on as it is.
    ///
    /// Changes are seen at once where the system tells of them, and after some seconds where it does not, as on
    /// network disks.
    ///
    /// # Errors
    ///
    /// When the source is of no use now: see [`SourceError`]. Once it is followed, trouble is logged and passes.
    ///
    /// # Panics
    ///
    /// When it is called outside a Tokio runtime.
    pub async fn follow(&self, source: Source) -> Result<(), SourceError> {
        let is_followed = |followed: &[Followed]| followed.iter().any(|followed| followed.source == source);
        if is_followed(&self.shared.followed()) {
            return Ok(());
        }
        let (follower, found) = Follower::start(&source, &self.shared.watches).await?;
        let found = self.shared.looked_at(found).await;
        let mut followed = self.shared.followed();
        // Somebody else may have been as quick.
        if is_followed(&followed) {
            return Ok(());
        }
        let id = self.shared.change(|folders| {
            let id = folders.attach(source.to_string().into());
            folders.found(id, found);
            id
        });
        let feeding = feed(Arc::downgrade(&self.shared), id, follower);
        let gone = gone(self.exposed());
        let task = tokio::spawn(async move {
            tokio::select! {
                () = feeding => {}
                () = gone => {}
            }
        });
        followed.push(Followed { source, id, task: task.abort_handle() });
        Ok(())
    }

    /// Follows a source no longer, and takes its folders away; false if it was not followed.
    pub fn unfollow(&self, source: &Source) -> bool {
        let mut followed = self.shared.followed();
        let Some(place) = followed.iter().position(|followed| followed.source == *source) else {
            return false;
        };
        let Followed { id, task, .. } = followed.remove(place);
        task.abort();
        self.shared.change(|folders| folders.detach(id));
        true
    }
}

/// Feeds what a source finds to the workspace, while there is one.
async fn feed(shared: Weak<Shared>, id: SourceId, mut follower: Follower) {
    loop {
        let found = follower.next().await;
        let Some(shared) = shared.upgrade() else { return };
        let found = shared.looked_at(found).await;
        shared.change(|folders| folders.found(id, found));
    }
}

impl Shared {
    fn followed(&self) -> std::sync::MutexGuard<'_, Vec<Followed>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These folders, and whether those that were not there before can be reached.
    async fn looked_at(&self, folders: Vec<Folder>) -> Vec<Folder> {
        let known: HashSet<RootPath> = self.folders().iter().map(|folder| folder.uri.path().clone()).collect();
        let paths = folders.iter().map(|folder| folder.uri.path());
        let new: Vec<RootPath> = paths.filter(|path| !known.contains(*path)).cloned().collect();
        let found = if new.is_empty() { HashMap::new() } else { self.reach.look_at(&new).await };
        let looked_at = folders.into_iter().map(|folder| match found.get(folder.uri.path()) {
            Some(withheld) => Folder { withheld: withheld.clone(), ..folder },
            None => folder,
        });
        looked_at.collect()
    }
}
