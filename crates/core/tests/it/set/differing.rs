//! A diff says what was added, removed, renamed and reordered, by place.

use mcp_roots_core::set::{Origin, Root, RootSet};
use mcp_roots_core::uri::PathRules::{Posix, Windows};
use mcp_roots_core::uri::RootUri;
use proptest::prelude::*;

use super::{admit, named, set, texts};

#[test]
fn what_is_added_and_removed_is_told_in_order() {
    let diff = set(&["file:///a", "file:///b", "file:///c"]).diff(&set(&["file:///x", "file:///b", "file:///y"]));
    assert_eq!(texts(&diff.added), ["file:///x", "file:///y"]);
    assert_eq!(texts(&diff.removed), ["file:///a", "file:///c"]);
    assert!(diff.renamed.is_empty() && !diff.reordered && !diff.is_empty());
}

#[test]
fn a_new_name_is_a_renaming_and_no_change_of_members() {
    let (old, new) =
        (named(&[("file:///a", "A"), ("file:///b", "B")]), named(&[("file:///a", "a"), ("file:///b", "B")]));
    let diff = old.diff(&new);
    assert!(diff.added.is_empty() && diff.removed.is_empty() && !diff.reordered && !diff.is_empty());
    let [renamed] = &diff.renamed[..] else { panic!("{diff:?}") };
    assert_eq!((&renamed.old, &renamed.new), (old.first().unwrap(), new.first().unwrap()));
    assert_eq!(set(&["file:///a"]).diff(&named(&[("file:///a", "A")])).renamed.len(), 1);
}

#[test]
fn another_order_of_what_stayed_is_a_change_and_a_gap_is_none() {
    let old = set(&["file:///a", "file:///b", "file:///c"]);
    let reordered = |uris: &[&str]| old.diff(&set(uris)).reordered;
    assert!(reordered(&["file:///b", "file:///a", "file:///c"]));
    assert!(reordered(&["file:///c", "file:///new", "file:///a"]));
    assert!(!reordered(&["file:///new", "file:///a", "file:///c"]));
    assert!(!reordered(&["file:///c"]));
    assert!(!reordered(&[]));
}

#[test]
fn the_same_place_written_otherwise_is_no_change() {
    assert!(set(&["file:///a/b"]).diff(&set(&["/a/b/"])).is_empty());
    let windows = |uri| admit(&[uri], Windows).set;
    assert!(windows("file:///c%3A/Temp").diff(&windows("file:///C:/temp")).is_empty());
    assert!(!set(&["file:///A"]).diff(&set(&["file:///a"])).is_empty());
}

fn numbered() -> impl Strategy<Value = RootSet> {
    proptest::collection::vec((0..8_u8, 0..2_u8), 0..8).prop_map(|roots| {
        RootSet::from_roots(roots.into_iter().map(|(place, name)| {
            let uri = RootUri::parse(&format!("file:///{place}"), Posix).unwrap();
            Root::new(uri, Some(name.to_string().into()), Origin::Client)
        }))
    })
}

proptest! {
    #[test]
    fn a_diff_leads_from_one_set_to_the_other(old in numbered(), new in numbered()) {
        let diff = old.diff(&new);
        let only = |one: &RootSet, other: &RootSet| -> Vec<Root> {
            one.iter().filter(|root| !other.contains_place(root.uri.path())).cloned().collect()
        };
        prop_assert_eq!(&diff.added, &only(&new, &old));
        prop_assert_eq!(&diff.removed, &only(&old, &new));
        let stayed = |one: &RootSet, other: &RootSet| -> Vec<Root> {
            one.iter().filter(|root| other.contains_place(root.uri.path())).cloned().collect()
        };
        let (was, is) = (stayed(&old, &new), stayed(&new, &old));
        let places = |roots: &[Root]| roots.iter().map(|root| root.uri.to_string()).collect::<Vec<_>>();
        prop_assert_eq!(diff.reordered, places(&was) != places(&is));
        let expected = is.iter().filter_map(|new| Some((old.at(new.uri.path())?, new))).filter(|(a, b)| a.name != b.name);
        prop_assert!(diff.renamed.iter().map(|renamed| (&renamed.old, &renamed.new)).eq(expected));
        prop_assert_eq!(diff.is_empty(), old == new);
    }
}
