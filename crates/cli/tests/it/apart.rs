//! Sessions over HTTP are apart, and what a change costs one of them.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::PATIENCE;
use crate::load::Session;
use crate::many::{self, Member};
use crate::tree::{Tree, mcp_roots};

const SESSIONS: usize = 40;
const CHANGES: usize = 10;

#[tokio::test(flavor = "multi_thread")]
async fn s12_sessions_are_apart_while_their_roots_change_as_fast_as_they_go() {
    let tree = Tree::in_memory();
    many::make_roots(&tree.at(""), SESSIONS).unwrap();
    let mut serve = mcp_roots(["serve", "--http", "127.0.0.1:0", "--log", "off"]);
    serve.arg(tree.at(""));
    let (_server, http) = many::start(serve).await;
    let mut changing = tokio::task::JoinSet::new();
    for number in 0..SESSIONS {
        let (http, base) = (http.clone(), tree.at(""));
        changing.spawn(async move {
            let mut member = Member::open(&http, &base, number).await?;
            // One in two is asked on a stream of its own, the others within their calls.
            let stream = if number % 2 == 0 { Some(member.session().listen().await?) } else { None };
            member.sees_its_own().await?;
            for _ in 0..CHANGES {
                member.change().await?;
            }
            member.session().close().await?;
            stream.inspect(|stream| stream.abort());
            std::io::Result::Ok(())
        });
    }
    while let Some(member) = changing.join_next().await {
        member.unwrap().unwrap();
    }
    let metric = async |name: &str| http.metric(name).await.unwrap();
    assert_eq!(metric("mcp_roots_notifications_total").await, (SESSIONS * CHANGES) as u64);
    assert_eq!(metric("mcp_roots_fence_misses_total").await, 0, "nobody waited in vain");
    let ended = async { while metric("mcp_roots_sessions").await > 0 {} };
    tokio::time::timeout(PATIENCE, ended).await.expect("all end");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_call_after_a_change_takes_under_ten_pings_without_a_get_stream() {
    let tree = Tree::new();
    let mut serve = mcp_roots(["serve", "--http", "127.0.0.1:0", "--log", "off"]);
    serve.arg(tree.at(""));
    let (_server, http) = many::start(serve).await;
    let session = Session::open(&http, tree.at("a")).await.unwrap();
    session.call("list_allowed_directories", json!({})).await.unwrap();
    let (mut pings, mut calls) = (Vec::new(), Vec::new());
    for change in 0..100 {
        let started = Instant::now();
        session.ping().await.unwrap();
        pings.push(started.elapsed());
        let root = tree.at(if change % 2 == 0 { "b" } else { "a" });
        session.change(root.clone()).await.unwrap();
        let started = Instant::now();
        let (text, _) = session.call("list_allowed_directories", json!({})).await.unwrap();
        calls.push(started.elapsed());
        assert_eq!(text, format!("Allowed directories:\n{}", root.display()));
    }
    pings.sort();
    calls.sort();
    let (ping, call) = (pings[pings.len() / 2], calls[calls.len() / 2]);
    println!("a ping takes {ping:?}, a call after a change {call:?}: {:.1} pings", call.div_duration_f64(ping));
    assert!(call < ping * 10, "a ping takes {ping:?}, a call after a change {call:?}");
    // An answer that waits for the client's system to acknowledge its first part takes 40 ms, each time.
    assert!(pings[0] < Duration::from_millis(20), "an answer is held up: {:?}", pings[0]);
    assert_eq!(session.asked.load(std::sync::atomic::Ordering::Relaxed), 101, "once for each change, and at first");
}
