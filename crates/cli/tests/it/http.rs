//! `serve --http`: many clients on one endpoint, in either era, and an operator who need not trust them.

mod refusals;

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::client::{PATIENCE, text_of, uri_of};
use crate::tree::{Tree, mcp_roots};

pub(crate) struct Server {
    child: Child,
    address: String,
}

/// What came back: the status, the headers as text, and what there is to read.
pub(crate) struct Reply {
    status: u16,
    headers: String,
    body: BufReader<TcpStream>,
}

impl Server {
    pub(crate) async fn start(mut command: Command) -> Self {
        command.args(["--http", "127.0.0.1:0", "--log", "off"]).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        let line = tokio::time::timeout(PATIENCE, said.next_line()).await.expect("in time").unwrap().expect("a line");
        let address = line.split("http://").nth(1).and_then(|url| url.strip_suffix("/mcp"));
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Server { child, address }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    async fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        self.send(format!("{head}\r\n{body}").as_bytes()).await
    }

    /// Sends a request as it is.
    async fn send(&self, request: &[u8]) -> Reply {
        let mut stream = TcpStream::connect(&self.address).await.expect("the server listens");
        // The server may refuse before it has read all.
        let _ = stream.write_all(request).await;
        let mut body = BufReader::new(stream);
        let mut headers = String::new();
        while !headers.ends_with("\r\n\r\n") {
            assert!(body.read_line(&mut headers).await.expect("the server answers") > 0, "{headers}");
        }
        let status = headers.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Reply { status, headers: headers.to_lowercase(), body }
    }

    pub(crate) async fn post(&self, headers: &[(&str, &str)], message: &Value) -> Reply {
        let mut all = vec![("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
        all.extend(headers);
        self.request("POST", "/mcp", &all, &message.to_string()).await
    }

    async fn get(&self, path: &str) -> String {
        self.request("GET", path, &[], "").await.text().await
    }
}

impl Reply {
    async fn text(mut self) -> String {
        let mut text = String::new();
        self.body.read_to_string(&mut text).await.expect("text");
        text
    }

    /// The next message, out of a stream of events or a body.
    pub(crate) async fn message(&mut self) -> Value {
        let reading = async {
            loop {
                let mut line = String::new();
                assert!(self.body.read_line(&mut line).await.expect("text") > 0, "a message before the end");
                let data = line.strip_prefix("data:").unwrap_or(&line).trim();
                if let Ok(message @ Value::Object(_)) = serde_json::from_str(data) {
                    return message;
                }
            }
        };
        tokio::time::timeout(PATIENCE, reading).await.expect("a message in time")
    }
}

/// A session of the legacy era, without a GET stream.
pub(crate) struct Session<'a> {
    server: &'a Server,
    id: String,
    next: u64,
}

impl<'a> Session<'a> {
    pub(crate) async fn open(server: &'a Server, roots: Value) -> Self {
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {"roots": roots},
            "clientInfo": {"name": "by hand", "version": "1"}});
        let mut reply =
            server.post(&[], &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
        reply.message().await;
        let id = reply.headers.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session");
        let session = Session { server, id: id.to_owned(), next: 1 };
        assert_eq!(session.notify("notifications/initialized").await, 202);
        session
    }

    pub(crate) async fn notify(&self, method: &str) -> u16 {
        self.post(&json!({"jsonrpc": "2.0", "method": method})).await.status
    }

    async fn post(&self, message: &Value) -> Reply {
        self.server.post(&[("Mcp-Session-Id", &self.id)], message).await
    }

