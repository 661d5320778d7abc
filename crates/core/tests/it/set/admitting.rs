//! One bad entry of a list loses itself, with its reason, and never the list.

use std::collections::HashSet;

use mcp_roots_core::mapping::Mapping;
use mcp_roots_core::set::{Origin, RawRoot, RejectReason, Rejected, Root, RootSet};
use mcp_roots_core::uri::PathRules::{Posix, Windows};
use mcp_roots_core::uri::{Refusal, RootUri};

use super::{admit, listed, named, path, set, texts};

fn shown(rejected: &[Rejected]) -> Vec<&str> {
    rejected.iter().map(|rejected| rejected.shown.as_str()).collect()
}

#[test]
fn an_empty_list_is_an_empty_set_and_no_error() {
    let admitted = admit(&[], Posix);
    assert!(admitted.set.is_empty() && admitted.rejected.is_empty());
    assert_eq!(admitted.set, RootSet::default());
    assert_eq!(admitted.set.first(), None);
    assert_eq!(admitted.set.find(&path("/")), None);
}

#[test]
fn the_good_entries_keep_their_order_and_names_around_the_bad_ones() {
    let raw = [
        listed("file:///b", Some("B")),
        listed("file://home/u/proj", None),
        RawRoot::Malformed { shown: "[1]".into(), reason: "it is an array".into() },
        listed("file:///a", None),
        listed("", None),
    ];
    let admitted = RootSet::admit(raw, Posix, &Mapping::default(), Origin::Client, 100);
    assert_eq!(texts(&admitted.set), ["file:///b", "file:///a"]);
    let first = admitted.set.first().unwrap();
    assert_eq!((first.name.as_deref(), first.origin, &first.within), (Some("B"), Origin::Client, &None));
    assert_eq!(shown(&admitted.rejected), ["file://home/u/proj", "[1]", ""]);
    assert_eq!(admitted.rejected[0].reason, RejectReason::Refused(Refusal::Host { host: "home".into() }));
    assert_eq!(admitted.rejected[1].reason, RejectReason::Malformed("it is an array".into()));
    assert_eq!(admitted.rejected[2].reason, RejectReason::Refused(Refusal::Empty));
}

#[test]
fn the_second_root_at_a_place_is_rejected_however_it_is_written() {
    let admitted = admit(&["file:///a/b", "file:///a/b/", "/a/b", "file:///A/b", "file:///a/%62"], Posix);
    assert_eq!(texts(&admitted.set), ["file:///a/b", "file:///A/b"]);
    assert_eq!(shown(&admitted.rejected), ["file:///a/b/", "/a/b", "file:///a/%62"]);
    let of = RootUri::parse("file:///a/b", Posix).unwrap();
    assert!(admitted.rejected.iter().all(|rejected| rejected.reason == RejectReason::Duplicate { of: of.clone() }));
    assert!(admitted.rejected[0].reason.to_string().contains("file:///a/b"));

    let admitted = admit(&["file:///c%3A/Temp", "file:///C:/temp", r"c:\TEMP\"], Windows);
    assert_eq!(texts(&admitted.set), ["file:///c%3A/Temp"]);
    assert_eq!(admitted.rejected.len(), 2);
}

#[test]
fn what_is_over_the_limit_is_rejected_and_the_rest_stands() {
    let raw = ["file:///a", "file:///a/", "file:///b", "file:///c", "file:///a"].map(|uri| listed(uri, None));
    let admitted = RootSet::admit(raw, Posix, &Mapping::default(), Origin::Client, 2);
    assert_eq!(texts(&admitted.set), ["file:///a", "file:///b"]);
    assert_eq!(shown(&admitted.rejected), ["file:///a/", "file:///c", "file:///a"]);
    assert_eq!(admitted.rejected[1].reason, RejectReason::OverLimit { limit: 2 });
    assert!(admitted.rejected[1].reason.to_string().contains("more than 2"));
}

#[test]
fn a_hundred_rejections_are_kept_and_the_rest_is_counted() {
    let raw = (0..1_000).map(|number| listed(&format!("https://{number}"), None));
    let rejected = RootSet::admit(raw, Posix, &Mapping::default(), Origin::Client, 10).rejected;
    assert_eq!(rejected.len(), 101);
    assert_eq!(rejected[99].shown, "https://99");
    assert_eq!(rejected[100].reason, RejectReason::More { count: 900 });
}

#[test]
fn a_rejected_entry_is_shown_short_and_cannot_write_to_a_terminal() {
    let names = r#"C:\it's "mine" é e"#.to_string() + "\u{301}";
    let long = "x".repeat(100_000);
    let escapes = "\x1b[2J\n\u{202e}".to_string();
    let rejected = admit(&[&names, &long, &escapes], Posix).rejected;
    assert_eq!(rejected[0].shown, names);
    assert_eq!(rejected[1].shown, "x".repeat(200) + "...");
    assert_eq!(rejected[2].shown, r"\u{1b}[2J\n\u{202e}");

    let duplicate = format!("file:///{}", "\x1b".repeat(1_000));
    let admitted = admit(&[&duplicate, &duplicate], Posix);
    assert_eq!(admitted.set.iter().next().unwrap().uri.as_str(), duplicate, "the text of a root is kept");
    let reason = admitted.rejected[0].reason.to_string();
    assert!(!reason.contains('\x1b') && reason.len() < 4_000, "{reason:?}");
    assert!(!RejectReason::Malformed("\x1b".into()).to_string().contains('\x1b'));
}

#[test]
fn of_two_roots_at_one_place_the_first_stands() {
    let roots = named(&[("file:///a", "first"), ("file:///b", "b"), ("file:///a/", "second")]);
    assert_eq!(roots.len(), 2);
    assert_eq!(roots.first().unwrap().name.as_deref(), Some("first"));
}

#[test]
fn two_sets_are_equal_if_they_are_the_same_to_the_letter() {
    let one = named(&[("file:///a", "A"), ("file:///b", "B")]);
    let operators = |root: &Root| Root::new(root.uri.clone(), root.name.clone(), Origin::Operator);
    let different = [
        named(&[("file:///b", "B"), ("file:///a", "A")]),
        named(&[("file:///a", "A"), ("file:///b", "b")]),
        named(&[("file:///a/", "A"), ("file:///b", "B")]),
        named(&[("file:///a", "A")]),
        RootSet::from_roots(one.iter().map(operators)),
    ];
    let same = named(&[("file:///a", "A"), ("file:///b", "B")]);
    assert_eq!(one, same);
    assert_eq!(HashSet::from([one.clone(), same, one.clone()]).len(), 1);
    for other in different {
        assert_ne!(one, other);
        assert_ne!(format!("{one:?}"), format!("{other:?}"), "what differs shows");
    }
}

#[test]
fn sets_share_what_they_hold() {
    let one = set(&["file:///a"]);
    let first: *const Root = one.first().unwrap();
    assert_eq!(one.clone().first().unwrap() as *const Root, first);
}
