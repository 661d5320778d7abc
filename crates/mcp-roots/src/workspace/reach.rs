//! Looking whether folders can be reached, on disks that may never answer.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use mcp_roots_core::uri::RootPath;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

/// How many folders are looked at together.
const TOGETHER: usize = 16;

/// What is said of a folder that keeps whoever looks.
pub(super) const UNRESPONSIVE: &str = "it does not respond";

/// Why a folder cannot be reached; `None` if it can.
pub(super) type Withheld = Option<Arc<str>>;

/// Looks at folders. A look that hangs, as on a dead network disk, is left to itself, and its folder is not
/// looked at again before it ends: it costs one thread, and delays others once.
#[derive(Debug)]
pub(super) struct Reach {
    look: fn(&RootPath) -> Withheld,
    deadline: Duration,
    hanging: Mutex<HashMap<RootPath, JoinHandle<Withheld>>>,
}

impl Reach {
    pub(super) fn new(look: fn(&RootPath) -> Withheld, deadline: Duration) -> Self {
        Reach { look, deadline, hanging: Mutex::default() }
    }

    pub(super) async fn look_at(&self, paths: &[RootPath]) -> HashMap<RootPath, Withheld> {
        let mut hanging = self.hanging.lock().await;
        let mut found = HashMap::with_capacity(paths.len());
        for together in paths.chunks(TOGETHER) {
            let mut looks = Vec::new();
            for path in together {
                match hanging.remove(path) {
                    Some(look) if !look.is_finished() => {
                        found.insert(path.clone(), Some(UNRESPONSIVE.into()));
                        hanging.insert(path.clone(), look);
                    }
                    // What a look that took so long has seen is old.
                    _ => {
                        let (look, looked_at) = (self.look, path.clone());
                        looks.push((path, tokio::task::spawn_blocking(move || look(&looked_at))));
                    }
                }
            }
            let deadline = tokio::time::Instant::now() + self.deadline;
            for (path, mut look) in looks {
                let withheld = match tokio::time::timeout_at(deadline, &mut look).await {
                    Ok(Ok(withheld)) => withheld,
                    Ok(Err(_)) => Some("it could not be looked at".into()),
                    Err(_) => {
                        hanging.insert(path.clone(), look);
                        Some(UNRESPONSIVE.into())
                    }
                };
                found.insert(path.clone(), withheld);
            }
        }
        found
    }
}

/// Looks at the disk. May hang with it.
pub(super) fn on_disk(path: &RootPath) -> Withheld {
    let Some(native) = path.to_native() else {
        return Some("it is a path of another system".into());
    };
    let looked = match std::fs::metadata(&native) {
        Ok(metadata) if metadata.is_dir() => std::fs::read_dir(&native).map(drop),
        Ok(metadata) if metadata.is_file() => std::fs::File::open(&native).map(drop),
        // To open a pipe could take for ever.
        Ok(_) => return Some("it is neither a directory nor a file".into()),
        Err(error) => Err(error),
    };
    looked.err().map(|error| error.to_string().into())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

    use mcp_roots_core::uri::PathRules;

    use super::*;

    static DEAD: AtomicBool = AtomicBool::new(true);
    static LOOKS_AT_DEAD: AtomicU32 = AtomicU32::new(0);

    /// A disk on which `/dead` does not answer before it is told to.
    fn look(path: &RootPath) -> Withheld {
        if path.to_string() == "/dead" {
            LOOKS_AT_DEAD.fetch_add(1, Ordering::SeqCst);
            while DEAD.load(Ordering::SeqCst) {
                std::thread::park_timeout(Duration::from_millis(1));
            }
        }
        None
    }

    #[tokio::test]
    async fn a_dead_disk_delays_others_once_and_costs_one_thread() {
        let path = |text: &str| RootPath::parse(text, PathRules::Posix).unwrap();
        let paths = [path("/dead"), path("/alive")];
        let reach = Reach::new(look, Duration::from_millis(100));
        for _ in 0..50 {
            let found = reach.look_at(&paths).await;
            assert_eq!(found[&paths[0]].as_deref(), Some("it does not respond"));
            assert_eq!(found[&paths[1]], None);
        }
        assert_eq!(LOOKS_AT_DEAD.load(Ordering::SeqCst), 1);
        DEAD.store(false, Ordering::SeqCst);
        while reach.look_at(&paths).await[&paths[0]].is_some() {
            tokio::task::yield_now().await;
        }
        assert_eq!(LOOKS_AT_DEAD.load(Ordering::SeqCst), 2, "and once it answers it is looked at again");
    }
}
