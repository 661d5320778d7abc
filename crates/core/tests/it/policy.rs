//! Operator directories and client roots combine as the policy says, afresh each time.

use mcp_roots_core::policy::{ClientRoots, Combined, Policy};
use mcp_roots_core::set::{Origin, RejectReason, Root, RootSet};
use mcp_roots_core::uri::PathRules::Posix;
use mcp_roots_core::uri::{RootPath, RootUri};
use proptest::prelude::*;

const ALL: [Policy; 4] = [Policy::Replace, Policy::Merge, Policy::Narrow, Policy::Pin];

fn roots<T: AsRef<str>>(uris: &[T], origin: Origin) -> RootSet {
    RootSet::from_roots(uris.iter().map(|uri| Root::new(RootUri::parse(uri.as_ref(), Posix).unwrap(), None, origin)))
}

fn operator<T: AsRef<str>>(uris: &[T]) -> RootSet {
    roots(uris, Origin::Operator)
}

fn client<T: AsRef<str>>(uris: &[T]) -> RootSet {
    roots(uris, Origin::Client)
}

fn path(text: &str) -> RootPath {
    RootPath::parse(text, Posix).unwrap()
}

fn texts(combined: &Combined) -> Vec<&str> {
    combined.set.iter().map(|root| root.uri.as_str()).collect()
}

fn dropped(combined: &Combined) -> Vec<&str> {
    combined.dropped.iter().map(|rejected| rejected.shown.as_str()).collect()
}

fn narrow(operator_uris: &[&str], client_uris: &[&str]) -> Combined {
    Policy::Narrow.combine(&operator(operator_uris), ClientRoots::Set(&client(client_uris)))
}

#[test]
fn before_the_client_has_answered_only_what_it_cannot_take_away_is_in_force() {
    let operator = operator(&["file:///op"]);
    for (policy, expected) in ALL.into_iter().zip([&[][..], &["file:///op"], &[], &["file:///op"]]) {
        assert_eq!(texts(&policy.combine(&operator, ClientRoots::NotYet)), expected, "{policy}");
    }
}

#[test]
fn a_client_without_roots_leaves_the_operators_directories() {
    let operator = operator(&["file:///op"]);
    for policy in ALL {
        let combined = policy.combine(&operator, ClientRoots::None);
        assert_eq!(combined.set, operator, "{policy}");
        assert_eq!(combined.dropped, []);
    }
}

#[test]
fn a_client_with_an_empty_list_is_taken_at_its_word() {
    let (operator, empty) = (operator(&["file:///op"]), RootSet::default());
    for (policy, expected) in ALL.into_iter().zip([&[][..], &["file:///op"], &[], &["file:///op"]]) {
        assert_eq!(texts(&policy.combine(&operator, ClientRoots::Set(&empty))), expected, "{policy}");
    }
}

#[test]
fn replace_takes_the_clients_roots_and_pin_the_operators() {
    let (operator, client) = (operator(&["file:///op"]), client(&["file:///a", "file:///b"]));
    assert_eq!(Policy::Replace.combine(&operator, ClientRoots::Set(&client)).set, client);
    assert_eq!(Policy::Pin.combine(&operator, ClientRoots::Set(&client)).set, operator);
}

#[test]
fn merge_puts_the_operators_first_and_a_shared_place_is_theirs() {
    let (operator, client) = (operator(&["file:///op", "file:///both"]), client(&["file:///both/", "file:///a"]));
    let combined = Policy::Merge.combine(&operator, ClientRoots::Set(&client));
    assert_eq!(texts(&combined), ["file:///op", "file:///both", "file:///a"]);
    let origins: Vec<Origin> = combined.set.iter().map(|root| root.origin).collect();
    assert_eq!(origins, [Origin::Operator, Origin::Operator, Origin::Client]);
}

#[test]
fn a_root_that_leaves_the_clients_list_leaves_what_is_in_force() {
    let operator = operator(&["file:///op"]);
    for policy in ALL {
        let wide = client(&["file:///op/a", "file:///op/b"]);
        let before = policy.combine(&operator, ClientRoots::Set(&wide));
        let after = policy.combine(&operator, ClientRoots::Set(&client(&["file:///op/a"])));
        assert!(!after.set.contains_place(&path("/op/b")), "{policy}");
        assert_eq!(policy.combine(&operator, ClientRoots::Set(&wide)), before, "{policy}");
    }
}

#[test]
fn narrow_keeps_a_clients_root_inside_an_operators_directory_and_confines_it_there() {
    let combined = narrow(&["file:///op", "file:///op/deep"], &["file:///op/x", "file:///op/deep/y", "file:///op"]);
    assert_eq!(texts(&combined), ["file:///op/x", "file:///op/deep/y", "file:///op"]);
    let within: Vec<_> = combined.set.iter().map(|root| root.within.clone().unwrap()).collect();
    assert_eq!(within, [path("/op"), path("/op/deep"), path("/op")]);
    assert!(combined.set.iter().all(|root| root.origin == Origin::Client));
    assert_eq!(combined.dropped, []);
}

#[test]
fn narrow_keeps_the_operators_directories_inside_a_clients_root() {
    let combined = narrow(&["file:///home/u/b", "file:///home/u/a", "file:///srv"], &["file:///x", "file:///home"]);
    assert_eq!(texts(&combined), ["file:///home/u/b", "file:///home/u/a"]);
    assert!(combined.set.iter().all(|root| root.origin == Origin::Operator && root.within.is_none()));
    assert_eq!(dropped(&combined), ["file:///x"]);
    assert_eq!(combined.dropped[0].reason, RejectReason::NotAllowed);
}

