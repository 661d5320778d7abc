//! How many sessions there may be, and how an HTTP server learns that one was refused.

use std::cell::Cell;
use std::future::Future;

use thiserror::Error;

tokio::task_local! {
    /// What became of the request that is being handled in this task.
    static REFUSED: Cell<Option<NoRoom>>;
}

/// A session was not made, since there are as many as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("there are {limit} sessions, which is the limit; try again later")]
#[non_exhaustive]
pub struct NoRoom {
    /// How many there may be.
    pub limit: usize,
}

/// Why a session could not be made, or something could not be done in one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SessionsError<E> {
    /// There is no room for another.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// What the decorated session manager says.
    #[error("{0}")]
    Inner(#[source] E),
}

/// Handles one HTTP request.
///
/// `rmcp` answers 500 if a session could not be made, whatever the reason. A server whose sessions are limited
/// ([`TrackedSessions::at_most`](super::TrackedSessions::at_most)) hands each request on within this, and answers a
/// refused one with 503 and `Retry-After` in place of what came back.
///
/// # Errors
///
/// When the request was to open a session and there was no room.
pub async fn with_room<F: Future>(handling: F) -> Result<F::Output, NoRoom> {
    REFUSED
        .scope(Cell::new(None), async {
            let output = handling.await;
            REFUSED.with(Cell::get).map_or(Ok(output), Err)
        })
        .await
}

impl NoRoom {
    /// The refusal, told to [`with_room`] if the request is handled there.
    pub(super) fn refuse(limit: usize) -> Self {
        let refusal = NoRoom { limit };
        // Nobody need listen.
        let _ = REFUSED.try_with(|refused| refused.set(Some(refusal)));
        refusal
    }
}
