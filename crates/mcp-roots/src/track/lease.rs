//! Leases: permissions that end when their root leaves.

use std::sync::Arc;

use mcp_roots_core::server_half::{LeaseId, Snapshot, Unavailable};
use mcp_roots_core::set::Root;
use mcp_roots_core::uri::{Refusal, RootPath};
use tokio_util::sync::CancellationToken;

use super::Session;

/// A permission to go on working on a path. It is revoked when no root in force covers the path any more,
/// and that before any later request can see the new roots. Dropping it gives it back.
#[derive(Debug)]
pub struct Lease {
    session: Arc<Session>,
    id: LeaseId,
    path: RootPath,
    revoked: CancellationToken,
}

impl Lease {
    pub(super) fn new(session: Arc<Session>, id: LeaseId, path: RootPath, revoked: CancellationToken) -> Self {
        Lease { session, id, path, revoked }
    }

    /// The path that it was given for.
    pub fn path(&self) -> &RootPath {
        &self.path
    }

    /// Ends when the lease is revoked.
    pub async fn revoked(&self) {
        self.revoked.cancelled().await;
    }

    /// Whether it has been revoked.
    pub fn is_revoked(&self) -> bool {
        self.revoked.is_cancelled()
    }

    /// Cancelled when the lease is revoked, for work that takes a token.
    pub fn token(&self) -> CancellationToken {
        self.revoked.clone()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.session.turn(|books, _| {
            books.leases.remove(&self.id);
            books.half.return_lease(self.id);
        });
    }
}

/// Why a lease was not given.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// No current set could be had.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The path cannot be under any root.
    #[error(transparent)]
    Path(Refusal),
    /// No root in force covers the path.
    #[error("{path} is outside the roots in force: {roots}")]
    Outside {
        /// The path, as the client calls it.
        path: String,
        /// The roots in force, in words.
        roots: String,
    },
}

impl LeaseError {
    pub(super) fn outside(path: &RootPath, snapshot: &Snapshot) -> Self {
        LeaseError::Outside { path: snapshot.mapping.shown(path).to_string(), roots: in_words(snapshot) }
    }
}

/// The roots in force, for a message to the client: the first few, as it calls them, and how many more there are.
pub fn in_words(snapshot: &Snapshot) -> String {
    const SHOWN: usize = 10;
    let roots = &snapshot.roots;
    if roots.is_empty() {
        return "there are none".into();
    }
    let shown = |root: &Root| snapshot.mapping.shown(root.uri.path()).to_string();
    let mut words: Vec<String> = roots.iter().take(SHOWN).map(shown).collect();
    if roots.len() > SHOWN {
        words.push(format!("and {} more", roots.len() - SHOWN));
    }
    words.join(", ")
}
