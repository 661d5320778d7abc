//! The questions: at most one in flight, late answers recognised, failures retried with backoff.
//!
//! When to ask is decided in [`super`]; this keeps the books.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::config::ServerConfig;
use super::snapshot::Generation;
use super::ways::Way;
use crate::bucket::Bucket;
use crate::frame::RequestId;
use crate::time::Time;

/// How many questions without an answer are remembered, so that a late answer is recognised.
const REMEMBERED: usize = 8;

/// One `roots/list` request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Question {
    pub(super) id: RequestId,
    /// Questions are numbered in the order in which they are asked.
    pub(super) number: u64,
    /// The newest invalidation when it was asked: what its answer covers.
    pub(super) covers: Generation,
    pub(super) asked_at: Time,
    pub(super) way: Way,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Asking {
    pub(super) in_flight: Option<Question>,
    /// Questions given up on, oldest first.
    overdue: VecDeque<Question>,
    /// The number of the question whose answer was applied last.
    applied: u64,
    asked: u64,
    failures: u32,
    /// A question has run into its deadline and nothing was heard from the client since.
    silent: bool,
    retry_at: Option<Time>,
    bucket: Bucket,
    random: u64,
    id_prefix: Arc<str>,
}

impl Asking {
    pub(super) fn new(config: &ServerConfig, now: Time) -> Self {
        let mut random = config.seed;
        let nonce = next_random(&mut random) as u32;
        Asking {
            in_flight: None,
            overdue: VecDeque::new(),
            applied: 0,
            asked: 0,
            failures: 0,
            silent: false,
            retry_at: None,
            bucket: Bucket::new(config.burst, config.per_second, now),
            random,
            // Text, since SDKs number their own requests, and with a nonce, since a server behind this one
            // may inject questions of the same kind.
            id_prefix: format!("mcp-roots:{nonce:08x}:").into(),
        }
    }

    /// Whether `id` is one of the questions asked here, answered late, twice, or not at all.
    pub(super) fn knows(&self, id: &RequestId) -> bool {
        matches!(id, RequestId::Text(text) if text.starts_with(&*self.id_prefix))
    }

    /// Whether a question may go now. One that a request waits for, or takes along, is paid for by that request; the
    /// others share the bucket.
    pub(super) fn take_turn(&mut self, paid: bool, now: Time) -> bool {
        if self.in_flight.is_some() || self.retry_at.is_some_and(|at| at > now) {
            return false;
        }
        if paid {
            self.bucket.take_or_do_without(now);
            return true;
        }
        self.bucket.try_take(now)
    }

    /// When the next question may go, if none is in flight.
    pub(super) fn next_turn(&self, paid: bool) -> Time {
        let bucket = if paid { Time::ZERO } else { self.bucket.ready_at() };
        self.retry_at.unwrap_or_default().max(bucket)
    }

    pub(super) fn ask(&mut self, covers: Generation, way: Way, now: Time) -> RequestId {
        self.asked += 1;
        self.retry_at = None;
        let id = RequestId::Text(format!("{}{}", self.id_prefix, self.asked).into());
        self.in_flight = Some(Question { id: id.clone(), number: self.asked, covers, asked_at: now, way });
        id
    }

    /// Takes the question that `id` answers out of the books.
    pub(super) fn answered(&mut self, id: &RequestId) -> Option<Question> {
        if self.in_flight.as_ref().is_some_and(|question| question.id == *id) {
            return self.in_flight.take();
        }
        let place = self.overdue.iter().position(|question| question.id == *id)?;
        self.overdue.remove(place)
    }

    /// Whether the answer to `question` is newer than all that was applied before it; if so it counts as
    /// applied, and everything older is settled.
    pub(super) fn apply(&mut self, question: &Question) -> bool {
        if question.number <= self.applied {
            return false;
        }
        self.applied = question.number;
        true
    }

    /// Gives up on the question in flight if it has run into its deadline.
    pub(super) fn lose_overdue(&mut self, deadline: Duration, now: Time) -> Option<&Question> {
        self.give_up_if(|question| now.since(question.asked_at) >= deadline)
    }

    /// Gives up on the question in flight if it went by a way that has just been closed.
    pub(super) fn lose_way(&mut self, way: &Way) -> Option<&Question> {
        self.give_up_if(|question| question.way == *way)
    }

    /// Its answer may still come, and then it counts.
    fn give_up_if(&mut self, lost: impl FnOnce(&Question) -> bool) -> Option<&Question> {
        let question = self.in_flight.take_if(|question| lost(question))?;
        self.overdue.push_back(question);
        if self.overdue.len() > REMEMBERED {
            self.overdue.pop_front();
        }
        self.overdue.back()
    }

    /// The client has let a whole deadline pass although it must have seen the question.
    pub(super) fn unheard(&mut self) {
        self.silent = true;
    }

    /// Notes a failure and plans the retry: the wait doubles up to the cap, less up to a quarter of jitter.
    pub(super) fn failed(&mut self, config: &ServerConfig, now: Time) -> Time {
        let doubled = config.retry_first.saturating_mul(1 << self.failures.min(30));
        let wait = doubled.min(config.retry_cap);
        let jitter = wait.mul_f64((next_random(&mut self.random) % 1_000) as f64 / 4_000.0);
        self.failures = self.failures.saturating_add(1);
        let at = now + wait.saturating_sub(jitter);
        self.retry_at = Some(at);
        at
    }

    /// The client gave a usable answer, or shows otherwise that it is there: it starts afresh.
    pub(super) fn heard(&mut self) {
        self.failures = 0;
        self.silent = false;
        self.retry_at = None;
    }

    /// How many failures in succession there were.
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    /// Whether requests should no longer wait for this client.
    pub(super) fn hopeless(&self, config: &ServerConfig) -> bool {
        self.silent || self.failures >= config.patience
    }
}

/// SplitMix64: small, seedable, and good enough to spread retries.
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