    /// Calls a tool, and answers with these folders when it is asked.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value, folders: &[String]) -> (String, bool, usize) {
        let id = self.next;
        self.next += 1;
        let params = json!({"name": tool, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let (mut reply, mut asked) = (self.post(&call).await, 0);
        loop {
            let message = reply.message().await;
            if message["method"] == "roots/list" {
                asked += 1;
                let roots: Vec<Value> = folders.iter().map(|uri| json!({ "uri": uri })).collect();
                let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": {"roots": roots}});
                assert_eq!(self.post(&answer).await.status, 202);
            } else if message["id"] == id {
                let (text, is_error) = text_of(&message);
                return (text, is_error, asked);
            }
        }
    }
}

#[tokio::test]
async fn each_session_has_roots_of_its_own_and_the_next_call_sees_a_change() {
    let tree = Tree::new();
    let mut serve = mcp_roots(["serve"]);
    serve.arg(tree.at(""));
    let server = Server::start(serve).await;
    let [a, b] = ["a", "b"].map(|dir| uri_of(tree.at(dir)));
    let mut one = Session::open(&server, json!({"listChanged": true})).await;
    let mut other = Session::open(&server, json!({"listChanged": true})).await;
    let read = |dir: &str| json!({"path": tree.at(dir).join("name")});
    let [a_set, b_set] = [a, b].map(|uri| vec![uri]);
    assert_eq!(one.call("read_text_file", read("a"), &a_set).await, ("this is a\n".into(), false, 1));
    assert_eq!(other.call("read_text_file", read("b"), &b_set).await, ("this is b\n".into(), false, 1));
    assert!(one.call("read_text_file", read("b"), &a_set).await.1, "what is another's is not one's own");
    for round in 0..20 {
        let (set, now, gone) = if round % 2 == 0 { (&b_set, "b", "a") } else { (&a_set, "a", "b") };
        assert_eq!(one.notify("notifications/roots/list_changed").await, 202);
        let (text, is_error, asked) = one.call("read_text_file", read(gone), set).await;
        assert!(is_error && text.contains("outside"), "{text}");
        assert_eq!(asked, 1, "inside the next call");
        assert_eq!(one.call("read_text_file", read(now), set).await, (format!("this is {now}\n"), false, 0));
        assert_eq!(other.call("read_text_file", read("b"), &b_set).await.0, "this is b\n");
    }
    // A client may only narrow what the operator allows.
    let mut greedy = Session::open(&server, json!({})).await;
    let (text, _, _) = greedy.call("list_allowed_directories", json!({}), &["file:///etc".into()]).await;
    assert_eq!(text.trim_end(), "Allowed directories:");
    let metrics = server.get("/metrics").await;
    for metric in ["mcp_roots_sessions 3", "mcp_roots_questions_total 23", "mcp_roots_notifications_total 20"] {
        assert!(metrics.contains(metric), "{metric}: {metrics}");
    }
    let ended = server.request("DELETE", "/mcp", &[("Mcp-Session-Id", &one.id)], "").await;
    assert!(ended.status < 300, "{}", ended.headers);
    assert!(server.get("/metrics").await.contains("mcp_roots_notifications_total 20"), "what has ended still counts");
}

#[tokio::test]
async fn a_request_of_the_modern_era_is_returned_with_the_question() {
    let tree = Tree::new();
    let mut serve = mcp_roots(["serve"]);
    serve.arg(tree.at(""));
    let server = Server::start(serve).await;
    let call = async |capabilities: Value, input: Value| {
        let mut params = json!({
            "name": "read_text_file",
            "arguments": {"path": tree.at("a/name")},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "by hand", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": capabilities,
            },
        });
        params.as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
        let headers =
            [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "read_text_file")];
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        server.post(&headers, &message).await.message().await
    };
    let returned = call(json!({"roots": {}}), json!({})).await;
    assert_eq!(returned["result"]["resultType"], "input_required", "{returned}");
    let (key, question) = returned["result"]["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(question["method"], "roots/list");
    for (dir, works) in [("a", true), ("b", false)] {
        let answers = json!({ key: {"roots": [{"uri": uri_of(tree.at(dir))}]} });
        let (text, is_error) = text_of(&call(json!({"roots": {}}), json!({ "inputResponses": answers })).await);
        assert_eq!(!is_error, works, "{text}");
    }
    // Without roots, what the operator allows.
    assert_eq!(text_of(&call(json!({}), json!({})).await), ("this is a\n".into(), false));
}

