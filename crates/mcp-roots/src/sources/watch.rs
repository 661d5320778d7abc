//! Watching directories for hints that something may have changed. What has changed is for whoever takes the hint
//! and looks; whoever does must also look now and then without one, since there are disks without events.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// How many directories above one of interest are watched. All, so that it is noticed when any of them is moved away
/// or comes into being; but where the system's watches always take in whole trees, only the next two.
const ABOVE: usize = if cfg!(target_os = "macos") { 2 } else { usize::MAX };

/// How long a disk may keep whoever sets a watch.
const DEADLINE: Duration = Duration::from_secs(2);

/// Something to be hinted at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Interest {
    directory: PathBuf,
    /// The name in the directory that is of interest; `None` for all names.
    name: Option<OsString>,
}

/// What is of interest, collected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Interests {
    all: HashSet<Interest>,
    /// The directories in which something of interest may happen any time, in contrast to those above them, which
    /// seldom change and need not be ours.
    near: HashSet<PathBuf>,
}

impl Interests {
    /// Whatever happens to this file or directory itself, and whether it is there at all. Not what happens in it.
    pub(crate) fn path(&mut self, path: &Path) {
        self.near.extend(path.parent().map(Path::to_owned));
        let mut below = path;
        for directory in path.ancestors().skip(1).take(ABOVE) {
            let name = below.file_name().map(OsStr::to_owned);
            let new = self.all.insert(Interest { directory: directory.into(), name });
            if !new {
                // And so was all above it.
                return;
            }
            below = directory;
        }
    }

    /// Which names this directory has, and whether it is there at all.
    pub(crate) fn names_in(&mut self, directory: &Path) {
        self.path(directory);
        self.near.insert(directory.into());
        self.all.insert(Interest { directory: directory.into(), name: None });
    }
}

/// Watches directories for any number of people, each directory once.
///
/// Two locks: the watcher calls back on a thread of its own, which wants the first, and changing what is watched,
/// under the second, waits for that thread. So nothing is watched under the first.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    wanted: Mutex<HashMap<PathBuf, Wanted>>,
    watched: Mutex<Watched>,
}

/// A directory that somebody wants watched, under its real path.
#[derive(Debug, Default)]
struct Wanted {
    by: Vec<(Hint, Option<OsString>)>,
    /// It may be another directory by now, and the watch may have gone with the old one.
    replaced: bool,
}

#[derive(Default)]
struct Watched {
    watcher: Option<RecommendedWatcher>,
    /// Each directory, and which watch it is under, by its number.
    directories: HashMap<PathBuf, (Identity, u64)>,
    begun: u64,
    complained: bool,
}

/// One person's watch.
#[derive(Debug)]
pub(crate) struct Watch {
    seat: Arc<Seat>,
    /// Setting the watch, which a dead disk can keep for ever.
    setting: Option<JoinHandle<bool>>,
}

#[derive(Debug)]
struct Seat {
    watches: Arc<Watches>,
    hint: Hint,
    last: Mutex<Setting>,
}

/// What a watch is set to.
#[derive(Debug, Default)]
struct Setting {
    interests: Interests,
    /// Which watch it is that each directory is under.
    under: HashMap<PathBuf, u64>,
}

/// Wakes whoever waits for [`Watch::hinted`]; if nobody does, whoever waits next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hint(Arc<Notify>);

impl Hint {
    pub(crate) fn give(&self) {
        self.0.notify_one();
    }
}

impl Watch {
    pub(crate) fn new(watches: &Arc<Watches>, hint: Hint) -> Self {
        let seat = Seat { watches: watches.clone(), hint, last: Mutex::default() };
        Watch { seat: Arc::new(seat), setting: None }
    }

    /// Ends when something may have changed. Cancelled, it loses nothing.
    pub(crate) async fn hinted(&self) {
        self.seat.hint.0.notified().await;
    }

