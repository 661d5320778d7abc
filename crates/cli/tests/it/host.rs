//! `host` in a script: each command takes effect before the next, and the exit code says whether all worked.

use std::process::{Output, Stdio};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::process::Command;

use crate::client::PATIENCE;
use crate::tree::{Tree, mcp_roots};

async fn run(mut command: Command, script: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A command line that is refused reads no script.
    let _ = stdin.write_all(script.as_bytes()).await;
    drop(stdin);
    child.wait_with_output().await.unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn adding_a_folder_shows_notification_question_answer_and_the_new_boundary() {
    let tree = Tree::new();
    let mut host = mcp_roots(["host", "--era", "legacy"]);
    host.arg(tree.at("a"));
    let output = run(host, &format!("add {} Bee\nquit\n", tree.at("b").display())).await;
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    let [a, b] = ["a", "b"].map(|dir| tree.at(dir).display().to_string());
    let mut rest = shown.as_str();
    for step in [
        "connected to mcp-roots".to_owned(),
        format!("the server's boundary: {a}\n"),
        format!("→ notifications/roots/list_changed + file://{b}"),
        "← roots/list after".into(),
        format!("→ 2 roots: file://{a}, file://{b}"),
        format!("the server's boundary: {a}, {b}\n"),
        format!("{b} (Bee)"),
    ] {
        let at = rest.find(&step).unwrap_or_else(|| panic!("{step:?} in its place in:\n{shown}"));
        rest = &rest[at + step.len()..];
    }
}

#[tokio::test]
async fn a_script_sees_each_command_take_effect() {
    let tree = Tree::new();
    let [a, b] = ["a", "b"].map(|dir| tree.at(dir).display().to_string());
    let script = format!(
        "# a remark\n\
         call read_text_file {{\"path\": \"{a}/name\"}}\n\
         add {b}\n\
         call read_text_file {{\"path\": \"{b}/name\"}}\n\
         subscribe file://{a}/name\n\
         remove {a}\n\
         read file://{b}/name\n\
         status\n"
    );
    let mut host = mcp_roots(["host", "--json", "--era", "legacy"]);
    host.arg(&a);
    let output = run(host, &script).await;
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let events: Vec<Value> = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let named: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    let place = |name: &str, from: usize| from + named[from..].iter().position(|event| *event == name).unwrap();
    let notified = place("notified", 0);
    let asked = place("asked", notified);
    let answered = place("answered", asked);
    let boundary = place("boundary", answered);
    assert_eq!(events[notified]["added"][0], format!("file://{b}"));
    assert!(events[asked]["afterMs"].as_f64().is_some());
    assert_eq!(events[boundary]["directories"], serde_json::json!([a, b]));
    let removed = place("notified", boundary);
    assert!(named[removed..].contains(&"resource-updated"), "the last update of the subscription");
    assert_eq!(events.last().unwrap()["value"]["ignoresRoots"], false);
}

/// In every era, and whatever is declared: after the folders change the next call sees the new ones, and a removed one is
/// refused; a server that may not ask has its own directories, or none.
#[tokio::test]
async fn the_next_call_sees_the_change_in_either_era() {
    let tree = Tree::new();
    let [a, b] = ["a", "b"].map(|dir| tree.at(dir).display().to_string());
    let read = |dir: &str| format!("call read_text_file {{\"path\": \"{dir}/name\"}}\n");
    let script = format!("{}{}add {b}\n{}remove {a}\n{}{}", read(&a), read(&b), read(&b), read(&a), read(&b));
    for (era, protocol) in [("auto", "2026-07-28"), ("modern", "2026-07-28"), ("legacy", "2025-11-25")] {
        for (declare, expected) in [
            ("list-changed", [true, false, true, false, true]),
            // Without announcements a legacy server learns of a change when what it knows has aged.
            ("plain", [true, false, true, false, true]),
            ("none", [true, false, false, true, false]),
        ] {
            let mut host = mcp_roots(["host", "--json", "--era", era, "--declare", declare]);
            host.arg(&a).arg("--").arg(env!("CARGO_BIN_EXE_mcp-roots")).args(["serve", "--refresh", "on-request:1ms"]);
            // Without roots the server has a directory of its own.
            if declare == "none" {
                host.arg(&a);
            }
            let output = run(host, &script).await;
            let events: Vec<Value> =
                text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(events[0]["protocol"], protocol, "{era} {declare}");
            let read =
                |event: &&Value| event["command"].as_str().is_some_and(|command| command.starts_with("call read"));
            let worked: Vec<bool> = events.iter().filter(read).map(|event| event["event"] == "result").collect();
            assert_eq!(worked, expected, "{era} {declare}: {}", text(&output.stdout));
            let asked = events.iter().filter(|event| event["event"] == "asked").count();
            assert_eq!(asked == 0, declare == "none", "{era} {declare}");
        }
    }
}

#[tokio::test]
async fn a_subscription_of_the_modern_era_hears_of_changes() {
    let tree = Tree::new();
    let uri = format!("file://{}/name", tree.at("a").display());
    let mut host = mcp_roots(["host", "--json", "--era", "modern", "--"]);
    host.arg(env!("CARGO_BIN_EXE_mcp-roots")).arg("serve").arg(tree.at("a"));
    host.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = host.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(format!("subscribe {uri}\n").as_bytes()).await.unwrap();
    let mut events = tokio::io::BufReader::new(child.stdout.take().unwrap()).lines();
    let mut heard = async |what: &str| {
        while let Some(line) = events.next_line().await.unwrap() {
            if line.contains(&format!("\"event\":\"{what}\"")) {
                return line;
            }
        }
        panic!("the program ended before {what}");
    };
    // What may have changed before the file was watched is told of.
    heard("resource-updated").await;
    std::fs::write(tree.at("a/name"), "it is another, and a longer one\n").unwrap();
    assert!(tokio::time::timeout(PATIENCE, heard("resource-updated")).await.expect("in time").contains(&uri));
    drop(stdin);
    let ended = tokio::time::timeout(PATIENCE, child.wait()).await.expect("in time").unwrap();
    assert!(ended.success());
}

#[tokio::test]
async fn what_changes_nothing_is_not_announced() {
    let tree = Tree::new();
    let mut host = mcp_roots(["host", "--json"]);
    host.arg(tree.at("a"));
    let output = run(host, &format!("add {}\nadd {}\n", tree.at("a").display(), tree.at("missing").display())).await;
    let shown = text(&output.stdout);
    assert_eq!(shown.matches("\"event\":\"unchanged\"").count(), 2, "{shown}");
    assert_eq!(shown.matches("\"event\":\"notified\"").count(), 0, "{shown}");
    assert!(shown.contains("\"event\":\"withheld\""), "{shown}");
}

#[tokio::test]
async fn a_server_without_the_capability_declared_is_not_told() {
    let tree = Tree::new();
    for (declare, asked) in [("none", 0), ("plain", 1)] {
        let mut host = mcp_roots(["host", "--json", "--era", "legacy", "--declare", declare]);
        host.arg(tree.at("a"));
        let output = run(host, &format!("add {}\n", tree.at("b").display())).await;
        let shown = text(&output.stdout);
        assert_eq!(shown.matches("\"event\":\"notified\"").count(), 0, "{shown}");
        assert!(shown.contains("roots.listChanged was not declared"), "{shown}");
        assert_eq!(shown.matches("\"event\":\"asked\"").count(), asked, "{shown}");
    }
}

#[tokio::test]
async fn failures_are_counted_in_the_exit_code() {
    let tree = Tree::new();
    let script =
        format!("call read_text_file {{\"path\": \"{}\"}}\nfly\nremove /nowhere\nlist\n", tree.at("b/name").display());
    let mut host = mcp_roots(["host"]);
    host.arg(tree.at("a"));
    let output = run(host, &script).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("3 of 4 commands failed"), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for reason in ["outside the roots in force", "there is no command \"fly\"", "not a folder of this workspace"] {
        assert!(shown.contains(reason), "{shown}");
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_had_is_named() {
    for (command, reason) in [
        (vec!["/no/such/server"], "cannot be started"),
        (vec!["false"], "has ended"),
        (vec!["sh", "-c", "read line; exit 7"], "exit status: 7"),
    ] {
        let mut host = mcp_roots(["host", "--"]);
        host.args(&command);
        let output = run(host, "list\n").await;
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(reason), "{said}");
    }
}
