//! Bad input of every kind gets a clear error, and the session lives on.

use serde_json::{Value, json};

use crate::client::{Answers, Client, roots_of};
use crate::tree::{Tree, mcp_roots};

#[tokio::test]
async fn lines_that_are_no_message_are_answered_and_the_session_lives_on() {
    let tree = Tree::new();
    let roots = roots_of(&[tree.at("a")]);
    let mut client = Client::connect(mcp_roots(["serve"]), json!({"listChanged": true}), roots).await;
    let lines: [(&[u8], i64, &str); 7] = [
        (b"garbage\n", -32700, "not JSON"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1\n", -32700, "not JSON"),
        (b"\xff\xfe\n", -32700, "not JSON"),
        (b"7\n", -32600, "not an object"),
        (b"{\"id\":\"x\",\"method\":\"ping\"}\n", -32600, "jsonrpc"),
        (b"{\"jsonrpc\":\"2.0\",\"id\":\"y\",\"method\":3}\n", -32600, "method"),
        (b"[]\n", -32600, "batch is empty"),
    ];
    for (number, (bytes, code, reason)) in lines.into_iter().enumerate() {
        client.write(bytes);
        client.until(reason, |client| client.strays().len() > number).await;
        let error = client.strays()[number]["error"].clone();
        assert_eq!(error["code"], code, "{error}");
        assert!(error["message"].as_str().unwrap().contains(reason), "{error}");
        client.ping().await;
    }
    let ids: Vec<Value> = client.strays().iter().map(|stray| stray["id"].clone()).collect();
    assert_eq!(ids, [Value::Null, Value::Null, Value::Null, Value::Null, json!("x"), json!("y"), Value::Null]);
    assert_eq!(client.call("read_text_file", json!({"path": tree.at("a/name")})).await.0, "this is a\n");
}

#[tokio::test]
async fn a_message_over_the_limit_is_refused_and_the_session_lives_on() {
    let mut client = Client::connect(mcp_roots(["serve"]), Value::Null, Answers::Silence).await;
    let mut long = vec![b'x'; (16 << 20) + 1];
    long.push(b'\n');
    client.write(&long);
    client.until("an error", |client| !client.strays().is_empty()).await;
    assert!(client.strays()[0]["error"]["message"].as_str().unwrap().contains("16777216"));
    client.ping().await;
}

#[tokio::test]
async fn the_messages_of_a_batch_are_answered_one_by_one() {
    let mut client = Client::connect(mcp_roots(["serve"]), Value::Null, Answers::Silence).await;
    let (one, first) = client.prepare("ping", json!({}));
    let (two, second) = client.prepare("tools/list", json!({}));
    let [one, two] = [one, two].map(|line| String::from_utf8(line).unwrap());
    client.write(format!("[{}, {}]\n", one.trim(), two.trim()).as_bytes());
    assert!(first.await.unwrap().get("result").is_some());
    assert!(second.await.unwrap()["result"]["tools"].as_array().is_some_and(|tools| tools.len() >= 4));
}

#[tokio::test]
async fn bad_arguments_are_named() {
    let mut client = Client::connect(mcp_roots(["serve"]), Value::Null, Answers::Silence).await;
    for (method, params, code, reason) in [
        ("tools/call", json!({"arguments": {}}), -32602, "missing field `name`"),
        ("tools/call", json!({"name": "no_such_tool"}), -32602, "tool"),
        ("resources/read", json!({}), -32602, "missing field `uri`"),
        ("resources/read", json!({"uri": "http://example.com/"}), -32002, "only file"),
        ("resources/subscribe", json!({"uri": 5}), -32602, "resources/subscribe"),
        ("no/such/method", json!({}), -32601, "no/such/method"),
    ] {
        let error = client.request(method, params.clone()).await["error"].take();
        assert_eq!(error["code"], code, "{method} {params}: {error}");
        assert!(error["message"].as_str().unwrap().contains(reason), "{error}");
    }
    for (arguments, reason) in [(json!({}), "missing field `path`"), (json!({"path": 5}), "expected a string")] {
        let (text, is_error) = client.call("read_text_file", arguments).await;
        assert!(is_error && text.contains(reason), "{text}");
    }
}

#[tokio::test]
async fn bad_options_are_refused_with_what_would_do() {
    for (arguments, reason) in [
        (vec!["serve", "--policy", "both"], "replace, merge, narrow or pin"),
        (vec!["serve", "--deadline", "5"], "ms, s or m"),
        (vec!["serve", "--deadline", "0s"], "above zero"),
        (vec!["serve", "--on-stale", "x"], "error, stale or operator"),
        (vec!["serve", "--refresh", "poll"], "static, poll:30s or on-request:10s"),
        (vec!["serve", "--client-roots", "x"], "use or ignore"),
        (vec!["serve", "--log", "loud=="], "--log"),
        (vec!["serve", "--nope"], "--nope"),
        (vec!["host", "--declare", "x"], "list-changed, plain or none"),
        (vec!["host", "--timeout", "x"], "ms, s or m"),
        (vec!["fly"], "fly"),
    ] {
        let output = mcp_roots(&arguments).stderr(std::process::Stdio::piped()).output().await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(reason), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty(), "the standard output belongs to the protocol");
    }
}

#[tokio::test]
async fn the_policy_in_force_is_said_at_the_start() {
    for (arguments, said) in [
        (vec!["serve"], "policy replace, since no directories were given"),
        (vec!["serve", "/"], "policy merge, since directories were given"),
        (vec!["serve", "--policy", "pin"], "policy pin, since it was asked for"),
    ] {
        let mut command = mcp_roots(&arguments);
        command.stdin(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
        let output = command.output().await.unwrap();
        assert!(output.status.success(), "a client that leaves has done nothing wrong");
        assert!(String::from_utf8_lossy(&output.stderr).contains(said));
    }
}
