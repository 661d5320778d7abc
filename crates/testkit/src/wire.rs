//! Messages between two halves, and a wire that carries them badly.

use std::collections::BTreeMap;
use std::time::Duration;

use mcp_roots_core::frame::RequestId;
use mcp_roots_core::set::RootSet;
use mcp_roots_core::time::Time;

/// What a client sends of roots.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ToServer {
    /// `notifications/roots/list_changed`.
    ListChanged,
    /// The answer to `roots/list`.
    Answer {
        /// The question's id.
        id: RequestId,
        /// The roots.
        roots: RootSet,
    },
}

/// What a server sends of roots.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ToClient {
    /// `roots/list`.
    ListRoots {
        /// The question's id.
        id: RequestId,
    },
}

/// How badly a wire carries. Chances are in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults {
    /// The least and the most that a message takes. Messages overtake each other where these differ.
    pub delay: (Duration, Duration),
    /// The chance that a message is lost.
    pub loss: u32,
    /// The chance that a message arrives twice.
    pub duplication: u32,
}

impl Faults {
    /// A wire without faults: everything arrives at once and in order.
    pub const NONE: Faults = Faults { delay: (Duration::ZERO, Duration::ZERO), loss: 0, duplication: 0 };
}

/// One direction of a wire.
#[derive(Clone, Debug)]
pub struct Wire<M> {
    faults: Faults,
    random: u64,
    /// By arrival, and among those that arrive together by sending.
    under_way: BTreeMap<(Time, u64), M>,
    sent: u64,
}

impl<M: Clone> Wire<M> {
    /// A wire with these faults, which strike as the seed says.
    pub fn new(faults: Faults, seed: u64) -> Self {
        Wire { faults, random: seed, under_way: BTreeMap::new(), sent: 0 }
    }

    /// From now on the wire carries everything in time.
    pub fn mend(&mut self) {
        self.faults = Faults { loss: 0, duplication: 0, ..self.faults };
    }

    /// Sends a message. What must arrive is delayed and duplicated, and never lost.
    pub fn send(&mut self, message: M, may_be_lost: bool, now: Time) {
        if may_be_lost && self.strikes(self.faults.loss) {
            return;
        }
        let copies = 1 + u64::from(self.strikes(self.faults.duplication));
        for _ in 0..copies {
            let (least, most) = self.faults.delay;
            let range = (most - least).as_micros() as u64 + 1;
            let arrival = now + least + Duration::from_micros(self.draw() % range);
            self.sent += 1;
            self.under_way.insert((arrival, self.sent), message.clone());
        }
    }

    /// When the next message arrives.
    pub fn next_arrival(&self) -> Option<Time> {
        self.under_way.first_key_value().map(|(&(arrival, _), _)| arrival)
    }

    /// The next message, if it has arrived.
    pub fn receive(&mut self, now: Time) -> Option<M> {
        self.under_way.first_entry().filter(|entry| entry.key().0 <= now).map(|entry| entry.remove())
    }

    fn strikes(&mut self, chance: u32) -> bool {
        self.draw() % 1_000 < u64::from(chance)
    }

    /// Xorshift64*: what a test needs of randomness is that it comes again.
    fn draw(&mut self) -> u64 {
        self.random |= 1;
        self.random ^= self.random >> 12;
        self.random ^= self.random << 25;
        self.random ^= self.random >> 27;
        self.random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }
}
