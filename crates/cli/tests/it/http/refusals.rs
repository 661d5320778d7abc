//! Whatever is wrong with a request over HTTP is refused with the right status and says what is wrong, and the server
//! serves the next client as ever.
//!
//! Statuses are those of 2025-11-25, basic/transports, and 2026-07-28, basic/transports/streamable-http.

use serde_json::{Value, json};

use super::{Server, Session};
use crate::client::{PATIENCE, text_of, uri_of};
use crate::tree::{Tree, mcp_roots};

const JSON: (&str, &str) = ("Content-Type", "application/json");
const EITHER: (&str, &str) = ("Accept", "application/json, text/event-stream");
const MODERN: (&str, &str) = ("MCP-Protocol-Version", "2026-07-28");
const CALLS: (&str, &str) = ("Mcp-Method", "tools/call");
const READS: (&str, &str) = ("Mcp-Name", "read_text_file");

/// A server on a tree, and what a good client does there.
struct Served {
    tree: Tree,
    server: Server,
}

impl Served {
    async fn with(options: &[&str]) -> Self {
        let tree = Tree::new();
        let mut serve = mcp_roots(["serve"]);
        serve.args(options).arg(tree.at(""));
        Served { server: Server::start(serve).await, tree }
    }

    fn read(&self, dir: &str) -> Value {
        json!({"path": self.tree.at(dir).join("name")})
    }

    fn roots(&self, dir: &str) -> [String; 1] {
        [uri_of(self.tree.at(dir))]
    }

    /// A client that does nothing wrong is served: it opens a session, reads a file, and ends the session.
    async fn serves(&self) {
        let mut session = Session::open(&self.server, json!({"listChanged": true})).await;
        let read = session.call("read_text_file", self.read("a"), &self.roots("a")).await;
        assert_eq!(read, ("this is a\n".into(), false, 1));
        assert_eq!(self.delete(&session.id).await, 202);
    }

    async fn delete(&self, session: &str) -> u16 {
        self.server.request("DELETE", "/mcp", &[("Mcp-Session-Id", session)], "").await.status
    }

    /// Sends what is to be refused, and then serves a good client.
    async fn refuses(&self, what: &str, request: Request<'_>, status: u16, says: &str) {
        let reply = self.server.request(request.method, "/mcp", &request.headers, &request.body).await;
        let (got, headers, text) = (reply.status, reply.headers.clone(), reply.text().await);
        assert_eq!(got, status, "{what}: {headers}{text}");
        assert!(text.contains(says), "{what}: {text}");
        self.serves().await;
    }

    /// A call of the modern era that reads the file in `a`, from a client with roots.
    fn call(&self, input: &Value) -> Value {
        let mut params = json!({"name": "read_text_file", "arguments": self.read("a"), "_meta": meta("2026-07-28")});
        params.as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    }
}

struct Request<'a> {
    method: &'a str,
    headers: Vec<(&'a str, &'a str)>,
    body: String,
}

fn post<'a>(headers: &[(&'a str, &'a str)], body: impl ToString) -> Request<'a> {
    Request { method: "POST", headers: [&[JSON, EITHER], headers].concat(), body: body.to_string() }
}

fn bare<'a>(method: &'a str, headers: &[(&'a str, &'a str)]) -> Request<'a> {
    Request { method, headers: headers.to_vec(), body: String::new() }
}

fn meta(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "by hand", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"roots": {}},
    })
}

fn hello(version: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": version,
        "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"}}})
}

fn ping() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})
}

