//! Time as the halves see it: a value that comes in with each call.
//!
//! No half reads a clock. A shell measures from an origin of its own choice and passes the distance in, so
//! a test can run an hour in a microsecond and a model checker can compare two states.

use std::ops::Add;
use std::time::Duration;

/// A moment, as the distance from an origin that the shell chose. Two moments compare only within one half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(Duration);

impl Time {
    /// The origin.
    pub const ZERO: Time = Time(Duration::ZERO);

    /// The moment `since_origin` after the origin.
    pub const fn from_origin(since_origin: Duration) -> Self {
        Time(since_origin)
    }

    /// How long after the origin this is.
    pub const fn since_origin(self) -> Duration {
        self.0
    }

    /// How long after `earlier` this is; zero if it is not after it.
    pub fn since(self, earlier: Time) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// Saturates at the end of time, so that "never" can be written as a very long wait.
impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, wait: Duration) -> Time {
        Time(self.0.saturating_add(wait))
    }
}
