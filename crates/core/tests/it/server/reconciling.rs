//! What ends when a root leaves, and in which order that is seen.

use std::sync::Arc;

use mcp_roots_core::frame::{ClientFrame, RootsCapability, ServerFrame, Verdict};
use mcp_roots_core::policy::Policy;
use mcp_roots_core::server_half::{Action, ServerConfig};

use super::bench::{Bench, config, error, listed, number, operator};

fn updated(uri: &str) -> Action {
    Action::ResourceUpdated(Arc::from(uri))
}

#[test]
fn s10_revokes_first() {
    let mut bench = Bench::settled(config(), &["file:///a", "file:///b"]);
    let gone = bench.leases("/a/deep/file").unwrap();
    let stays = bench.leases("/b").unwrap();
    bench.subscribes("file:///a/x");
    bench.subscribes("file:///b/x");
    bench.announced();
    let wait = bench.waits();
    bench.answers(&bench.question(), listed(&["file:///b"]));

    let revoked = bench.place(|action| *action == Action::Revoke(gone));
    let ended = bench.place(|action| *action == updated("file:///a/x"));
    let told = bench.place(|action| *action == Action::ResourceListChanged);
    let shows_new = |action: &Action| matches!(action, Action::Publish(snapshot) if snapshot.roots.len() == 1);
    let shown = bench.place(shows_new);
    let released = bench.place(|action| matches!(action, Action::Release(released, _) if *released == wait));
    assert!(revoked < shown && ended < shown && told < shown && shown < released);

    assert!(!bench.done.contains(&Action::Revoke(stays)));
    assert!(!bench.done.contains(&updated("file:///b/x")));
    let status = bench.half.status();
    assert_eq!((status.leases, status.subscriptions), (1, 1));
    assert!(bench.leases("/a/deep/file").is_none(), "nothing new is let in");
}

#[test]
fn the_last_update_of_a_subscription_whose_root_left_is_followed_by_silence() {
    let mut bench = Bench::settled(config(), &["file:///a", "file:///b"]);
    bench.subscribes("file:///a/x");
    let update = ServerFrame::ResourceUpdated { uri: "file:///a/x" };
    assert_eq!(bench.sends(update.clone()), Verdict::Pass);
    bench.changes_to(&["file:///b"]);
    assert_eq!(bench.done.iter().filter(|action| **action == updated("file:///a/x")).count(), 1);
    assert_eq!(bench.sends(update.clone()), Verdict::Swallow);
    assert_eq!(bench.half.status().counters.updates_held, 1);

    bench.changes_to(&["file:///a", "file:///b"]);
    assert_eq!(bench.sends(update.clone()), Verdict::Swallow, "a root that comes back does not bring it back");
    bench.subscribes("file:///a/x");
    assert_eq!(bench.sends(update), Verdict::Pass);
}

#[test]
fn a_subscription_whose_root_leaves_before_the_server_agrees_ends_when_it_does() {
    let mut bench = Bench::settled(config(), &["file:///a"]);
    let id = number(7);
    bench.reads(ClientFrame::Subscribe { id: &id, uri: "file:///a/x" });
    bench.changes_to(&[]);
    assert!(!bench.done.contains(&updated("file:///a/x")));
    bench.sends(ServerFrame::Reply { id: &id, error: None });
    assert!(bench.done.contains(&updated("file:///a/x")));
    assert_eq!(bench.sends(ServerFrame::ResourceUpdated { uri: "file:///a/x" }), Verdict::Swallow);
}

#[test]
fn a_subscription_requested_before_the_first_answer_ends_like_any_other() {
    let mut bench = Bench::announcing(config());
    let id = number(7);
    bench.reads(ClientFrame::Subscribe { id: &id, uri: "file:///a/x" });
    bench.answers(&bench.question(), listed(&["file:///a"]));
    bench.sends(ServerFrame::Reply { id: &id, error: None });
    assert!(!bench.done.contains(&updated("file:///a/x")));
    bench.changes_to(&[]);
    assert!(bench.done.contains(&updated("file:///a/x")));
}

#[test]
fn subscriptions_that_no_root_covers_are_none_of_our_business() {
    let mut bench = Bench::settled(config(), &["file:///a"]);
    for uri in ["db://rows/1", "file:///elsewhere/x"] {
        bench.subscribes(uri);
    }
    bench.changes_to(&[]);
    for uri in ["db://rows/1", "file:///elsewhere/x", "file:///never/subscribed"] {
        assert_eq!(bench.sends(ServerFrame::ResourceUpdated { uri }), Verdict::Pass, "{uri}");
    }
}

