//! Long work and large things: work stops at once when it is to, and memory stays flat.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::client::{Answers, Client, PATIENCE, line, list_changed, roots_of, text_of};
use crate::storm::resident;
use crate::tree::{Tree, mcp_roots};

/// How long work may go on after it was told to stop.
const AT_ONCE: Duration = Duration::from_millis(50);
/// How often a time is taken: the machine may be busy with something else, so the best one counts.
const ROUNDS: usize = 5;

/// A tree on a disk in memory, where there is one, with so many files in directories of a thousand.
pub(crate) fn many_files(count: usize) -> (Tree, PathBuf) {
    let tree = Tree::in_memory();
    let dir = tree.at("a/many");
    for at in 0..count.div_ceil(1000) {
        let dir = dir.join(at.to_string());
        std::fs::create_dir_all(&dir).unwrap();
        for file in 0..1000 {
            std::fs::write(dir.join(file.to_string()), "nothing to be found here\n").unwrap();
        }
    }
    (tree, dir)
}

/// Waits until nothing is at work in the server.
async fn idle(client: &mut Client) -> Value {
    loop {
        let status = client.status().await;
        if status["working"] == 0 {
            return status;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_over_100_000_files_stops_at_once_when_its_root_leaves_or_it_is_cancelled() {
    let (tree, dir) = many_files(100_000);
    let mut serve = mcp_roots(["serve"]);
    serve.args(["--log", "mcp_roots::serve::server=info"]).stderr(std::process::Stdio::piped());
    let (with, without) = ([tree.at("a"), tree.at("b")], [tree.at("b")]);
    let mut client = Client::connect(serve, json!({"listChanged": true}), roots_of(&with)).await;
    let mut log = BufReader::new(client.child.stderr.take().unwrap()).lines();
    let search = json!({
        "name": "search_text",
        "arguments": {"path": dir, "pattern": "needle"},
        "_meta": {"progressToken": "p"},
    });
    let (mut after_root_left, mut after_cancel) = (Duration::MAX, Duration::MAX);
    for round in 1..=ROUNDS {
        let told = client.heard("notifications/progress").len();
        let (call, response) = client.prepare("tools/call", search.clone());
        client.write(&call);
        client.hears("notifications/progress", told + 1).await;
        client.answer_with(roots_of(&without));
        let left = Instant::now();
        client.write(&line(&list_changed()));
        let (text, is_error) = text_of(&tokio::time::timeout(PATIENCE, response).await.expect("in time").unwrap());
        assert!(is_error && text.contains("its root left") && text.contains(&*dir.to_string_lossy()), "{text}");
        idle(&mut client).await;
        after_root_left = after_root_left.min(left.elapsed());

        client.answer_with(roots_of(&with));
        client.write(&line(&list_changed()));
        let told = client.heard("notifications/progress").len();
        let (call, mut response) = client.prepare("tools/call", search.clone());
        let id = serde_json::from_slice::<Value>(&call).unwrap()["id"].take();
        client.write(&call);
        client.hears("notifications/progress", told + 1).await;
        let params = json!({"requestId": id, "reason": "enough"});
        let cancelled = Instant::now();
        client.write(&line(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})));
        idle(&mut client).await;
        after_cancel = after_cancel.min(cancelled.elapsed());
        assert!(response.try_recv().is_err(), "a cancelled request has no response");
        let said = tokio::time::timeout(PATIENCE, log.next_line()).await.expect("it is logged").unwrap();
        assert!(said.as_ref().is_some_and(|said| said.contains("cancelled a call")), "round {round}: {said:?}");
    }
    assert!(after_root_left < AT_ONCE, "{after_root_left:?} after the root left");
    assert!(after_cancel < AT_ONCE, "{after_cancel:?} after it was cancelled");
    let progress = client.heard("notifications/progress");
    assert!(progress.iter().all(|told| told["params"]["progressToken"] == "p"));
    // And left alone, it comes to its end.
    let (text, is_error) = client.call("search_text", search["arguments"].clone()).await;
    assert_eq!((text.as_str(), is_error), ("No matches in 100000 files", false));
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_stays_flat_on_a_file_of_2_gib() {
    const SIZE: u64 = 2 << 30;
    let tree = Tree::new();
    // A hole, which takes no room, between a beginning and an end.
    let file = tree.at("a/large");
    let mut large = File::create(&file).unwrap();
    large.write_all(&b"a line at the beginning\n".repeat(100_000)).unwrap();
    large.set_len(SIZE).unwrap();
    let mut large = File::options().append(true).open(&file).unwrap();
    large.write_all(b"\nthe last but one\nthe last\n").unwrap();
    // And text without a hole, for a search from end to end.
    let text = tree.at("a/text");
    let mut written = File::create(&text).unwrap();
    for _ in 0..128 {
        written.write_all(&b"a line that is neither long nor short, as lines are\n".repeat(20_000)).unwrap();
    }
    let mut client = serving_alone(&tree).await;
    client.call("read_text_file", json!({"path": file, "head": 1})).await;
    let before = resident(client.child.id());
    let calls = [
        ("read_text_file", json!({"path": file}), "a line at the beginning", false),
        ("read_text_file", json!({"path": file, "head": 2}), "a line at the beginning\na line", false),
        ("read_text_file", json!({"path": file, "tail": 2}), "the last but one\nthe last", false),
        ("read_text_file", json!({"path": file, "offset": SIZE}), "\nthe last but one", false),
        ("read_multiple_files", json!({"paths": [file, file]}), "large:\na line at the beginning", false),
        ("search_text", json!({"path": file, "pattern": "the last"}), "No matches in 0 files", false),
        ("search_text", json!({"path": text, "pattern": "nowhere"}), "No matches in 1 files", false),
        ("read_media_file", json!({"path": file}), "bytes long", true),
        ("edit_file", json!({"path": file, "edits": [{"oldText": "last", "newText": "x"}]}), "bytes long", true),
        ("get_file_info", json!({"path": file}), &format!("size: {}", SIZE + 27), false),
    ];
    for (tool, arguments, expected, fails) in calls {
        let (text, is_error) = client.call(tool, arguments).await;
        assert!(text.contains(expected) && is_error == fails, "{tool}: {}", &text[..text.len().min(200)]);
    }
    grew_by_less_than(&client, before, 32 << 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_stays_flat_on_a_directory_of_1_000_000_entries() {
    const ENTRIES: usize = 1_000_000;
    let tree = Tree::in_memory();
    let dir = tree.at("a/many");
    std::fs::create_dir(&dir).unwrap();
    for at in 0..ENTRIES {
        File::create(dir.join(format!("{at:07}"))).unwrap();
    }
    let mut client = serving_alone(&tree).await;
    client.call("list_directory", json!({"path": tree.at("a")})).await;
    let before = resident(client.child.id());
    let listed = client.request("tools/call", json!({"name": "list_directory", "arguments": {"path": dir}})).await;
    let result = &listed["result"];
    assert_eq!(result["structuredContent"]["nextAfter"], "0009999");
    assert!(result["content"][1]["text"].as_str().unwrap().contains("990000 more entries"), "{}", result["content"][1]);
    let on = json!({"path": dir, "after": "0999989"});
    let last: Vec<String> = (999_990..ENTRIES).map(|at| format!("[FILE] {at:07}")).collect();
    assert_eq!(client.call("list_directory", on).await.0, last.join("\n"));
    let (text, _) = client.call("list_directory_with_sizes", json!({"path": dir, "limit": 10})).await;
    assert!(text.contains("Total: 1000000 files, 0 directories"), "{text}");
    let (text, _) = client.call("search_files", json!({"path": dir, "pattern": "*99999"})).await;
    assert_eq!(text.lines().count(), 10);
    let tree = client.request("tools/call", json!({"name": "directory_tree", "arguments": {"path": dir}})).await;
    assert_eq!(tree["result"]["structuredContent"]["truncated"], true);
    grew_by_less_than(&client, before, 32 << 10);
}

/// `serve` on the tree, for a client without roots.
async fn serving_alone(tree: &Tree) -> Client {
    let mut serve = mcp_roots(["serve", "--write", "--log", "off"]);
    serve.arg(tree.at("a"));
    Client::connect(serve, Value::Null, Answers::Silence).await
}

fn grew_by_less_than(client: &Client, before: Option<u64>, most: u64) {
    if let (Some(before), Some(after)) = (before, resident(client.child.id())) {
        assert!(after < before + most, "resident memory went from {before} KiB to {after} KiB");
    }
}
