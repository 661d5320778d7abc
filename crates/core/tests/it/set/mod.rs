//! A root set keeps its order and each place once, and finds the deepest root however many there are.

mod admitting;
mod differing;
mod finding;

use mcp_roots_core::mapping::Mapping;
use mcp_roots_core::set::{Admitted, Origin, RawRoot, Root, RootSet};
use mcp_roots_core::uri::PathRules::{self, Posix};
use mcp_roots_core::uri::{RootPath, RootUri};

fn listed(uri: &str, name: Option<&str>) -> RawRoot {
    RawRoot::Listed { uri: uri.into(), name: name.map(Into::into) }
}

fn admit(uris: &[&str], rules: PathRules) -> Admitted {
    RootSet::admit(uris.iter().map(|uri| listed(uri, None)), rules, &Mapping::default(), Origin::Client, 100)
}

/// A set of these POSIX roots, none of which is rejected.
fn set(uris: &[&str]) -> RootSet {
    let admitted = admit(uris, Posix);
    assert_eq!(admitted.rejected, []);
    admitted.set
}

/// A set of roots with names.
fn named(roots: &[(&str, &str)]) -> RootSet {
    RootSet::from_roots(
        roots
            .iter()
            .map(|(uri, name)| Root::new(RootUri::parse(uri, Posix).unwrap(), Some((*name).into()), Origin::Client)),
    )
}

fn path(text: &str) -> RootPath {
    RootPath::parse(text, Posix).unwrap()
}

fn texts<'a>(roots: impl IntoIterator<Item = &'a Root>) -> Vec<&'a str> {
    roots.into_iter().map(|root| root.uri.as_str()).collect()
}
