//! A root's URI keeps its text and means one path, or is refused with a reason; nothing is repaired silently.

mod clients;
mod generated;
mod paths;
mod refused;

use mcp_roots_core::uri::PathRules::{self, Posix, Windows};
use mcp_roots_core::uri::{Refusal, RootPath, RootUri};

const BOTH: [PathRules; 2] = [Posix, Windows];

fn path(text: &str, rules: PathRules) -> RootPath {
    RootPath::parse(text, rules).unwrap_or_else(|refusal| panic!("{text}: {refusal}"))
}

fn uri(text: &str, rules: PathRules) -> RootUri {
    RootUri::parse(text, rules).unwrap_or_else(|refusal| panic!("{text}: {refusal}"))
}

fn refusal(text: &str, rules: PathRules) -> Refusal {
    match RootUri::parse(text, rules) {
        Ok(uri) => panic!("{text} was taken as {}", uri.path()),
        Err(refusal) => refusal,
    }
}

/// An absolute path of these rules that ends in `tail`.
fn below_root(tail: &str, rules: PathRules) -> String {
    match rules {
        Posix => format!("/{tail}"),
        Windows => format!("C:/{tail}"),
    }
}
