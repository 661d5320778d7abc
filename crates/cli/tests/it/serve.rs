//! `serve` follows its client's roots: the fence, what ends when a root leaves, and what clients get wrong.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Answers, Client, PATIENCE, line, list_changed, roots_of, text_of, uri_of};
use crate::tree::{Tree, mcp_roots};

fn announcing() -> Value {
    json!({"listChanged": true})
}

/// `list_changed` and a call on one write, 20,000 times: the call never sees the roots from before.
#[tokio::test(flavor = "multi_thread")]
async fn the_fence_holds_for_20_000_calls_over_a_pipe() {
    const CALLS: usize = 20_000;
    let tree = Tree::new();
    let dirs = [tree.at("a"), tree.at("b")];
    let mut client = Client::connect(mcp_roots(["serve"]), announcing(), roots_of(&dirs[..1])).await;
    let mut stale = 0;
    for call in 1..=CALLS {
        let now = &dirs[call % 2];
        client.answer_with(roots_of(std::slice::from_ref(now)));
        let (call, response) = client.prepare_call("list_allowed_directories", json!({}));
        client.write(&[line(&list_changed()), call].concat());
        let response = tokio::time::timeout(PATIENCE, response).await.expect("in time").expect("a response");
        let expected = format!("Allowed directories:\n{}", now.display());
        stale += usize::from(text_of(&response) != (expected, false));
    }
    assert_eq!(stale, 0, "of {CALLS} calls");
    let status = client.status().await;
    let asked = status["questionsAsked"].as_u64().unwrap();
    assert!(asked <= CALLS as u64 + 1, "at most one question a change, and it was {asked}");
}

#[tokio::test]
async fn after_a_root_leaves_the_next_read_fails_and_names_the_roots_in_force() {
    let tree = Tree::new();
    let mut client = Client::connect(mcp_roots(["serve"]), announcing(), roots_of(&[tree.at("a")])).await;
    let file = tree.at("a/name");
    assert_eq!(client.call("read_text_file", json!({"path": file})).await, ("this is a\n".into(), false));
    client.answer_with(roots_of(&[tree.at("b")]));
    let (call, response) = client.prepare_call("read_text_file", json!({"path": file}));
    client.write(&[line(&list_changed()), call].concat());
    let (text, is_error) = text_of(&response.await.unwrap());
    assert!(is_error && text.contains(&tree.at("b").display().to_string()), "{text}");
    assert_eq!(client.call("read_text_file", json!({"path": tree.at("b/name")})).await.0, "this is b\n");
}

#[tokio::test]
async fn a_subscription_hears_of_changes_and_after_its_root_left_of_none_but_the_last() {
    let tree = Tree::new();
    let file = tree.at("a/name");
    let uri = uri_of(&file);
    let mut client = Client::connect(mcp_roots(["serve"]), announcing(), roots_of(&[tree.at("a"), tree.at("b")])).await;
    assert!(client.request("resources/subscribe", json!({ "uri": uri })).await.get("error").is_none());
    let updated = "notifications/resources/updated";
    // One write, so that it is one change for whoever looks.
    let mut appending = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
    std::io::Write::write_all(&mut appending, b"and more\n").unwrap();
    client.hears(updated, 1).await;
    // Replaced, as editors do.
    std::fs::write(tree.at("a/new"), "changed once more, and longer still\n").unwrap();
    std::fs::rename(tree.at("a/new"), &file).unwrap();
    client.hears(updated, 2).await;

    client.answer_with(roots_of(&[tree.at("b")]));
    client.write(&line(&list_changed()));
    client.hears(updated, 3).await;
    client.hears("notifications/resources/list_changed", 1).await;
    let error = client.request("resources/read", json!({ "uri": uri })).await["error"].take();
    assert_eq!(error["code"], -32002);

    std::fs::write(&file, "nobody is told of this\n").unwrap();
    // What is told is told in order, so a later update of another subscription shows that this one was silent.
    let other = uri_of(tree.at("b/name"));
    client.request("resources/subscribe", json!({ "uri": other })).await;
    std::fs::write(tree.at("b/name"), "and of this they are\n").unwrap();
    client
        .until("the other update", |client| client.heard(updated).iter().any(|update| update["params"]["uri"] == other))
        .await;
    let of_the_first = client.heard(updated).iter().filter(|update| update["params"]["uri"] == uri).count();
    assert_eq!(of_the_first, 3);
}

