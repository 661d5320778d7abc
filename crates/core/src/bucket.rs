//! A token bucket: how often something may happen when nobody waits for it.

use std::time::Duration;

use crate::time::Time;

/// Holds up to `burst` tokens and gains one each `interval`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bucket {
    burst: u32,
    interval: Duration,
    tokens: u32,
    /// When the bucket last gained a token, or was last known to be full.
    filled: Time,
}

impl Bucket {
    pub(crate) fn new(burst: u32, per_second: u32, now: Time) -> Self {
        let burst = burst.max(1);
        Bucket { burst, interval: Duration::from_secs(1) / per_second.max(1), tokens: burst, filled: now }
    }

    /// Takes a token if there is one.
    pub(crate) fn try_take(&mut self, now: Time) -> bool {
        self.refill(now);
        let taken = self.tokens > 0;
        self.tokens = self.tokens.saturating_sub(1);
        taken
    }

    /// Takes a token, or does without. A question that a request pays for is never delayed, but it leaves
    /// less for the questions that nobody waits for.
    pub(crate) fn take_or_do_without(&mut self, now: Time) {
        let _ = self.try_take(now);
    }

    /// When the next token is there.
    pub(crate) fn ready_at(&self) -> Time {
        if self.tokens > 0 { self.filled } else { self.filled + self.interval }
    }

    fn refill(&mut self, now: Time) {
        let gained = now.since(self.filled).as_nanos() / self.interval.as_nanos().max(1);
        let missing = self.burst - self.tokens;
        if gained >= u128::from(missing) {
            self.tokens = self.burst;
            self.filled = now;
        } else {
            // Fewer than `missing`, so it fits.
            let gained = gained as u32;
            self.tokens += gained;
            self.filled = self.filled + self.interval * gained;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_origin(Duration::from_millis(millis))
    }

    #[test]
    fn a_burst_then_a_steady_rate() {
        let mut bucket = Bucket::new(2, 10, at(0));
        assert!(bucket.try_take(at(0)));
        assert!(bucket.try_take(at(0)));
        assert!(!bucket.try_take(at(0)));
        assert_eq!(bucket.ready_at(), at(100));
        assert!(!bucket.try_take(at(99)));
        assert!(bucket.try_take(at(100)));
        let taken = (100..=10_100).filter(|&millis| bucket.try_take(at(millis))).count();
        assert_eq!(taken, 100);
    }

    #[test]
    fn it_never_holds_more_than_its_burst() {
        let mut bucket = Bucket::new(2, 10, at(0));
        assert!((0..5).filter(|_| bucket.try_take(at(3_600_000))).count() == 2);
    }
}
