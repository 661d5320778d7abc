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
use rmcp::service::{Peer, SubscriptionSink};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::work::blocking;

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

/// Two locks, never held together: the watcher calls back on a thread of its own, which wants the first, and
/// changing what is watched, under the second, waits for that thread.
#[derive(Default)]
struct Shared {
    active: Mutex<HashMap<Key, Subscription>>,
    watches: Mutex<Watches>,
}

#[derive(Default)]
struct Watches {
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

/// Who hears of a change.
#[derive(Clone)]
pub(super) enum Hearer {
    /// The client of a session.
    Session(Peer<RoleServer>),
    /// One that listens (2026-07-28, basic/utilities/subscriptions).
    Listener(SubscriptionSink),
}

impl Hearer {
    /// Says that a resource has changed; false if nobody hears it any more.
    pub(super) async fn updated(&self, uri: &str) -> bool {
        match self {
            Hearer::Session(peer) => {
                let updated = ResourceUpdatedNotificationParam::new(uri.to_owned());
                peer.notify_resource_updated(updated).await.is_ok()
            }
            Hearer::Listener(sink) => sink.notify_resource_updated(uri).await.is_ok(),
        }
    }
}

/// What a subscription is known by: who has it, where a client may have several, and the resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) listener: Option<rmcp::model::RequestId>,
    pub(super) uri: String,
}

/// There are too many.
#[derive(Debug, thiserror::Error)]
#[error("there are {MOST} subscriptions already, which is the limit. Unsubscribe from some")]
pub(super) struct TooMany;

/// What a look at a resource shows; `None` if it is not there.
type Sight = Option<(u64, Option<SystemTime>)>;

impl Subscriptions {
    /// Tells `hearer` of changes at `place` until the lease is revoked. A second subscription to a resource takes
    /// the place of the first.
    pub(super) async fn add(&self, key: Key, place: Place, lease: Lease, hearer: Hearer) -> Result<(), TooMany> {
        self.remove(&key);
        let shared = self.shared.clone();
        let (place, directory, seen) = blocking(move || shared.watch(place)).await;
        let (path, hint) = (place.path().to_owned(), Arc::new(Notify::new()));
        let following = Following { key: key.clone(), place: Arc::new(place), hearer, hint: hint.clone(), seen };
        let task = tokio::spawn(follow(Arc::downgrade(&self.shared), following, lease)).abort_handle();
        match self.shared.admit(key, Subscription { path, directory, hint, task }) {
            Ok(None) => Ok(()),
            // Two that came together for one resource: the later stands.
            Ok(Some(earlier)) => {
                self.shared.end(&earlier);
                Ok(())
            }
            Err(refused) => {
                self.shared.end(&refused);
                Err(TooMany)
            }
        }
    }

    /// Ends a subscription, if it is there.
    pub(super) fn remove(&self, key: &Key) {
        self.shared.remove(key);
    }
}

impl Shared {
    fn active(&self) -> MutexGuard<'_, HashMap<Key, Subscription>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watches(&self) -> MutexGuard<'_, Watches> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a subscription in, and gives back the one whose place it takes; or gives it back, if there are too many.
    fn admit(&self, key: Key, subscription: Subscription) -> Result<Option<Subscription>, Subscription> {
        let mut active = self.active();
        if active.len() >= MOST { Err(subscription) } else { Ok(active.insert(key, subscription)) }
    }

    fn remove(&self, key: &Key) {
        let removed = self.active().remove(key);
        if let Some(subscription) = removed {
            self.end(&subscription);
        }
    }

    fn end(&self, subscription: &Subscription) {
        subscription.task.abort();
        self.watches().unwatch(&subscription.directory);
    }

    /// Has a place watched, and looks at it then, so that no change falls between. Blocks.
    fn watch(self: &Arc<Self>, place: Place) -> (Place, PathBuf, Sight) {
        // A file is watched through its directory, since editors replace files.
        let path = place.path();
        let is_dir = place.metadata().is_ok_and(|metadata| metadata.is_dir());
        let directory = if is_dir { path } else { path.parent().unwrap_or(path) }.to_owned();
        self.watches().watch(&directory, self);
        let seen = look(&place);
        (place, directory, seen)
    }

    /// Something happened at these paths; at all of them, if there are none.
    fn hint(&self, paths: &[PathBuf]) {
        for subscription in self.active().values() {
            let concerned = |path: &PathBuf| *path == subscription.path || path.parent() == Some(&subscription.path);
            if paths.is_empty() || paths.iter().any(concerned) {
                subscription.hint.notify_one();
            }
        }
    }
}

impl Watches {
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

/// One subscription, as its task sees it.
struct Following {
    key: Key,
    place: Arc<Place>,
    hearer: Hearer,
    hint: Arc<Notify>,
    seen: Sight,
}

async fn follow(shared: Weak<Shared>, mut following: Following, lease: Lease) {
    tokio::select! {
        () = lease.revoked() => {}
        () = following.tell_of_changes() => {}
    }
    if let Some(shared) = shared.upgrade() {
        shared.remove(&following.key);
    }
}

impl Following {
    /// Ends when nobody hears it any more.
    async fn tell_of_changes(&mut self) {
        loop {
            tokio::select! {
                () = self.hint.notified() => tokio::time::sleep(SETTLE).await,
                () = tokio::time::sleep(POLL) => {}
            }
            let place = self.place.clone();
            let now = blocking(move || look(&place)).await;
            if now == self.seen {
                continue;
            }
            self.seen = now;
            if !self.hearer.updated(&self.key.uri).await {
                return;
            }
        }
    }
}

fn look(place: &Place) -> Sight {
    let metadata = place.metadata().ok()?;
    Some((metadata.len(), metadata.modified().ok().map(|time| time.into_std())))
}