    /// Watches for what is of interest, and nothing else any more. Whether something is watched now that was not
    /// before: what happened to it earlier was not hinted at, so look again.
    ///
    /// Takes no longer than [`DEADLINE`]. What takes longer is left to itself, and nothing is set before it has ended.
    pub(crate) async fn set(&mut self, interests: Interests) -> bool {
        if self.setting.as_ref().is_some_and(|setting| !setting.is_finished()) {
            return false;
        }
        let seat = self.seat.clone();
        let mut setting = tokio::task::spawn_blocking(move || seat.set(interests));
        match tokio::time::timeout(DEADLINE, &mut setting).await {
            Ok(new) => new.unwrap_or(false),
            Err(_) => {
                self.setting = Some(setting);
                false
            }
        }
    }
}

impl Seat {
    fn set(&self, interests: Interests) -> bool {
        let under = self.watches.set(&self.hint, &interests);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let new = !interests.all.is_subset(&last.interests.all)
            || under.iter().any(|(directory, watch)| last.under.get(directory) != Some(watch));
        *last = Setting { interests, under };
        new
    }
}

impl Drop for Seat {
    /// Others' watches stay. What only this one wanted is unwatched when somebody's watch is set next.
    fn drop(&mut self) {
        self.watches.forget(&self.hint);
    }
}

impl Watches {
    fn wanted(&self) -> MutexGuard<'_, HashMap<PathBuf, Wanted>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which watch each directory of interest is under now.
    fn set(self: &Arc<Self>, hint: &Hint, interests: &Interests) -> HashMap<PathBuf, u64> {
        let mut real: HashMap<&Path, Option<(PathBuf, Identity)>> = HashMap::new();
        for Interest { directory, .. } in &interests.all {
            real.entry(directory).or_insert_with(|| real_directory(directory));
        }
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        self.want(hint, interests, &real);
        for directory in self.unwanted(&watched) {
            watched.unwatch(&directory);
        }
        let mut under = HashMap::with_capacity(real.len());
        for (named, real) in real {
            let Some((directory, identity)) = real else { continue };
            let replaced = self.wanted().get_mut(&directory).is_some_and(|wanted| std::mem::take(&mut wanted.replaced));
            if replaced || watched.directories.get(&directory).is_none_or(|(watched, _)| *watched != identity) {
                watched.unwatch(&directory);
                watched.watch(&directory, identity, self, interests.near.contains(named));
            }
            if let Some((_, watch)) = watched.directories.get(&directory) {
                under.insert(directory, *watch);
            }
        }
        under
    }

    fn unwanted(&self, watched: &Watched) -> Vec<PathBuf> {
        let wanted = self.wanted();
        watched.directories.keys().filter(|directory| !wanted.contains_key(*directory)).cloned().collect()
    }

    /// Writes down who wants what. What is not there cannot be watched; what is above it can.
    fn want(&self, hint: &Hint, interests: &Interests, real: &HashMap<&Path, Option<(PathBuf, Identity)>>) {
        let mut wanted = self.wanted();
        wanted.values_mut().for_each(|directory| directory.by.retain(|(other, _)| !other.is(hint)));
        for interest in &interests.all {
            if let Some(Some((directory, _))) = real.get(interest.directory.as_path()) {
                wanted.entry(directory.clone()).or_default().by.push((hint.clone(), interest.name.clone()));
            }
        }
        wanted.retain(|_, directory| !directory.by.is_empty());
    }

    fn forget(&self, hint: &Hint) {
        let mut wanted = self.wanted();
        wanted.values_mut().for_each(|directory| directory.by.retain(|(other, _)| !other.is(hint)));
        wanted.retain(|_, directory| !directory.by.is_empty());
    }

    /// The watcher has seen something.
    fn happened(&self, event: notify::Result<Event>) {
        match event {
            Ok(event) if is_only_a_look(event.kind) => {}
            Ok(event) if !event.paths.is_empty() && !event.need_rescan() => {
                event.paths.iter().for_each(|path| self.hint(path, event.kind));
            }
            // Events may have been lost, so everybody looks, and nothing is sure to be watched.
            _ => {
                for directory in self.wanted().values_mut() {
                    directory.replaced = true;
                    directory.by.iter().for_each(|(hint, _)| hint.give());
                }
            }
        }
    }

