//! A server sees its client's roots: current, leased, and as they change.

use std::time::Duration;

use futures_core::Stream;
use mcp_roots::core::server_half::{ClientRootsUse, ServerConfig};
use mcp_roots::{LeaseError, PublishOptions, State, TrackOptions, Unavailable, Workspace, track};
use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, ReadResourceRequestParams};
use tokio::io::AsyncWriteExt;

use crate::pair::{Folders, Pair, Teller, text, told};

#[tokio::test(flavor = "multi_thread")]
async fn the_fence_holds_on_a_multi_threaded_runtime() {
    let folders = Folders::new();
    let [a, b] = ["a", "b"].map(|name| folders.at(name));
    let pair = Pair::of(&[&a]).await;
    for change in 0..500 {
        let (out, into) = if change % 2 == 0 { (&a, &b) } else { (&b, &a) };
        pair.workspace
            .batch(|batch| {
                batch.remove(out)?;
                batch.add(into, None)
            })
            .unwrap();
        assert_eq!(pair.tell().await, into.display().to_string(), "at change {change}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_answer_costs_a_deadline_and_holds_nobody_else_up() {
    let (near, mut far) = tokio::io::duplex(64 * 1024);
    let (transport, roots) = track(near, TrackOptions::default());
    let handshake = concat!(
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"silent","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n"
    );
    far.write_all(handshake.as_bytes()).await.unwrap();
    let server = Teller::new(&roots).serve(transport).await.unwrap();
    let started = tokio::time::Instant::now();
    let error = roots.current().await.unwrap_err();
    assert!(error.to_string().contains("roots"), "{error}");
    let waited = started.elapsed();
    assert!(waited >= Duration::from_secs(5) && waited < Duration::from_millis(5_100), "{waited:?}");
    assert_eq!(roots.snapshot().state, State::Failed);
    drop(server);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_holds_even_if_nobody_polls_the_transport() {
    let (near, _far) = tokio::io::duplex(1024);
    let (transport, roots) = track::<_, std::io::Error, _>(near, TrackOptions::default());
    let started = tokio::time::Instant::now();
    assert!(matches!(roots.current().await, Err(Unavailable::Deadline { .. })));
    assert!(started.elapsed() < Duration::from_millis(5_100));
    drop(transport);
    assert_eq!(roots.current().await, Err(Unavailable::Closed));
}

#[tokio::test]
async fn a_lease_is_revoked_when_its_root_leaves_and_before_a_later_request_sees_it() {
    let folders = Folders::new();
    let [a, b] = ["a", "b"].map(|name| folders.at(name));
    let pair = Pair::of(&[&a, &b]).await;
    let gone = pair.lease(&a.join("deep/file")).await;
    let stays = pair.lease(&b).await;
    pair.workspace.remove(&a).unwrap();
    assert_eq!(pair.tell().await, b.display().to_string());
    assert!(gone.is_revoked(), "the call has seen the new roots, so it is revoked by now");
    gone.revoked().await;
    assert!(!stays.is_revoked());
    assert_eq!(pair.roots.status().leases, 1);
    drop(stays);
    assert_eq!(pair.roots.status().leases, 0);
    let Err(LeaseError::Outside { roots, .. }) = pair.roots.lease(&a).await else { panic!("a lease on what is gone") };
    assert_eq!(roots, b.display().to_string());
    assert!(matches!(pair.roots.lease("relative").await, Err(LeaseError::Path(_))));
}

#[tokio::test]
async fn changes_are_a_stream_of_what_was_added_and_removed() {
    let folders = Folders::new();
    let [a, b] = ["a", "b"].map(|name| folders.at(name));
    let pair = Pair::of(&[&a]).await;
    pair.tell().await;
    let mut changes = pair.roots.changes();
    let mut next = async || std::future::poll_fn(|context| std::pin::Pin::new(&mut changes).poll_next(context)).await;
    pair.workspace.add(&b, Some("Bee")).unwrap();
    pair.tell().await;
    let diff = next().await.unwrap();
    assert_eq!((diff.added.len(), diff.removed.len()), (1, 0));
    assert_eq!(diff.added[0].name.as_deref(), Some("Bee"));
    pair.workspace.remove(&a).unwrap();
    pair.workspace.rename(&b, None).unwrap();
    pair.tell().await;
    let diff = next().await.unwrap();
    assert_eq!((diff.added.len(), diff.removed.len(), diff.renamed.len()), (0, 1, 1));
    pair.host.cancel().await.unwrap();
    assert_eq!(next().await, None, "it ends with the connection");
}

#[tokio::test]
async fn a_resource_not_found_is_a_cue() {
    let folders = Folders::new();
    let a = folders.at("a");
    let workspace = Workspace::open([&a]).unwrap();
    // A client that changes its roots and never says so.
    let quiet = PublishOptions::default().configure(|config| {
        config.declare = Some(mcp_roots::core::frame::RootsCapability { list_changed: false });
    });
    let pair = Pair::connect(&workspace, TrackOptions::default(), quiet).await;
    pair.tell().await;
    workspace.add(folders.at("b"), None).unwrap();
    assert_eq!(pair.tell().await, a.display().to_string(), "nobody has said anything");
    let missing = pair.host.read_resource(ReadResourceRequestParams::new("file:///missing")).await;
    assert!(missing.is_err());
    assert!(pair.tell().await.ends_with("/b"), "the set was checked");
    assert_eq!(pair.roots.status().counters.cues, 1);
    workspace.add(folders.at("c"), None).unwrap();
    pair.roots.recheck();
    assert_eq!(pair.roots.status().counters.cues_ignored, 1, "at most once a second");
}

#[tokio::test]
async fn a_client_without_roots_leaves_the_operators_directories() {
    let folders = Folders::new();
    let a = folders.at("a");
    let workspace = Workspace::open([folders.at("b")]).unwrap();
    for (ignore, declare) in [(false, false), (true, true)] {
        let options = TrackOptions::default().operator_dirs([&a]).unwrap().configure(|config: &mut ServerConfig| {
            if ignore {
                config.client_roots = ClientRootsUse::Ignore;
            }
        });
        let publish = PublishOptions::default().configure(|config| {
            if !declare {
                config.declare = None;
            }
        });
        let pair = Pair::connect(&workspace, options, publish).await;
        assert_eq!(pair.tell().await, a.display().to_string());
        let status = pair.roots.status();
        assert_eq!((status.snapshot.state, status.counters.asked), (State::Unsupported, 0));
    }
}

#[tokio::test]
async fn sessions_of_one_workspace_and_of_two_are_apart() {
    let folders = Folders::new();
    let [a, b] = ["a", "b"].map(|name| folders.at(name));
    let one = Pair::of(&[&a]).await;
    let two = Pair::of(&[&b]).await;
    let three = Pair::connect(&one.workspace, TrackOptions::default(), PublishOptions::default()).await;
    one.workspace.add(folders.at("c"), None).unwrap();
    for _ in 0..20 {
        let told = tokio::join!(one.tell(), two.tell(), three.tell());
        assert!(told.0.ends_with("/c") && told.1.ends_with("/b") && told.2.ends_with("/c"), "{told:?}");
    }
}

#[tokio::test]
async fn what_is_not_about_roots_passes() {
    let folders = Folders::new();
    let pair = Pair::of(&[&folders.at("a")]).await;
    let hello = pair.host.call_tool(CallToolRequestParams::new("hello")).await.unwrap();
    assert_eq!(text(&hello), "hello");
    // The server's own question, past the handle, is the SDK's affair and is answered from the workspace.
    #[expect(deprecated, reason = "what a server author may still call")]
    let listed = pair.server.list_roots().await.unwrap().roots.len();
    assert_eq!(listed, 1);
    assert_eq!(told(&pair.roots.snapshot()).split(' ').count(), 1);
}
