//! What both decorators need to drive a half: a clock, sends in order, and waits that may never end.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcp_roots_core::time::Time;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// Measures from the moment a connection was opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Clock { origin: Instant::now() }
    }

    pub(crate) fn now(&self) -> Time {
        Time::from_origin(self.origin.elapsed())
    }

    /// Sleeps until `time`, or for ever if there is none.
    pub(crate) async fn sleep_until(&self, time: Option<Time>) {
        match time.and_then(|time| self.origin.checked_add(time.since_origin())) {
            // A half compares exactly, and timers wake to the millisecond: never wake too early.
            Some(instant) => tokio::time::sleep_until(instant + Duration::from_micros(1)).await,
            None => std::future::pending().await,
        }
    }
}

pub(crate) type Sending = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Waits for sends, one after the other.
pub(crate) async fn in_turn(sendings: impl IntoIterator<Item = Sending>) {
    for sending in sendings {
        sending.await;
    }
}

/// Sends what was injected while messages were read, one after the other, on a task of its own: the read
/// loop waits for no peer.
#[derive(Debug)]
pub(crate) struct Injector {
    queue: mpsc::UnboundedSender<Sending>,
    /// How many are in the queue or being sent.
    unsent: Arc<AtomicUsize>,
}

impl Injector {
    /// Must be called inside a runtime.
    pub(crate) fn start() -> Self {
        let (queue, mut sendings) = mpsc::unbounded_channel::<Sending>();
        let unsent = Arc::new(AtomicUsize::new(0));
        let left = unsent.clone();
        tokio::spawn(async move {
            while let Some(sending) = sendings.recv().await {
                sending.await;
                left.fetch_sub(1, Ordering::Release);
            }
        });
        Injector { queue, unsent }
    }

    pub(crate) fn send(&self, sending: Sending) {
        self.unsent.fetch_add(1, Ordering::Relaxed);
        // The task ends only with the queue.
        let _ = self.queue.send(sending);
    }

    /// Waits until all that has been injected so far is sent; `None` if it is.
    pub(crate) fn all_sent(&self) -> Option<Sending> {
        if self.unsent.load(Ordering::Acquire) == 0 {
            return None;
        }
        let (reached, all_sent) = oneshot::channel();
        self.send(Box::pin(async move {
            // Whoever waited for it may have gone.
            let _ = reached.send(());
        }));
        Some(Box::pin(async move {
            // The task ends only with the queue, and then nothing more is sent.
            let _ = all_sent.await;
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_injected_can_be_waited_for() {
        let injector = Injector::start();
        assert!(injector.all_sent().is_none());
        let (taken, take) = oneshot::channel::<()>();
        injector.send(Box::pin(async move { take.await.expect("the peer reads") }));
        let mut all_sent = injector.all_sent().expect("something to wait for");
        tokio::task::yield_now().await;
        assert!(
            std::future::poll_fn(|context| std::task::Poll::Ready(all_sent.as_mut().poll(context).is_pending())).await
        );
        taken.send(()).expect("it is being sent");
        all_sent.await;
    }
}