#[tokio::test]
async fn a_file_that_is_deleted_under_its_subscription_is_told_of_and_so_is_its_return() {
    let tree = Tree::new();
    let file = tree.at("a/name");
    let uri = uri_of(&file);
    let mut client = Client::connect(mcp_roots(["serve"]), announcing(), roots_of(&[tree.at("a")])).await;
    client.request("resources/subscribe", json!({ "uri": uri })).await;
    std::fs::remove_file(&file).unwrap();
    client.hears("notifications/resources/updated", 1).await;
    let error = client.request("resources/read", json!({ "uri": uri })).await["error"].take();
    assert!(error["code"] == -32002 && error["message"].as_str().unwrap().contains("No such file"), "{error}");
    std::fs::write(tree.at("a/new"), "it is back\n").unwrap();
    std::fs::rename(tree.at("a/new"), &file).unwrap();
    client.hears("notifications/resources/updated", 2).await;
    let read = client.request("resources/read", json!({ "uri": uri })).await;
    assert_eq!(read["result"]["contents"][0]["text"], "it is back\n");
}

#[tokio::test]
async fn subscriptions_are_bounded_in_number() {
    const MOST: usize = 1_000;
    let tree = Tree::new();
    let uri = |at: usize| uri_of(tree.at(format!("a/{at}")));
    (0..=MOST).for_each(|at| std::fs::write(tree.at(format!("a/{at}")), "").unwrap());
    let mut client = Client::connect(mcp_roots(["serve"]), announcing(), roots_of(&[tree.at("a")])).await;
    for at in 0..MOST {
        let subscribed = client.request("resources/subscribe", json!({ "uri": uri(at) })).await;
        assert!(subscribed.get("error").is_none(), "{at}: {subscribed}");
    }
    let refused = client.request("resources/subscribe", json!({ "uri": uri(MOST) })).await["error"].take();
    assert!(refused["message"].as_str().unwrap().contains("1000 subscriptions already"), "{refused}");
    assert_eq!(client.status().await["subscriptions"], MOST);
    // One that is given up makes room.
    client.request("resources/unsubscribe", json!({ "uri": uri(0) })).await;
    assert!(client.request("resources/subscribe", json!({ "uri": uri(MOST) })).await.get("error").is_none());
}

/// A reader has opened one file or the other, and reads that to its end.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_replaced_while_it_is_read_is_read_whole() {
    const READS: usize = 200;
    let tree = Tree::new();
    let file = tree.at("a/name");
    let text = |letter: &str| letter.repeat(300_000);
    std::fs::write(&file, text("a")).unwrap();
    let mut client = Client::connect(mcp_roots(["serve"]), announcing(), roots_of(&[tree.at("a")])).await;
    let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let replacing = std::thread::spawn({
        let (done, new, file) = (done.clone(), tree.at("a/new"), file.clone());
        move || {
            for letter in ["b", "a"].iter().cycle() {
                std::fs::write(&new, letter.repeat(300_000)).unwrap();
                std::fs::rename(&new, &file).unwrap();
                if done.load(std::sync::atomic::Ordering::Relaxed) {
                    return;
                }
            }
        }
    });
    for _ in 0..READS {
        let (read, is_error) = client.call("read_text_file", json!({"path": file})).await;
        assert!(!is_error && read == text(&read[..1]), "{} bytes", read.len());
    }
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    replacing.join().unwrap();
}

#[tokio::test]
async fn a_directory_can_be_subscribed_to_and_a_subscription_cancelled() {
    let tree = Tree::new();
    let mut client = Client::connect(mcp_roots(["serve"]), announcing(), roots_of(&[tree.at("a")])).await;
    let uri = uri_of(tree.at("a"));
    client.request("resources/subscribe", json!({ "uri": uri })).await;
    std::fs::write(tree.at("a/another"), "x").unwrap();
    client.hears("notifications/resources/updated", 1).await;
    client.request("resources/unsubscribe", json!({ "uri": uri })).await;
    assert_eq!(client.status().await["subscriptions"], 0);
    let missing = client.request("resources/subscribe", json!({"uri": uri_of(tree.at("a/missing"))})).await;
    assert_eq!(missing["error"]["code"], -32002);
}

