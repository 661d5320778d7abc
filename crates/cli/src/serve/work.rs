//! Work that takes a while: it can be told to stop, and says how far it has come.

use std::convert::Infallible;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::error::CallError;

/// How often progress is told.
const TOLD_EVERY: Duration = Duration::from_millis(250);

/// How much work is under way, and how much was refused. Every clone counts the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Running {
    under_way: Arc<AtomicUsize>,
    refused: Arc<AtomicU64>,
}

impl Running {
    pub(super) fn count(&self) -> usize {
        self.under_way.load(Ordering::Relaxed)
    }

    pub(super) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Counts work that is refused, if it is.
    pub(super) fn counted<T>(&self, outcome: Result<T, CallError>) -> Result<T, CallError> {
        if matches!(outcome, Err(CallError::Outside(_))) {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        outcome
    }

    /// Begins a piece of work, which ends when its last clone is dropped.
    pub(super) fn begin(&self) -> Work {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        Work {
            stop: CancellationToken::new(),
            shared: Arc::new(Shared { done: AtomicU64::new(0), running: self.clone() }),
        }
    }
}

/// What a piece of work shares with whoever waits for it.
#[derive(Clone)]
pub(super) struct Work {
    stop: CancellationToken,
    shared: Arc<Shared>,
}

struct Shared {
    done: AtomicU64,
    running: Running,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.running.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Work {
    /// Whether to go on. To be asked for each entry and each piece of a file.
    pub(super) fn go_on(&self) -> Result<(), CallError> {
        if self.stop.is_cancelled() { Err(CallError::Stopped) } else { Ok(()) }
    }

    /// One thing more has been looked at.
    pub(super) fn advance(&self) {
        self.shared.done.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Stops the work when this is dropped, as when nobody waits for it any more.
    pub(super) fn stop_with_me(&self) -> DropGuard {
        self.stop.clone().drop_guard()
    }

    /// A reader that fails once the work is to stop.
    pub(super) fn reading<R: Read>(&self, reader: R) -> impl Read + use<R> {
        Stoppable { reader, stop: self.stop.clone() }
    }
}

struct Stoppable<R> {
    reader: R,
    stop: CancellationToken,
}

impl<R: Read> Read for Stoppable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("stopped"));
        }
        self.reader.read(buffer)
    }
}

/// The call that work is done for: it may be cancelled, and may want to hear of progress.
#[derive(Clone)]
pub(super) struct Call {
    cancelled: CancellationToken,
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
}

impl From<RequestContext<RoleServer>> for Call {
    fn from(context: RequestContext<RoleServer>) -> Self {
        Call { cancelled: context.ct, token: context.meta.get_progress_token(), peer: context.peer }
    }
}

impl Call {
    /// Ends when the client cancels the call.
    pub(super) async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }

    /// Tells the client of progress, if it asked for that and there is some.
    pub(super) async fn report(&self, work: &Work) -> Infallible {
        let Some(token) = &self.token else { return std::future::pending().await };
        let mut told = 0;
        loop {
            tokio::time::sleep(TOLD_EVERY).await;
            let done = work.shared.done.load(Ordering::Relaxed);
            if done > told {
                told = done;
                let progress = ProgressNotificationParam::new(token.clone(), done as f64)
                    .with_message(format!("{done} entries looked at"));
                // A client that has gone hears nothing, and its call ends with it.
                let _ = self.peer.notify_progress(progress).await;
            }
        }
    }
}

/// Runs what blocks where it may. The work cannot panic but by a bug, and then so does this.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