#[test]
fn narrow_follows_the_clients_order() {
    let combined = narrow(&["file:///op", "file:///srv/x"], &["file:///srv", "file:///op/b", "file:///op/a"]);
    assert_eq!(texts(&combined), ["file:///srv/x", "file:///op/b", "file:///op/a"]);
}

#[test]
fn narrow_drops_a_neighbour_that_begins_the_same() {
    assert_eq!(dropped(&narrow(&["file:///srv/share"], &["file:///srv/share-secret"])), ["file:///srv/share-secret"]);
}

#[test]
fn narrow_keeps_of_a_bare_path_the_readings_that_the_operator_allows() {
    let both = narrow(&["file:///op"], &["/op/a%20b"]);
    let uri = &both.set.first().unwrap().uri;
    assert_eq!((uri.path(), uri.alternative()), (&path("/op/a%20b"), Some(&path("/op/a b"))));

    // The directory is called `a b`, and so the client meant that.
    let decoded = narrow(&["file:///op/a%20b"], &["/op/a%20b/x"]);
    let root = decoded.set.first().unwrap();
    assert_eq!((root.uri.as_str(), root.uri.path(), root.uri.alternative()), ("/op/a%20b/x", &path("/op/a b/x"), None));
    assert_eq!(root.within, Some(path("/op/a b")));

    // The directory is called `a%20b`; `a b` is outside.
    let literal = narrow(&["file:///op/a%2520b"], &["/op/a%20b/x"]);
    let root = literal.set.first().unwrap();
    assert_eq!((root.uri.path(), root.uri.alternative()), (&path("/op/a%20b/x"), None));
    assert_eq!(root.within, Some(path("/op/a%20b")));
    assert_eq!(literal.set.find(&path("/op/a b/x")), None);
}

#[test]
fn narrow_reads_an_operators_bare_path_both_ways() {
    let combined = narrow(&["/op/a%20b"], &["file:///op/a%20b/x", "file:///op/a%2520b/y"]);
    let within: Vec<_> = combined.set.iter().map(|root| root.within.clone().unwrap()).collect();
    assert_eq!(within, [path("/op/a b"), path("/op/a%20b")]);

    // Inside a client's root stands only the reading that is inside it.
    for (client, reading) in [("file:///op/a%20b", "/op/a b/x"), ("file:///op/a%2520b", "/op/a%20b/x")] {
        let combined = narrow(&["/op/a%20b/x"], &[client]);
        let uri = &combined.set.first().unwrap().uri;
        assert_eq!((uri.path(), uri.alternative()), (&path(reading), None));
    }
}

#[test]
fn narrow_keeps_a_hundred_of_what_it_dropped_and_counts_the_rest() {
    let uris: Vec<String> = (0..150).map(|number| format!("file:///x/{number}")).collect();
    let combined = Policy::Narrow.combine(&operator(&["file:///op"]), ClientRoots::Set(&client(&uris)));
    assert_eq!(combined.dropped.len(), 101);
    assert_eq!(combined.dropped[100].reason, RejectReason::More { count: 50 });
}

#[test]
fn a_policy_is_named_in_lower_case_and_an_error_lists_the_choices() {
    for (policy, name) in ALL.into_iter().zip(["replace", "merge", "narrow", "pin"]) {
        assert_eq!(policy.to_string(), name);
        assert_eq!(name.parse(), Ok(policy));
        let error = format!("{name}s").parse::<Policy>().unwrap_err().to_string();
        assert!(["replace", "merge", "narrow", "pin"].iter().all(|choice| error.contains(choice)), "{error}");
    }
    assert!("Merge".parse::<Policy>().is_err());
}

fn some_uris() -> impl Strategy<Value = Vec<String>> {
    let path = proptest::collection::vec(proptest::sample::select(vec!["a", "b", "%61", "%2561"]), 0..4);
    let uri = (path, any::<bool>()).prop_map(|(names, bare)| {
        let path = format!("/{}", names.join("/"));
        if bare { path } else { format!("file://{path}") }
    });
    proptest::collection::vec(uri, 0..6)
}

/// The places that the readings of a set's roots are.
fn readings(roots: &RootSet) -> Vec<&RootPath> {
    roots.iter().flat_map(|root| [Some(root.uri.path()), root.uri.alternative()]).flatten().collect()
}

proptest! {
    #[test]
    fn narrow_is_never_wider_than_either_list(operator_uris in some_uris(), client_uris in some_uris()) {
        let (operator, client) = (operator(&operator_uris), client(&client_uris));
        let combined = Policy::Narrow.combine(&operator, ClientRoots::Set(&client));
        for root in &combined.set {
            for reading in [Some(root.uri.path()), root.uri.alternative()].into_iter().flatten() {
                for list in [&operator, &client] {
                    prop_assert!(readings(list).iter().any(|wider| reading.starts_with(wider)), "{:?}", root);
                }
                prop_assert!(root.within.as_ref().is_none_or(|within| reading.starts_with(within)));
            }
            prop_assert_eq!(root.within.is_some(), root.origin == Origin::Client);
        }
        // Whatever is in both lists by its own path is still there.
        for root in &client {
            let inside = operator.iter().any(|allowed| root.uri.path().starts_with(allowed.uri.path()));
            prop_assert!(!inside || combined.set.contains_place(root.uri.path()));
        }
        for allowed in &operator {
            let mut clear = client.iter().filter(|root| root.uri.alternative().is_none());
            let inside = clear.any(|root| allowed.uri.path().starts_with(root.uri.path()));
            prop_assert!(!inside || combined.set.find(allowed.uri.path()).is_some());
        }
    }
}