#[tokio::test]
async fn who_may_not_connect_is_told_so_and_the_server_lives_on() {
    let tree = Tree::new();
    std::fs::write(tree.at("token"), "secret\n").unwrap();
    let mut serve = mcp_roots(["serve", "--max-body", "10000", "--max-sessions", "2", "--token-file"]);
    serve.arg(tree.at("token")).arg(tree.at("a"));
    let mut server = Server::start(serve).await;
    assert_eq!(server.get("/health").await, "ok\n", "it is known to be alive without the token");
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"}}});
    let token = ("Authorization", "Bearer secret");
    let large = json!({"jsonrpc": "2.0", "id": 0, "method": "ping", "params": {"x": "x".repeat(20_000)}});
    for (status, headers, message) in [
        (401, vec![], &hello),
        (401, vec![("Authorization", "Bearer secreT")], &hello),
        (401, vec![("Authorization", "Basic secret")], &hello),
        (403, vec![token, ("Origin", "https://elsewhere.example")], &hello),
        (403, vec![token, ("Host", "elsewhere.example")], &hello),
        (413, vec![token], &large),
        (404, vec![token, ("Mcp-Session-Id", "no-such-session")], &hello),
        (200, vec![token], &hello),
        (200, vec![token], &hello),
        (503, vec![token], &hello),
    ] {
        let reply = server.post(&headers, message).await;
        assert_eq!(reply.status, status, "{headers:?}: {}", reply.headers);
    }
    let refused = server.request("GET", "/metrics", &[], "").await;
    assert_eq!(refused.status, 401);
    let metrics = server.request("GET", "/metrics", &[token], "").await.text().await;
    assert!(metrics.contains("mcp_roots_sessions 2"), "{metrics}");

    // Told to end, it ends, although sessions are open.
    let told = Command::new("kill").arg(server.child.id().unwrap().to_string()).status().await;
    assert!(told.unwrap().success());
    let ended = tokio::time::timeout(PATIENCE, server.child.wait()).await.expect("in time").unwrap();
    assert!(ended.success(), "{ended}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_told_to_end_finishes_the_calls_in_flight() {
    let (tree, dir) = crate::large::many_files(20_000);
    let mut serve = mcp_roots(["serve"]);
    serve.arg(tree.at("a"));
    let mut server = Server::start(serve).await;
    let mut session = Session::open(&server, Value::Null).await;
    let searching = session.call("search_text", json!({"path": dir, "pattern": "needle"}), &[]);
    let ending = async {
        while !server.get("/metrics").await.contains("mcp_roots_working 1") {}
        let told = Command::new("kill").arg(server.child.id().unwrap().to_string()).status().await;
        assert!(told.unwrap().success());
    };
    let ((text, is_error, _), ()) = tokio::join!(searching, ending);
    assert_eq!((text.as_str(), is_error), ("No matches in 20000 files", false));
    let ended = tokio::time::timeout(PATIENCE, server.child.wait()).await.expect("in time").unwrap();
    assert!(ended.success(), "{ended}");
}

#[tokio::test]
async fn what_would_leave_a_machine_open_is_an_error_of_usage() {
    let tree = Tree::new();
    let dir = tree.at("a").display().to_string();
    for (arguments, said) in [
        (vec!["--http", "127.0.0.1:0"], "give DIRs"),
        (vec!["--http", "127.0.0.1:0", "--policy", "merge", &dir], "give DIRs"),
        (vec!["--http", "0.0.0.0:0", &dir], "--allow-remote"),
        (vec!["--http", "0.0.0.0:0", "--allow-remote", &dir], "a token"),
        (vec!["--http", "nowhere", &dir], "invalid"),
        (vec!["--allow-remote", &dir], "--http"),
    ] {
        let mut serve = mcp_roots(["serve"]);
        let output =
            serve.args(&arguments).env_remove("MCP_ROOTS_TOKEN").stderr(Stdio::piped()).output().await.unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(said), "{arguments:?}: {text}");
    }
}