#[test]
fn a_refused_or_cancelled_subscription_is_forgotten() {
    let mut bench = Bench::settled(config(), &["file:///a"]);
    let id = number(7);
    bench.reads(ClientFrame::Subscribe { id: &id, uri: "file:///a/x" });
    bench.sends(ServerFrame::Reply { id: &id, error: Some(-32602) });
    bench.subscribes("file:///a/y");
    bench.reads(ClientFrame::Unsubscribe { uri: "file:///a/y" });
    assert_eq!(bench.half.status().subscriptions, 0);
    bench.changes_to(&[]);
    assert!(!bench.done.iter().any(|action| matches!(action, Action::ResourceUpdated(_))));
}

#[test]
fn work_goes_on_while_any_root_covers_it() {
    let mut bench = Bench::settled(config(), &["file:///a", "file:///a/b"]);
    let lease = bench.leases("/a/b/file").unwrap();
    bench.subscribes("file:///a/b/file");
    bench.changes_to(&["file:///a"]);
    assert!(!bench.done.contains(&Action::Revoke(lease)));
    assert!(!bench.done.contains(&updated("file:///a/b/file")));
    bench.changes_to(&["file:///c"]);
    assert!(bench.done.contains(&Action::Revoke(lease)));
    assert!(bench.done.contains(&updated("file:///a/b/file")));
}

#[test]
fn a_removed_root_goes_whatever_the_policy_and_the_operators_stay() {
    let operator = operator(&["/srv"]);
    let mut bench =
        Bench::settled(ServerConfig { policy: Policy::Merge, operator, ..config() }, &["file:///a", "file:///b"]);
    assert_eq!(bench.roots(), ["file:///srv", "file:///a", "file:///b"]);
    for expected in [vec!["file:///srv", "file:///b"], vec!["file:///srv"]] {
        bench.changes_to(&expected[1..]);
        assert_eq!(bench.roots(), expected);
    }
}

#[test]
fn a_client_that_turns_out_to_have_no_roots_loses_those_it_had() {
    let mut bench = Bench::settled(config(), &["file:///a"]);
    let lease = bench.leases("/a").unwrap();
    bench.announced();
    bench.answers(&bench.question(), error(-32601, "Method not found"));
    assert!(bench.roots().is_empty());
    assert!(bench.done.contains(&Action::Revoke(lease)));
}

#[test]
fn a_returned_lease_is_not_revoked() {
    let mut bench = Bench::settled(config(), &["file:///a"]);
    let lease = bench.leases("/a").unwrap();
    bench.half.return_lease(lease);
    bench.changes_to(&[]);
    assert!(!bench.done.contains(&Action::Revoke(lease)));
}

#[test]
fn resource_list_changed_goes_out_only_if_declared_and_only_if_the_roots_in_force_changed() {
    let changed = |bench: &Bench| bench.done.iter().filter(|action| **action == Action::ResourceListChanged).count();
    let mut bench = Bench::settled(config(), &["file:///a"]);
    assert_eq!(changed(&bench), 0, "nobody has been shown a list before the first answer");
    bench.changes_to(&["file:///a"]);
    assert_eq!(changed(&bench), 0);
    bench.changes_to(&["file:///b"]);
    assert_eq!(changed(&bench), 1);

    let mut undeclared = Bench::connected(config());
    undeclared.reads(ClientFrame::Initialize { roots: Some(RootsCapability { list_changed: true }) });
    undeclared.sends(ServerFrame::InitializeResult { resources_list_changed: false });
    undeclared.reads(ClientFrame::Initialized);
    undeclared.answers(&undeclared.question(), listed(&["file:///a"]));
    undeclared.changes_to(&[]);
    assert_eq!(changed(&undeclared), 0);
}

#[test]
fn resource_list_changed_goes_out_when_a_client_that_had_no_roots_comes_to_have_some() {
    let changed = |bench: &Bench| bench.done.iter().filter(|action| **action == Action::ResourceListChanged).count();
    let mut bench = Bench::announcing(ServerConfig { operator: operator(&["/srv"]), ..config() });
    bench.answers(&bench.question(), error(-32601, "Method not found"));
    assert_eq!((bench.roots(), changed(&bench)), (vec!["file:///srv".into()], 0));
    bench.changes_to(&["file:///a"]);
    assert_eq!((bench.roots(), changed(&bench)), (vec!["file:///a".into()], 1));
}

#[test]
fn b3_bounded_subscriptions() {
    let mut bench = Bench::settled(ServerConfig { max_subscriptions: 2, ..config() }, &["file:///a"]);
    for uri in ["file:///a/1", "file:///a/2", "file:///a/3"] {
        bench.subscribes(uri);
    }
    assert_eq!(bench.half.status().subscriptions, 2);
    assert!(bench.events().any(|event| event.to_string().contains("not followed, since 2 are already")));
}
