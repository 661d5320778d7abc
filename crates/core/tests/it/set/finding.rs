//! The deepest root that contains a path is found.

use std::collections::BTreeSet;

use mcp_roots_core::set::{Origin, Root, RootSet};
use mcp_roots_core::uri::PathRules::{Posix, Windows};
use mcp_roots_core::uri::{RootPath, RootUri};
use proptest::prelude::*;

use super::{admit, path, set};

fn found<'a>(roots: &'a RootSet, text: &str) -> Option<&'a str> {
    roots.find(&path(text)).map(|root| root.uri.as_str())
}

#[test]
fn the_deepest_match_wins_whatever_the_order() {
    for uris in [["file:///srv", "file:///srv/share/deep"], ["file:///srv/share/deep", "file:///srv"]] {
        let roots = set(&uris);
        for (asked, expected) in [
            ("/srv/share/deep/x/y", Some("file:///srv/share/deep")),
            ("/srv/share/deep", Some("file:///srv/share/deep")),
            ("/srv/share/deeper", Some("file:///srv")),
            ("/srv", Some("file:///srv")),
            ("/", None),
            ("/srv-secret/x", None),
            ("/other/much/deeper/than/any/root", None),
        ] {
            assert_eq!(found(&roots, asked), expected, "{asked}");
        }
    }
}

#[test]
fn a_sibling_that_begins_the_same_is_outside() {
    assert_eq!(found(&set(&["file:///srv/share"]), "/srv/share-secret/x"), None);
    assert_eq!(found(&set(&["file:///srv/share/"]), "/srv/share/x"), Some("file:///srv/share/"));
}

#[test]
fn the_root_of_all_contains_all() {
    assert_eq!(found(&set(&["file:///"]), "/x/y"), Some("file:///"));
    assert_eq!(found(&set(&["file:///"]), "/"), Some("file:///"));
}

#[test]
fn drives_and_shares_are_roots_of_their_own_whatever_the_case() {
    let roots = admit(&["file:///C:/", r"\\nas\team", "file:///c%3A/Work"], Windows).set;
    let found = |text| roots.find(&RootPath::parse(text, Windows).unwrap()).map(|root| root.uri.as_str());
    assert_eq!(found(r"c:\WORK\x"), Some("file:///c%3A/Work"));
    assert_eq!(found(r"C:\workshop"), Some("file:///C:/"));
    assert_eq!(found(r"D:\work"), None);
    assert_eq!(found(r"\\NAS\Team\x"), Some(r"\\nas\team"));
    assert_eq!(found(r"\\nas\other"), None);
    assert_eq!(roots.find(&path("/C:/work")), None, "a path of other rules is under none");
    assert_eq!(set(&["file:///"]).find(&RootPath::parse(r"\\nas\team", Windows).unwrap()), None);
}

#[test]
fn the_other_reading_of_a_bare_path_counts_until_a_root_has_that_path() {
    let roots = set(&["/p/a%20b", "file:///p"]);
    assert_eq!(found(&roots, "/p/a%20b/x"), Some("/p/a%20b"));
    assert_eq!(found(&roots, "/p/a b/x"), Some("/p/a%20b"));
    assert!(roots.contains_place(&path("/p/a%20b")));
    assert!(!roots.contains_place(&path("/p/a b")), "it is at its own path alone");
    for uris in [["/p/a%20b", "file:///p/a%20b"], ["file:///p/a%20b", "/p/a%20b"]] {
        let roots = set(&uris);
        assert_eq!(roots.len(), 2);
        assert_eq!(found(&roots, "/p/a b/x"), Some("file:///p/a%20b"));
        assert_eq!(found(&roots, "/p/a%20b/x"), Some("/p/a%20b"));
    }
}

#[test]
fn of_two_roots_with_the_same_other_reading_the_first_is_found() {
    let roots = set(&["/p/a%20b", "/%70/a%20b"]);
    assert_eq!(found(&roots, "/p/a b/x"), Some("/p/a%20b"));
    assert_eq!(found(&roots, "/%70/a%20b"), Some("/%70/a%20b"));
}

#[test]
fn which_reading_of_a_uri_contains_a_path() {
    let bare = RootUri::parse("/p/a%20b", Posix).unwrap();
    assert_eq!(bare.reading_above(&path("/p/a%20b/x")), Some(bare.path()));
    assert_eq!(bare.reading_above(&path("/p/a b/x")), bare.alternative());
    assert_eq!(bare.reading_above(&path("/p/a")), None);
}

#[test]
fn roots_and_paths_of_any_depth_are_found() {
    let deep = "/a".repeat(30_000);
    let roots = set(&[&format!("file://{deep}"), "file:///a"]);
    assert_eq!(roots.find(&path(&format!("{deep}/a/a"))), roots.iter().next());
    assert_eq!(roots.find(&path("/a/a/b")), roots.iter().nth(1));
}

fn some_path() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(vec!["a", "b", "A", "ab", "a%61", "%61"]), 0..5)
        .prop_map(|names| format!("/{}", names.join("/")))
}

proptest! {
    #[test]
    fn the_root_found_is_the_one_that_looking_at_all_of_them_finds(
        uris in proptest::collection::vec((some_path(), any::<bool>()), 0..12),
        asked in proptest::collection::vec(some_path(), 1..8),
        windows in any::<bool>(),
    ) {
        let (rules, drive) = if windows { (Windows, "C:") } else { (Posix, "") };
        let texts = uris.iter().map(|(path, bare)| match bare {
            true => format!("{drive}{path}"),
            false => format!("file:///{drive}{path}"),
        });
        let uris = texts.map(|text| RootUri::parse(&text, rules).unwrap());
        let roots = RootSet::from_roots(uris.map(|uri| Root::new(uri, None, Origin::Client)));
        let places: BTreeSet<String> = roots.iter().map(|root| format!("{:?}", root.uri.path())).collect();
        prop_assert!(places.len() == roots.len());
        for asked in asked {
            let asked = RootPath::parse(&format!("{drive}{asked}"), rules).unwrap();
            let own = roots.iter().map(|root| (root.uri.path(), 1, root));
            let other = roots.iter().rev().filter_map(|root| Some((root.uri.alternative()?, 0, root)));
            // The deepest; at one depth, who is there by its own path; of the others, the first.
            let expected = other
                .chain(own)
                .filter(|(path, ..)| asked.starts_with(path))
                .max_by_key(|(path, own, _)| (path.components().count(), *own));
            prop_assert_eq!(roots.find(&asked), expected.map(|(.., root)| root));
            prop_assert_eq!(roots.at(&asked), roots.iter().find(|root| *root.uri.path() == asked));
            prop_assert_eq!(roots.contains_place(&asked), roots.at(&asked).is_some());
        }
    }
}
