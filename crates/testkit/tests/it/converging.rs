//! On a wire that is bad in every way, the server's view becomes the host's set once changes stop.

use std::time::Duration;

use mcp_roots_testkit::{Faults, Pair};
use proptest::prelude::*;

use crate::version;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn b1_converges(
        seed: u64,
        loss in 0..500_u32,
        duplication in 0..500_u32,
        slowest in 0..2_000_u64,
        gaps in prop::collection::vec(0..1_500_u64, 1..20),
    ) {
        let faults = Faults { delay: (Duration::ZERO, Duration::from_millis(slowest)), loss, duplication };
        let mut pair = Pair::new(faults, seed, version(0));
        for (change, gap) in (1..).zip(&gaps) {
            pair.run(Duration::from_millis(*gap));
            pair.change(version(change));
        }
        pair.mend();
        // A deadline, the longest backoff, and the slowest wire there and back.
        pair.run(Duration::from_secs(30));
        prop_assert!(pair.step().agrees(), "{:?} against {:?}", pair.step().server.snapshot(), pair.step().host.exposed());
        prop_assert_eq!(pair.step().next_timeout(), None, "and then there is peace");
    }
}

#[test]
fn on_a_good_wire_a_change_is_seen_after_the_window_and_nothing_more() {
    let mut pair = Pair::new(Faults::NONE, 1, version(0));
    pair.run(Duration::ZERO);
    assert!(pair.step().agrees());
    pair.change(version(1));
    pair.run(Duration::from_millis(49));
    assert!(!pair.step().agrees());
    pair.run(Duration::from_millis(1));
    assert!(pair.step().agrees());
    assert_eq!(pair.step().server.status().counters.asked, 2);
}
