//! What both decorators need to drive a half: a clock, sends in order, and waits that may never end.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use mcp_roots_core::time::Time;
use tokio::sync::mpsc;
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
pub(crate) async fn in_turn(sendings: Vec<Sending>) {
    for sending in sendings {
        sending.await;
    }
}

/// Sends what was injected while messages were read, one after the other, on a task of its own: the read
/// loop waits for no peer.
#[derive(Debug)]
pub(crate) struct Injector {
    queue: mpsc::UnboundedSender<Sending>,
}

impl Injector {
    /// Must be called inside a runtime.
    pub(crate) fn start() -> Self {
        let (queue, mut sendings) = mpsc::unbounded_channel::<Sending>();
        tokio::spawn(async move {
            while let Some(sending) = sendings.recv().await {
                sending.await;
            }
        });
        Injector { queue }
    }

    pub(crate) fn send(&self, sending: Sending) {
        // The task ends only with the queue.
        let _ = self.queue.send(sending);
    }
}
