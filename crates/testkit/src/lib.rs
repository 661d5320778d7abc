//! Both halves in one thread, in virtual time, on a wire that delays, loses, reorders and duplicates by seed.
//!
//! It is a third shell around the halves, and does no I/O either: a test decides when time passes. What it
//! shows of a half holds for every shell.

mod pair;
mod wire;

pub use pair::{Pair, Sent, Step};
pub use wire::{Faults, ToClient, ToServer, Wire};
