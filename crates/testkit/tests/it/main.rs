//! What holds of both halves together.

mod converging;
mod model;
mod reaching;

use mcp_roots_core::set::{Origin, Root, RootSet};
use mcp_roots_core::uri::{PathRules, RootPath, RootUri};

/// A set of one root, which says the how-manieth it is.
fn version(number: u32) -> RootSet {
    let path = RootPath::parse(&format!("/v{number}"), PathRules::Posix).expect("a path");
    RootSet::from_roots([Root::new(RootUri::from_path(&path), None, Origin::Client)])
}