#[tokio::test]
async fn a_client_without_roots_is_never_asked() {
    let tree = Tree::new();
    let serve = mcp_roots(["serve".into(), tree.at("a")]);
    let mut client = Client::connect(serve, Value::Null, roots_of(&[tree.at("b")])).await;
    client.write(&line(&list_changed()));
    let (text, _) = client.call("list_allowed_directories", json!({})).await;
    assert_eq!(text, format!("Allowed directories:\n{}", tree.at("a").display()));
    let not_found = client.request("resources/read", json!({"uri": uri_of(tree.at("b/name"))})).await;
    assert_eq!(not_found["error"]["code"], -32002);
    let status = client.status().await;
    assert_eq!((&status["state"], &status["notificationsDiscarded"]), (&json!("unsupported"), &json!(1)));
    assert!(client.heard("roots/list").is_empty());
}

#[tokio::test]
async fn without_any_roots_a_call_says_how_to_come_by_some() {
    let tree = Tree::new();
    for (roots, answers) in [(Value::Null, Answers::Silence), (announcing(), Answers::Roots(vec![]))] {
        let mut client = Client::connect(mcp_roots(["serve"]), roots, answers).await;
        let (text, is_error) = client.call("read_text_file", json!({"path": tree.at("a/name")})).await;
        assert!(is_error && text.contains("there are none") && text.contains("Open a folder in the client"), "{text}");
    }
}

#[tokio::test]
async fn a_notification_from_a_client_that_did_not_declare_it_changes_nothing() {
    let tree = Tree::new();
    let mut client = Client::connect(mcp_roots(["serve"]), json!({}), roots_of(&[tree.at("a")])).await;
    client.call("list_allowed_directories", json!({})).await;
    client.answer_with(roots_of(&[tree.at("b")]));
    for _ in 0..3 {
        client.write(&line(&list_changed()));
    }
    let (text, _) = client.call("list_allowed_directories", json!({})).await;
    assert!(text.ends_with("/a"), "{text}");
    assert_eq!(client.status().await["notificationsDiscarded"], 3);
    assert_eq!(client.heard("roots/list").len(), 1);
}

/// A client that is silent, or says no, or answers nonsense: calls that need roots end in time, and the others
/// are answered at once all the while.
#[tokio::test]
async fn a_client_that_fails_holds_nobody_up() {
    let tree = Tree::new();
    for (answers, state) in [
        (Answers::Silence, "failed"),
        (Answers::Error(-32603, "Internal error"), "failed"),
        (Answers::Raw(json!({"roots": "none"})), "failed"),
        (Answers::Error(-32601, "Method not found"), "unsupported"),
        (Answers::Error(-32600, "List roots not supported"), "unsupported"),
    ] {
        let serve = mcp_roots(["serve", "--deadline", "300ms"]);
        let mut client = Client::connect(serve, announcing(), answers.clone()).await;
        let (call, response) = client.prepare_call("read_text_file", json!({"path": tree.at("a/name")}));
        let started = Instant::now();
        client.write(&call);
        client.ping().await;
        client.call("roots_status", json!({})).await;
        let needed_none = started.elapsed();
        let (text, is_error) = text_of(&response.await.unwrap());
        let took = started.elapsed();
        assert!(is_error && text.contains("roots"), "{text}");
        assert!(took < Duration::from_secs(2), "the deadline is 300 ms, and it took {took:?}");
        assert!(needed_none <= took);
        assert_eq!(client.status().await["state"], state);

        // It comes to its senses: announces, and answers.
        client.answer_with(roots_of(&[tree.at("a")]));
        client.write(&line(&list_changed()));
        assert_eq!(client.call("read_text_file", json!({"path": tree.at("a/name")})).await.0, "this is a\n");
    }
}

#[tokio::test]
async fn an_answer_after_the_deadline_is_still_taken() {
    let tree = Tree::new();
    let mut client = Client::connect(mcp_roots(["serve", "--deadline", "100ms"]), announcing(), Answers::Silence).await;
    client.hears("roots/list", 2).await;
    let first = client.heard("roots/list")[0]["id"].clone();
    client.write(&line(&json!({"jsonrpc": "2.0", "id": first, "result": {"roots": [{"uri": uri_of(tree.at("a"))}]}})));
    assert_eq!(client.call("read_text_file", json!({"path": tree.at("a/name")})).await.0, "this is a\n");
    assert_eq!(client.status().await["state"], "fresh");
}