    fn hint(&self, path: &Path, kind: EventKind) {
        let mut wanted = self.wanted();
        // Something about the directory itself.
        if let Some(directory) = wanted.get_mut(path) {
            directory.replaced = true;
            directory.by.iter().for_each(|(hint, _)| hint.give());
        }
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return;
        };
        for (hint, of_interest) in wanted.get(above).into_iter().flat_map(|directory| &directory.by) {
            let concerned = match of_interest {
                Some(of_interest) => of_interest == name,
                None => !matches!(kind, EventKind::Modify(ModifyKind::Data(_) | ModifyKind::Metadata(_))),
            };
            if concerned {
                hint.give();
            }
        }
    }
}

impl Hint {
    fn is(&self, other: &Hint) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Watched {
    /// The first directory near to something of interest that cannot be watched is said.
    fn watch(&mut self, directory: &Path, identity: Identity, watches: &Arc<Watches>, near: bool) {
        let watching = self
            .watcher(&Arc::downgrade(watches))
            .and_then(|watcher| watcher.watch(directory, RecursiveMode::NonRecursive));
        match watching {
            Ok(()) => {
                self.begun += 1;
                self.directories.insert(directory.into(), (identity, self.begun));
            }
            Err(error) => {
                if near && !std::mem::replace(&mut self.complained, true) {
                    let why = reason(&error);
                    tracing::warn!(target: "mcp_roots", "a directory cannot be watched, so changes are seen late: {why}");
                }
                tracing::debug!(target: "mcp_roots", directory = %directory.display(), "not watched: {error}");
            }
        }
    }

    fn unwatch(&mut self, directory: &Path) {
        if self.directories.remove(directory).is_some() {
            // It may be gone, and its watch with it.
            let _ = self.watcher.as_mut().map(|watcher| watcher.unwatch(directory));
        }
    }

    fn watcher(&mut self, watches: &Weak<Watches>) -> notify::Result<&mut RecommendedWatcher> {
        if self.watcher.is_none() {
            let watches = watches.clone();
            self.watcher = Some(notify::recommended_watcher(move |event| {
                if let Some(watches) = watches.upgrade() {
                    watches.happened(event);
                }
            })?);
        }
        self.watcher.as_mut().ok_or_else(|| notify::Error::generic("the watcher is gone"))
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("directories", &self.directories.len()).finish_non_exhaustive()
    }
}

/// What is another when a directory is replaced by one of the same name.
#[cfg(unix)]
type Identity = (u64, u64);
#[cfg(not(unix))]
type Identity = Option<std::time::SystemTime>;

/// Where a directory really is: the system tells of events under one path alone, however many links lead there.
fn real_directory(directory: &Path) -> Option<(PathBuf, Identity)> {
    let real = std::fs::canonicalize(directory).ok()?;
    let metadata = std::fs::metadata(&real).ok().filter(std::fs::Metadata::is_dir)?;
    #[cfg(unix)]
    let identity = {
        use std::os::unix::fs::MetadataExt;
        (metadata.dev(), metadata.ino())
    };
    #[cfg(not(unix))]
    let identity = metadata.created().ok();
    Some((real, identity))
}

/// Looking is an event, too. To take it as a hint would be to look for ever.
fn is_only_a_look(kind: EventKind) -> bool {
    matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

/// Why not, without the path, which is nobody's business.
fn reason(error: &notify::Error) -> String {
    match &error.kind {
        notify::ErrorKind::Io(error) => error.to_string(),
        notify::ErrorKind::MaxFilesWatch => "the system's limit of watches is reached".into(),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of a test's own, with `a/b` in it.
    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str) -> Self {
            let dir = std::env::temp_dir().join(format!("mcp-roots-watch-{}-{name}", std::process::id()));
            std::fs::create_dir_all(dir.join("a/b")).unwrap();
            Tree(dir)
        }

        fn at(&self, path: &str) -> PathBuf {
            self.0.join(path)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn interests(path: &Path) -> Interests {
        let mut interests = Interests::default();
        interests.path(path);
        interests
    }

    async fn is_hinted(watch: &Watch) {
        tokio::time::timeout(Duration::from_secs(20), watch.hinted()).await.expect("a hint");
    }

    #[tokio::test]
    async fn a_hint_is_for_those_whom_it_concerns() {
        let tree = Tree::new("concerns");
        let watches = Arc::default();
        let [mut one, mut other] = [(); 2].map(|()| Watch::new(&watches, Hint::default()));
        assert!(one.set(interests(&tree.at("a/one"))).await);
        assert!(other.set(interests(&tree.at("a/other"))).await, "it was not watched for this one");
        assert!(!other.set(interests(&tree.at("a/other"))).await);
        std::fs::read_dir(tree.at("a")).unwrap().for_each(drop);
        std::fs::write(tree.at("a/nobody"), "").unwrap();
        std::fs::write(tree.at("a/one"), "").unwrap();
        is_hinted(&one).await;
        // Events come in order: a hint to the other would have been there before.
        assert!(tokio::time::timeout(Duration::ZERO, other.hinted()).await.is_err());
        std::fs::write(tree.at("a/other"), "").unwrap();
        is_hinted(&other).await;
    }

    #[tokio::test]
    async fn a_directory_that_is_replaced_or_comes_later_is_watched() {
        let tree = Tree::new("replaced");
        let mut watch = Watch::new(&Arc::default(), Hint::default());
        let file = tree.at("a/b/c/file");
        assert!(watch.set(interests(&file)).await);
        std::fs::create_dir(tree.at("a/b/c")).unwrap();
        is_hinted(&watch).await;
        assert!(watch.set(interests(&file)).await, "it can be watched now");
        std::fs::write(&file, "").unwrap();
        is_hinted(&watch).await;
        std::fs::rename(tree.at("a"), tree.at("old")).unwrap();
        std::fs::create_dir_all(tree.at("a/b/c")).unwrap();
        is_hinted(&watch).await;
        assert!(watch.set(interests(&file)).await, "another one is in its place");
        while tokio::time::timeout(Duration::ZERO, watch.hinted()).await.is_ok() {}
        std::fs::write(&file, "").unwrap();
        is_hinted(&watch).await;
    }

    /// Counts warnings.
    #[derive(Default)]
    struct Warnings(std::sync::atomic::AtomicUsize);

    impl tracing::Subscriber for Warnings {
        fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
            *metadata.level() == tracing::Level::WARN
        }

        fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
            tracing::span::Id::from_u64(1)
        }

        fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

        fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

        fn event(&self, _: &tracing::Event<'_>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }

        fn enter(&self, _: &tracing::span::Id) {}

        fn exit(&self, _: &tracing::span::Id) {}
    }

    #[test]
    fn a_watch_that_fails_to_start_is_said_once_and_only_if_it_is_near() {
        let tree = Tree::new("fails");
        let (_, identity) = real_directory(&tree.at("a")).unwrap();
        let (watches, mut watched) = (Arc::new(Watches::default()), Watched::default());
        let warnings = Arc::new(Warnings::default());
        let said = || warnings.0.load(std::sync::atomic::Ordering::Relaxed);
        tracing::subscriber::with_default(warnings.clone(), || {
            let mut watch = |path: &str, near| watched.watch(&tree.at(path), identity, &watches, near);
            watch("a", true);
            assert_eq!(said(), 0, "this one starts");
            watch("missing", false);
            assert_eq!(said(), 0, "what is far away seldom changes");
            watch("missing", true);
            watch("missing too", true);
            assert_eq!(said(), 1, "one is enough to know that changes are seen late");
        });
    }
}
