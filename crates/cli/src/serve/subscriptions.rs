//! Subscriptions to files and directories: changes on disk reach the subscriber.
//!
//! The system's events are a hint, and a look decides: an update goes out only if what is seen differs, and a
//! slow look stands behind file systems that have no events. A subscription ends with its lease; the last
//! update, and the silence after it, are the server half's affair.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use mcp_roots::Lease;
use mcp_roots::boundary::Place;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use rmcp::RoleServer;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::Peer;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

/// How many subscriptions one client may have.
const MOST: usize = 1_000;
/// How long events are collected before a look.
const SETTLE: Duration = Duration::from_millis(30);
/// How often a look is taken without an event.
const POLL: Duration = Duration::from_secs(5);

/// One client's subscriptions.
#[derive(Clone, Default)]
pub(super) struct Subscriptions {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    books: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    active: HashMap<String, Subscription>,
    watcher: Option<RecommendedWatcher>,
    /// How many subscriptions want each directory watched.
    watched: HashMap<PathBuf, usize>,
}

struct Subscription {
    path: PathBuf,
    directory: PathBuf,
    hint: Arc<Notify>,
    task: AbortHandle,
}

/// There are too many.
#[derive(Debug, thiserror::Error)]
#[error("there are {MOST} subscriptions already, which is the limit. Unsubscribe from some")]
pub(super) struct TooMany;

/// What a look at a resource shows; `None` if it is not there.
type Sight = Option<(u64, Option<SystemTime>)>;

impl Subscriptions {
    /// Tells `peer` of changes at `place` until the lease is revoked. A second subscription to a resource takes
    /// the place of the first.
    pub(super) fn add(&self, uri: String, place: Place, lease: Lease, peer: Peer<RoleServer>) -> Result<(), TooMany> {
        self.remove(&uri);
        let mut books = self.shared.books();
        if books.active.len() >= MOST {
            return Err(TooMany);
        }
        let path = place.path().to_owned();
        // A file is watched through its directory, since editors replace files.
        let is_dir = place.metadata().is_ok_and(|metadata| metadata.is_dir());
        let directory = if is_dir { path.clone() } else { path.parent().unwrap_or(&path).to_owned() };
        let hint = Arc::new(Notify::new());
        let seen = look(&place);
        let task =
            tokio::spawn(follow(Arc::downgrade(&self.shared), uri.clone(), place, lease, peer, hint.clone(), seen));
        books.watch(&directory, &self.shared);
        books.active.insert(uri, Subscription { path, directory, hint, task: task.abort_handle() });
        Ok(())
    }

    /// Ends a subscription, if it is there.
    pub(super) fn remove(&self, uri: &str) {
        self.shared.remove(uri);
    }
}

impl Shared {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove(&self, uri: &str) {
        let mut books = self.books();
        if let Some(subscription) = books.active.remove(uri) {
            books.unwatch(&subscription.directory);
            subscription.task.abort();
        }
    }

    /// Something happened at these paths.
    fn hint(&self, paths: &[PathBuf]) {
        for subscription in self.books().active.values() {
            let concerned = |path: &PathBuf| *path == subscription.path || path.parent() == Some(&subscription.path);
            if paths.is_empty() || paths.iter().any(concerned) {
                subscription.hint.notify_one();
            }
        }
    }
}

impl Books {
    fn watch(&mut self, directory: &Path, shared: &Arc<Shared>) {
        let users = self.watched.entry(directory.into()).or_default();
        *users += 1;
        if *users > 1 {
            return;
        }
        let watched = self.watcher(shared).and_then(|watcher| watcher.watch(directory, RecursiveMode::NonRecursive));
        if let Err(error) = watched {
            tracing::warn!("changes are looked for every {} s only: {error}", POLL.as_secs());
        }
    }

    fn unwatch(&mut self, directory: &Path) {
        let Some(users) = self.watched.get_mut(directory) else {
            return;
        };
        *users -= 1;
        if *users == 0 {
            self.watched.remove(directory);
            // It may be gone, and its watch with it.
            let _ = self.watcher.as_mut().map(|watcher| watcher.unwatch(directory));
        }
    }

    fn watcher(&mut self, shared: &Arc<Shared>) -> notify::Result<&mut RecommendedWatcher> {
        if self.watcher.is_none() {
            let shared = Arc::downgrade(shared);
            self.watcher = Some(notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                if let Some(shared) = shared.upgrade() {
                    // An error may stand for events that were lost, so everybody looks.
                    shared.hint(event.as_ref().map_or(&[], |event| &event.paths));
                }
            })?);
        }
        self.watcher.as_mut().ok_or_else(|| notify::Error::generic("the watcher is gone"))
    }
}

async fn follow(
    shared: Weak<Shared>,
    uri: String,
    place: Place,
    lease: Lease,
    peer: Peer<RoleServer>,
    hint: Arc<Notify>,
    mut seen: Sight,
) {
    let place = Arc::new(place);
    loop {
        tokio::select! {
            () = lease.revoked() => break,
            () = hint.notified() => tokio::time::sleep(SETTLE).await,
            () = tokio::time::sleep(POLL) => {}
        }
        let looking = {
            let place = place.clone();
            tokio::task::spawn_blocking(move || look(&place))
        };
        let Ok(now) = looking.await else { break };
        if now == seen || lease.is_revoked() {
            continue;
        }
        seen = now;
        if peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri.clone())).await.is_err() {
            break;
        }
    }
    if let Some(shared) = shared.upgrade() {
        shared.remove(&uri);
    }
}

fn look(place: &Place) -> Sight {
    let metadata = place.metadata().ok()?;
    Some((metadata.len(), metadata.modified().ok().map(|time| time.into_std())))
}
