//! Following a source: when to look, and what to make of what is seen.

use std::collections::HashSet;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use mcp_roots_core::workspace::Folder;
use tokio::time::{Instant, sleep};

use super::mounts::MountTable;
use super::watch::{Hint, Interests, Watch, Watches};
use super::{Look, MOST, Sight, Source, SourceError};

/// How long hints are collected before a look.
pub(crate) const SETTLE: Duration = Duration::from_millis(30);
/// How often a look is taken without a hint.
const POLL: Duration = Duration::from_secs(5);
/// How long something must be gone before it counts as gone: editors and tools replace what they change.
const GONE: Duration = Duration::from_millis(150);
/// How many looks are taken in a row while each shows more that is of interest.
const LOOKS: usize = 4;

/// Follows one source.
#[derive(Debug)]
pub(crate) struct Follower {
    looker: Arc<dyn Look>,
    watch: Watch,
    mounts: Option<MountTable>,
    gone: bool,
    took: Duration,
    said: HashSet<String>,
    in_logs: String,
}

impl Follower {
    /// Begins to follow a source, and gives its folders.
    pub(crate) async fn start(source: &Source, watches: &Arc<Watches>) -> Result<(Self, Vec<Folder>), SourceError> {
        let looker = source.looker()?;
        let mut follower = Follower {
            // From before the first look, so that no change falls between.
            mounts: looker.is_of_mounts().then(MountTable::open).flatten(),
            looker,
            watch: Watch::new(watches, Hint::default()),
            gone: false,
            took: Duration::ZERO,
            said: HashSet::new(),
            in_logs: source.in_logs(),
        };
        let sight = follower.look().await;
        let folders = sight.folders?;
        let folders = follower.take(Sight { folders: Ok(folders), ..sight }).unwrap_or_default();
        Ok((follower, folders))
    }

    /// Waits until there may be something new, and gives the folders that are there then.
    pub(crate) async fn next(&mut self) -> Vec<Folder> {
        loop {
            tokio::select! {
                // A look costs what it costs; however many hints come, most of the time goes to others.
                () = self.hinted() => sleep(SETTLE.max(self.took * 4).min(POLL)).await,
                () = sleep(POLL) => {}
            }
            let mut sight = self.look().await;
            if is_gone(&sight) && !self.gone {
                sleep(GONE).await;
                sight = self.look().await;
            }
            if let Some(folders) = self.take(sight) {
                return folders;
            }
        }
    }

    async fn hinted(&self) {
        let mounts_changed = async {
            match &self.mounts {
                Some(table) => table.changed().await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = self.watch.hinted() => {}
            () = mounts_changed => {}
        }
    }

    /// Looks, and again if what is of interest was not watched the first time.
    async fn look(&mut self) -> Sight {
        let mut sight = self.look_once().await;
        for _ in 1..LOOKS {
            if !self.watch.set(std::mem::take(&mut sight.interests)).await {
                break;
            }
            sight = self.look_once().await;
        }
        sight
    }

    /// A disk that does not answer keeps this source, and no other, for as long as it likes.
    async fn look_once(&mut self) -> Sight {
        let looker = self.looker.clone();
        let started = Instant::now();
        let looked = tokio::task::spawn_blocking(move || looker.look()).await;
        self.took = started.elapsed();
        looked.unwrap_or_else(|error| Sight {
            folders: Err(SourceError::Unreadable { path: Default::default(), reason: error.into() }),
            interests: Interests::default(),
            left_out: Vec::new(),
        })
    }

    /// The folders as of now; `None` if the last ones stand. What is wrong is said once, until it is right.
    fn take(&mut self, sight: Sight) -> Option<Vec<Folder>> {
        self.gone = is_gone(&sight);
        let mut wrong = sight.left_out;
        let folders = match sight.folders {
            Ok(mut folders) => {
                if folders.len() > MOST {
                    wrong.push(format!("only the first {MOST} of {} folders are taken", folders.len()));
                    folders.truncate(MOST);
                }
                Some(folders)
            }
            Err(error) => {
                wrong.push(error.in_logs());
                tracing::debug!(target: "mcp_roots", "{error}");
                error.is_gone().then(Vec::new)
            }
        };
        let wrong: HashSet<String> = wrong.into_iter().collect();
        for new in wrong.difference(&self.said) {
            tracing::warn!(target: "mcp_roots", "{}: {new}", self.in_logs);
        }
        self.said = wrong;
        folders
    }
}

fn is_gone(sight: &Sight) -> bool {
    sight.folders.as_ref().is_err_and(SourceError::is_gone)
}