#[tokio::test]
async fn what_happens_past_the_deadline_is_the_operators_choice() {
    let tree = Tree::new();
    for (on_stale, policy, expected) in
        [("stale", "replace", Some("b")), ("operator", "replace", Some("a")), ("error", "merge", None)]
    {
        let options = ["serve", "--deadline", "100ms", "--on-stale", on_stale, "--policy", policy];
        let mut serve = mcp_roots(options);
        serve.arg(tree.at("a"));
        let mut client = Client::connect(serve, announcing(), roots_of(&[tree.at("b")])).await;
        client.call("list_allowed_directories", json!({})).await;
        client.answer_with(Answers::Silence);
        let (call, response) = client.prepare_call("list_allowed_directories", json!({}));
        client.write(&[line(&list_changed()), call].concat());
        let (text, is_error) = text_of(&response.await.unwrap());
        match expected {
            Some(dir) => assert_eq!(text, format!("Allowed directories:\n{}", tree.at(dir).display())),
            None => assert!(is_error && text.contains("roots"), "{text}"),
        }
    }
}

#[tokio::test]
async fn directories_and_roots_combine_as_the_policy_says() {
    let tree = Tree::new();
    let [a, b] = ["a", "b"].map(|dir| tree.at(dir).display().to_string());
    for (policy, expected) in [
        (None, vec![&a, &b]),
        (Some("merge"), vec![&a, &b]),
        (Some("replace"), vec![&b]),
        (Some("narrow"), vec![]),
        (Some("pin"), vec![&a]),
    ] {
        let mut serve = mcp_roots(["serve"]);
        serve.arg(&a).args(policy.map(|policy| format!("--policy={policy}")));
        let mut client = Client::connect(serve, announcing(), roots_of(&[&b])).await;
        let (text, _) = client.call("list_allowed_directories", json!({})).await;
        assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), expected, "{policy:?}");
    }
}

#[tokio::test]
async fn ignored_roots_are_not_asked_for() {
    let tree = Tree::new();
    let mut serve = mcp_roots(["serve", "--client-roots", "ignore"]);
    serve.arg(tree.at("a"));
    let mut client = Client::connect(serve, announcing(), roots_of(&[tree.at("b")])).await;
    client.write(&line(&list_changed()));
    let (text, _) = client.call("list_allowed_directories", json!({})).await;
    assert!(text.ends_with("/a"), "{text}");
    assert!(client.heard("roots/list").is_empty());
}

#[tokio::test]
async fn bad_roots_are_rejected_alone_and_the_status_says_why() {
    let tree = Tree::new();
    let good = uri_of(tree.at("a"));
    let bare = tree.at("b").display().to_string();
    let answers = Answers::Raw(json!({"roots": [
        {"uri": "vscode-remote://wsl%2Bubuntu/home/u"}, {"uri": good}, 7, {"uri": "file://home/u/p"}, {"uri": bare},
    ]}));
    let mut client = Client::connect(mcp_roots(["serve"]), announcing(), answers).await;
    client.call("list_allowed_directories", json!({})).await;
    let status = client.status().await;
    assert_eq!(status["state"], "fresh");
    let uris: Vec<&Value> = status["roots"].as_array().unwrap().iter().map(|root| &root["uri"]).collect();
    assert_eq!(uris, [&json!(good), &json!(bare)]);
    assert!(status["roots"][1]["repairs"][0].as_str().unwrap().contains("bare path"));
    let reasons = status["rejected"].to_string();
    for reason in ["vscode-remote", "a number", "third slash"] {
        assert!(reasons.contains(reason), "{reasons}");
    }
}

