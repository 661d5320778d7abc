//! Noticing that folders go and come back: a watch gives hints, and the check decides.

use std::sync::Weak;
use std::time::Duration;

use mcp_roots_core::workspace::Folder;
use tokio::time::sleep;

use super::Shared;
use super::reach::UNRESPONSIVE;
use crate::sources::SETTLE;
use crate::sources::watch::{Interests, Watch};

/// How often folders are looked at without a hint.
const INTERVAL: Duration = Duration::from_secs(1);

/// Has the folders checked for as long as the workspace lives.
pub(super) async fn keep(shared: Weak<Shared>, mut watch: Watch) {
    loop {
        match shared.upgrade() {
            Some(shared) => check(&shared, &mut watch).await,
            None => return,
        }
        tokio::select! {
            () = watch.hinted() => sleep(SETTLE).await,
            () = sleep(INTERVAL) => {}
        }
    }
}

/// Checks, and checks again if a folder was not watched the first time.
async fn check(shared: &Shared, watch: &mut Watch) {
    shared.check().await;
    let folders: Vec<Folder> = shared.folders().iter().cloned().collect();
    // To watch a disk that does not respond is to wait for it.
    let responds = |folder: &Folder| folder.withheld.as_deref() != Some(UNRESPONSIVE);
    let mut interests = Interests::default();
    for path in folders.into_iter().filter(responds).filter_map(|folder| folder.uri.path().to_native()) {
        interests.path(&path);
    }
    if watch.set(interests).await {
        shared.check().await;
    }
}
