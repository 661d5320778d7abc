//! A stream of what changes in the roots in force.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use mcp_roots_core::server_half::Snapshot;
use mcp_roots_core::set::{Diff, RootSet};
use tokio::sync::watch;
use tokio_stream::wrappers::WatchStream;

/// What changes in the roots in force, made by [`Roots::changes`](super::Roots::changes). Ends with the
/// connection. Holds no queue: a reader that lags sees several changes as one.
#[derive(Debug)]
pub struct Changes {
    seen: RootSet,
    snapshots: WatchStream<Arc<Snapshot>>,
}

impl Changes {
    pub(super) fn new(mut published: watch::Receiver<Arc<Snapshot>>) -> Self {
        let seen = published.borrow_and_update().roots.clone();
        Changes { seen, snapshots: WatchStream::from_changes(published) }
    }
}

impl Stream for Changes {
    type Item = Diff;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Diff>> {
        loop {
            let Some(snapshot) = ready!(Pin::new(&mut self.snapshots).poll_next(context)) else {
                return Poll::Ready(None);
            };
            let diff = self.seen.diff(&snapshot.roots);
            if !diff.is_empty() {
                self.seen = snapshot.roots.clone();
                return Poll::Ready(Some(diff));
            }
        }
    }
}
