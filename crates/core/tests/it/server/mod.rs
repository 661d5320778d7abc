//! The invariants of the server half, each a test of its name, in virtual time.

mod asking;
pub(crate) mod bench;
mod fence;
mod reaching;
mod reconciling;
mod states;
