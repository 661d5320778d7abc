//! Notifications without end: asked about at a bounded rate, answered all the while, in flat memory.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{Client, PATIENCE, line, list_changed, roots_of, text_of};
use crate::tree::{Tree, mcp_roots};

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_1_000_is_asked_about_at_most_three_times_and_the_last_set_wins() {
    let tree = Tree::new();
    let mut client =
        Client::connect(mcp_roots(["serve"]), json!({"listChanged": true}), roots_of(&[tree.at("a")])).await;
    client.call("list_allowed_directories", json!({})).await;
    let before = client.heard("roots/list").len();
    client.write(&line(&list_changed()).repeat(999));
    client.answer_with(roots_of(&[tree.at("b")]));
    let (call, response) = client.prepare_call("list_allowed_directories", json!({}));
    client.write(&[line(&list_changed()), call].concat());
    let (text, _) = text_of(&response.await.unwrap());
    assert!(text.ends_with("/b"), "{text}");
    assert_eq!(client.status().await["state"], "fresh");
    let asked = client.heard("roots/list").len() - before;
    assert!(asked <= 3, "{asked} questions");
}

/// 10,000 notifications a second for 5 s. The time is the storm's own, not a wait for something to happen.
#[tokio::test(flavor = "multi_thread")]
async fn an_endless_storm_is_bounded_and_calls_go_on() {
    const SECONDS: u32 = 5;
    let tree = Tree::new();
    let mut client =
        Client::connect(mcp_roots(["serve"]), json!({"listChanged": true}), roots_of(&[tree.at("a")])).await;
    client.call("list_allowed_directories", json!({})).await;
    let before = client.heard("roots/list").len();
    let notifications = line(&list_changed()).repeat(100);
    let started = Instant::now();
    let (mut calls, mut slowest, mut memory) = (0, Duration::ZERO, Vec::new());
    for tick in 0..SECONDS * 100 {
        client.write(&notifications);
        if tick % 50 == 25 {
            let asked = Instant::now();
            let (call, response) = client.prepare_call("list_allowed_directories", json!({}));
            client.write(&call);
            let response = tokio::time::timeout(PATIENCE, response).await.expect("in time").unwrap();
            assert!(text_of(&response).0.ends_with("/a"));
            slowest = slowest.max(asked.elapsed());
            calls += 1;
            memory.extend(resident(client.child.id()));
        }
        tokio::time::sleep_until((started + Duration::from_millis(10) * (tick + 1)).into()).await;
    }
    let asked = client.heard("roots/list").len() - before;
    let took = started.elapsed().as_secs_f64();
    // Ten a second, two at once, and one for each call, since a call does not wait for the bucket.
    assert!(asked as f64 <= 10.0 * took + 2.0 + f64::from(calls), "{asked} questions in {took:.1} s");
    assert!(slowest < Duration::from_secs(5), "the slowest call took {slowest:?}");
    if let (Some(first), Some(last)) = (memory.first(), memory.last()) {
        assert!(*last < first + 8 * 1024, "resident memory went from {first} KiB to {last} KiB");
    }

    client.answer_with(roots_of(&[tree.at("b")]));
    client.write(&line(&list_changed()));
    assert!(client.call("list_allowed_directories", json!({})).await.0.ends_with("/b"), "the last change is not lost");
}

/// The resident memory of a process in KiB, where the system tells.
pub(crate) fn resident(process: Option<u32>) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process?)).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