#[tokio::test]
async fn files_are_read_by_head_and_tail_and_directories_listed() {
    let tree = Tree::new();
    let lines: String = (1..=20_000).map(|line| format!("line {line} with some words to fill it\n")).collect();
    std::fs::write(tree.at("a/long"), &lines).unwrap();
    std::fs::write(tree.at("a/crlf"), "one\r\ntwo\r\nthree").unwrap();
    std::fs::create_dir(tree.at("a/zdir")).unwrap();
    let mut client = Client::connect(mcp_roots(["serve"]), announcing(), roots_of(&[tree.at("a")])).await;
    for (file, arguments, expected) in [
        ("long", json!({"head": 2}), "line 1 with some words to fill it\nline 2 with some words to fill it"),
        ("long", json!({"tail": 2}), "line 19999 with some words to fill it\nline 20000 with some words to fill it"),
        // Some clients fill what they leave out with 0.
        ("long", json!({"head": 0, "tail": 0}), lines.as_str()),
        ("crlf", json!({"tail": 1}), "three"),
        ("crlf", json!({"head": 1}), "one"),
        ("crlf", json!({"tail": 9}), "one\r\ntwo\r\nthree"),
        ("long", json!({}), lines.as_str()),
        ("long", json!({"tail": 50_000}), lines.trim_end()),
    ] {
        let mut arguments = arguments;
        arguments["path"] = json!(tree.at("a").join(file));
        let (text, is_error) = client.call("read_text_file", arguments.clone()).await;
        assert!(!is_error && text == expected, "{arguments}: {} characters", text.len());
    }
    let (listing, _) = client.call("list_directory", json!({"path": tree.at("a")})).await;
    assert_eq!(listing, "[FILE] crlf\n[FILE] long\n[FILE] name\n[DIR] zdir");
    let (relative, _) = client.call("read_text_file", json!({"path": "name"})).await;
    assert_eq!(relative, "this is a\n", "a relative path is taken from the only root");
    for (tool, arguments, reason) in [
        ("read_text_file", json!({"path": tree.at("a")}), "is a directory"),
        ("read_text_file", json!({"path": tree.at("a/none")}), "No such file"),
        ("read_text_file", json!({"path": tree.at("a/name"), "head": 1, "tail": 1}), "both head and tail"),
        ("read_text_file", json!({"path": ""}), "it is empty"),
        ("list_directory", json!({"path": tree.at("a/name")}), "a/name"),
    ] {
        let (text, is_error) = client.call(tool, arguments).await;
        assert!(is_error && text.contains(reason), "{text}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn opens_are_confined_and_links_inside_are_followed() {
    use std::os::unix::fs::symlink;
    let tree = Tree::new();
    std::fs::write(tree.at("secret"), "secret\n").unwrap();
    std::fs::create_dir(tree.at("a-secret")).unwrap();
    std::fs::write(tree.at("a-secret/x"), "secret\n").unwrap();
    symlink(tree.at("secret"), tree.at("a/out")).unwrap();
    symlink("../secret", tree.at("a/out-relative")).unwrap();
    symlink(tree.at("a/name"), tree.at("a/in-absolute")).unwrap();
    symlink("name", tree.at("a/in-relative")).unwrap();
    symlink(tree.at("b"), tree.at("a/to-other-root")).unwrap();
    symlink(tree.at("a"), tree.at("alias")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(tree.at("a/pipe")).status().unwrap().success());
    let roots = roots_of(&[tree.at("alias"), tree.at("b")]);
    let mut client = Client::connect(mcp_roots(["serve"]), announcing(), roots).await;
    for inside in [
        "alias/name",
        "a/name",
        "a/in-absolute",
        "alias/in-absolute",
        "alias/in-relative",
        "alias/./name",
        "b/../a/name",
    ] {
        let (text, _) = client.call("read_text_file", json!({"path": tree.at(inside)})).await;
        assert_eq!(text, "this is a\n", "{inside}");
    }
    let (text, _) = client.call("read_text_file", json!({"path": tree.at("alias/to-other-root/name")})).await;
    assert_eq!(text, "this is b\n", "a link to another root is inside");
    let (text, is_error) = client.call("read_text_file", json!({"path": tree.at("a/pipe")})).await;
    assert!(is_error && text.contains("neither a file nor a directory"), "{text}");
    for outside in ["secret", "a-secret/x", "alias/out", "alias/out-relative", "alias/../secret", "c/name"] {
        let (text, is_error) = client.call("read_text_file", json!({"path": tree.at(outside)})).await;
        assert!(is_error && text.contains("outside"), "{outside}: {text}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_narrowed_root_does_not_lead_out_of_the_operators_directory() {
    use std::os::unix::fs::symlink;
    let tree = Tree::new();
    std::fs::create_dir(tree.at("a/inner")).unwrap();
    std::fs::write(tree.at("a/inner/name"), "inner\n").unwrap();
    symlink(tree.at("b"), tree.at("a/out")).unwrap();
    symlink(tree.at("a"), tree.at("alias")).unwrap();
    let mut serve = mcp_roots(["serve", "--policy", "narrow"]);
    serve.arg(tree.at("alias"));
    let roots = roots_of(&[tree.at("alias/out"), tree.at("alias/inner"), tree.at("c")]);
    let mut client = Client::connect(serve, announcing(), roots).await;
    for inside in ["alias/inner/name", "a/inner/name"] {
        let (text, _) = client.call("read_text_file", json!({"path": tree.at(inside)})).await;
        assert_eq!(text, "inner\n", "{inside}");
    }
    for outside in ["alias/out/name", "a/out/name", "b/name", "alias/name", "a/name", "c/name"] {
        let (text, is_error) = client.call("read_text_file", json!({"path": tree.at(outside)})).await;
        assert!(is_error && text.contains("outside"), "{outside}: {text}");
    }
}