#[tokio::test]
async fn what_is_no_request_of_this_transport_is_refused() {
    let served = Served::with(&["--max-body", "10000"]).await;
    let hello = hello("2025-11-25");
    let only = |headers: &[(&'static str, &'static str)]| Request {
        method: "POST",
        headers: headers.to_vec(),
        body: hello.to_string(),
    };
    let large = json!({"jsonrpc": "2.0", "id": 0, "method": "ping", "params": {"x": "x".repeat(20_000)}});
    for (what, request, status, says) in [
        ("no Accept", only(&[JSON]), 406, "text/event-stream"),
        ("half an Accept", only(&[JSON, ("Accept", "application/json")]), 406, "text/event-stream"),
        ("no Content-Type", only(&[EITHER]), 415, "application/json"),
        ("another Content-Type", only(&[EITHER, ("Content-Type", "text/plain")]), 415, "application/json"),
        ("no JSON", post(&[], "{nonsense"), 400, "-32700"),
        ("half a JSON", post(&[], r#"{"jsonrpc": "2.0", "#), 400, "-32700"),
        ("nothing", post(&[], ""), 400, "-32700"),
        ("a batch", post(&[], json!([hello, ping()])), 400, "-32600"),
        ("an empty batch", post(&[], "[]"), 400, "-32600"),
        ("JSON that is no message", post(&[], r#"{"hello": "world"}"#), 400, "-32600"),
        ("too large", post(&[], &large), 413, "10000 bytes"),
        ("another method", Request { method: "PUT", ..post(&[], &hello) }, 405, "Not Allowed"),
        ("yet another", Request { method: "PATCH", ..post(&[], &hello) }, 405, "Not Allowed"),
        ("another's page", post(&[("Origin", "https://elsewhere.example")], &hello), 403, "Origin"),
        ("a page of no site", post(&[("Origin", "null")], &hello), 403, "Origin"),
        ("another's name", post(&[("Host", "elsewhere.example")], &hello), 403, "Host"),
        ("a stream for no reader", bare("GET", &[("Accept", "text/html")]), 406, "text/event-stream"),
    ] {
        served.refuses(what, request, status, says).await;
    }

    // Without a Content-Length nobody knows beforehand how much will come.
    let head = format!("POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", served.server.address);
    let head = format!("{head}Content-Type: application/json\r\nAccept: {}\r\n", EITHER.1);
    let chunks = format!("1000\r\n{}\r\n", "x".repeat(0x1000)).repeat(4);
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n");
    let reply = served.server.send(chunked.as_bytes()).await;
    assert_eq!(reply.status, 413, "{}", reply.headers);
    served.serves().await;
}

#[tokio::test]
async fn a_request_of_no_session_or_of_one_that_has_ended_is_refused() {
    let served = Served::with(&[]).await;
    let ended = Session::open(&served.server, json!({})).await.id;
    assert_eq!(served.delete(&ended).await, 202);
    let ended = ("Mcp-Session-Id", ended.as_str());
    let unknown = ("Mcp-Session-Id", "no-such-session");
    let listens = ("Accept", "text/event-stream");
    let unsupported = ("MCP-Protocol-Version", "1999-01-01");
    let earlier = ("MCP-Protocol-Version", "2025-06-18");
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let answer = json!({"jsonrpc": "2.0", "id": 7, "result": {"roots": []}});
    let (none, gone) = ("Session ID is required", "Session not found");
    for (what, request, status, says) in [
        ("no session", post(&[], ping()), 400, none),
        ("a notification of none", post(&[], &notification), 400, none),
        ("an answer of none", post(&[], &answer), 400, none),
        ("a stream of none", bare("GET", &[listens]), 400, none),
        ("the end of none", bare("DELETE", &[]), 400, none),
        ("an unknown session", post(&[unknown], ping()), 404, gone),
        ("a handshake in an unknown one", post(&[unknown], hello("2025-11-25")), 404, gone),
        ("a stream of an unknown one", bare("GET", &[listens, unknown]), 404, gone),
        ("the end of an unknown one", bare("DELETE", &[unknown]), 404, gone),
        ("an ended session", post(&[ended], ping()), 404, gone),
        ("a notification of an ended one", post(&[ended], &notification), 404, gone),
        ("an answer of an ended one", post(&[ended], &answer), 404, gone),
        ("a stream of an ended one", bare("GET", &[listens, ended]), 404, gone),
        ("the end of an ended one", bare("DELETE", &[ended]), 404, gone),
        ("a version that does not exist", post(&[unsupported], ping()), 400, "Unsupported MCP-Protocol-Version"),
        ("another version than the handshake's", post(&[earlier], hello("2025-11-25")), 400, "does not match"),
    ] {
        served.refuses(what, request, status, says).await;
    }
    // In a session that lives, too. It lives on.
    let mut session = Session::open(&served.server, json!({"listChanged": true})).await;
    let id = session.id.clone();
    let request = post(&[("Mcp-Session-Id", id.as_str()), unsupported], ping());
    served.refuses("in a session", request, 400, "Unsupported MCP-Protocol-Version").await;
    let read = session.call("read_text_file", served.read("b"), &served.roots("b")).await;
    assert_eq!(read.0, "this is b\n");
    // A handshake is not refused for its version: the server names one that it has (2025-11-25, basic/lifecycle).
    let mut reply = served.server.post(&[], &hello("1999-01-01")).await;
    assert_eq!((reply.status, &reply.message().await["result"]["protocolVersion"]), (200, &json!("2025-11-25")));
}

#[tokio::test]
async fn a_session_that_has_expired_is_not_found() {
    let served = Served::with(&["--idle", "2s"]).await;
    let session = Session::open(&served.server, json!({})).await;
    let expiring = async { while !served.server.get("/metrics").await.contains("mcp_roots_sessions 0") {} };
    tokio::time::timeout(PATIENCE, expiring).await.expect("it expires");
    let id = ("Mcp-Session-Id", session.id.as_str());
    served.refuses("an expired session", post(&[id], ping()), 404, "Session not found").await;
    served.refuses("its end", bare("DELETE", &[id]), 404, "Session not found").await;
}

#[tokio::test]
async fn headers_of_the_modern_era_that_are_missing_or_contradict_the_body_are_refused() {
    let served = Served::with(&[]).await;
    let call = served.call(&json!({}));
    let mut other_version = call.clone();
    other_version["params"]["_meta"] = meta("2099-01-01");
    let mut no_meta = call.clone();
    no_meta["params"].as_object_mut().unwrap().remove("_meta");
    let unknown = json!({"jsonrpc": "2.0", "id": 1, "method": "no/such", "params": {"_meta": meta("2026-07-28")}});
    let version = |version: &'static str| ("MCP-Protocol-Version", version);
    let (lists, writes) = (("Mcp-Method", "tools/list"), ("Mcp-Name", "write_file"));
    for (what, headers, body, status, code, says) in [
        ("no version", vec![CALLS, READS], &call, 400, -32020, "requires MCP-Protocol-Version"),
        ("an older one", vec![version("2025-11-25"), CALLS, READS], &call, 400, -32020, "does not match"),
        ("a newer one", vec![version("2099-01-01"), CALLS, READS], &call, 400, -32020, "does not match"),
        ("both newer", vec![version("2099-01-01"), CALLS, READS], &other_version, 400, -32022, "2026-07-28"),
        ("no _meta", vec![MODERN, CALLS, READS], &no_meta, 400, -32602, "clientCapabilities"),
        ("no method", vec![MODERN, READS], &call, 400, -32020, "missing required Mcp-Method"),
        ("another method", vec![MODERN, lists, READS], &call, 400, -32020, "does not match body method"),
        ("no name", vec![MODERN, CALLS], &call, 400, -32020, "missing required Mcp-Name"),
        ("another name", vec![MODERN, CALLS, writes], &call, 400, -32020, "does not match body value"),
        ("no such method", vec![MODERN, ("Mcp-Method", "no/such")], &unknown, 404, -32601, "no/such"),
    ] {
        let mut reply = served.server.post(&headers, body).await;
        let error = reply.message().await["error"].take();
        assert_eq!((reply.status, &error["code"]), (status, &json!(code)), "{what}: {error}");
        assert!(error.to_string().contains(says), "{what}: {error}");
        served.serves().await;
    }
    // There are neither streams nor sessions in this era.
    served.refuses("a stream", bare("GET", &[MODERN, ("Accept", "text/event-stream")]), 405, "Not Allowed").await;
    served.refuses("an end", bare("DELETE", &[MODERN, ("Mcp-Session-Id", "any")]), 405, "Not Allowed").await;
}

#[tokio::test]
async fn a_state_that_was_altered_or_is_anothers_is_refused() {
    let served = Served::with(&[]).await;
    let modern = async |call: &Value| {
        let name = call["params"]["name"].as_str().expect("a name");
        let mut reply = served.server.post(&[MODERN, CALLS, ("Mcp-Name", name)], call).await;
        assert_eq!(reply.status, 200, "an error of the call, not of the transport");
        reply.message().await
    };
    // What comes with the first round is put aside for the last: that is what the state is for.
    let aside = json!({"inputResponses": {"another": {"action": "decline"}}});
    let returned = modern(&served.call(&aside)).await["result"].take();
    let state = returned["requestState"].as_str().unwrap_or_else(|| panic!("{returned}")).to_owned();
    let key = returned["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let again = |state: &str| {
        let roots = json!({"roots": [{"uri": served.roots("a")[0]}]});
        served.call(&json!({"inputResponses": { &key: roots }, "requestState": state}))
    };
    let good = async || assert_eq!(text_of(&modern(&again(&state)).await), ("this is a\n".into(), false));
    good().await;

    let middle = state.len() / 2;
    let other = if &state[middle..=middle] == "A" { "B" } else { "A" };
    let altered = format!("{}{other}{}", &state[..middle], &state[middle + 1..]);
    let mut of_other_arguments = again(&state);
    of_other_arguments["params"]["arguments"] = served.read("b");
    let mut of_other_tool = again(&state);
    of_other_tool["params"]["name"] = json!("get_file_info");
    for (what, call, says) in [
        ("altered", again(&altered), "was altered"),
        ("cut short", again(&state[..state.len() - 1]), "was altered"),
        ("made up", again("mcp-roots:rs1.e30.e30"), "was altered"),
        ("of other arguments", of_other_arguments, "belongs to another request"),
        ("of another tool", of_other_tool, "belongs to another request"),
    ] {
        let error = modern(&call).await["error"].take();
        let said = error["message"].as_str().unwrap_or_default();
        assert!(said.starts_with("requestState is refused: ") && said.contains(says), "{what}: {error}");
        assert_eq!(error["code"], -32602, "{what}");
        good().await;
        served.serves().await;
    }
    // Nor does a state of another server help.
    let stranger = Served::with(&[]).await;
    let mut reply = stranger.server.post(&[MODERN, CALLS, READS], &again(&state)).await;
    let said = reply.message().await["error"]["message"].to_string();
    assert!(said.contains("made by a server that has ended"), "{said}");
}

#[tokio::test]
async fn no_header_gets_a_session_past_the_limit() {
    let served = Served::with(&["--max-sessions", "2"]).await;
    let mut one = Session::open(&served.server, json!({})).await;
    let _other = Session::open(&served.server, json!({})).await;
    for headers in [
        vec![],
        vec![("Mcp-Method", "initialize")],
        vec![("Mcp-Method", "tools/call"), READS],
        vec![("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Method", "initialize")],
    ] {
        let reply = served.server.post(&headers, &hello("2025-11-25")).await;
        let (status, head, text) = (reply.status, reply.headers.clone(), reply.text().await);
        assert_eq!(status, 503, "{headers:?}: {head}{text}");
        assert!(head.contains("retry-after: 60"), "{head}");
        assert_eq!(text, "there are 2 sessions, which is the limit; try again later\n");
    }
    // Who has a session goes on, and who needs none is not turned away.
    let read = one.call("read_text_file", served.read("a"), &served.roots("a")).await;
    assert_eq!(read.0, "this is a\n");
    let mut reply = served.server.post(&[MODERN, CALLS, READS], &served.call(&json!({}))).await;
    assert_eq!(reply.message().await["result"]["resultType"], "input_required");
    // There is room as soon as one ends.
    assert_eq!(served.delete(&one.id).await, 202);
    served.serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_opens_as_many_sessions_as_there_may_be() {
    let served = std::sync::Arc::new(Served::with(&["--max-sessions", "7"]).await);
    let mut burst = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let served = served.clone();
        burst.spawn(async move {
            let reply = served.server.post(&[], &hello("2025-11-25")).await;
            (reply.status, reply.text().await)
        });
    }
    let replies = burst.join_all().await;
    let count = |status: u16| replies.iter().filter(|(got, _)| *got == status).count();
    assert_eq!((count(200), count(503)), (7, 43), "{replies:?}");
    assert!(served.server.get("/metrics").await.contains("mcp_roots_sessions 7"));
}
