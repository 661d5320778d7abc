//! The modern era on a server's side: a handler awaits roots as ever, and its request is returned with the question.

use std::collections::BTreeMap;

use mcp_roots::core::mapping::Mapping;
use mcp_roots::{Policy, Roots, TrackOptions, track};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, InitializeResult,
    InputRequiredResult, ListResourcesResult, PaginatedRequestParams, ServerCapabilities,
};
use rmcp::service::RequestContext;
use rmcp::transport::IntoTransport;
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

use crate::pair::{Folders, told};

/// A server with a tool for each way to need roots, and something else besides.
#[derive(Clone)]
pub(crate) struct Asking {
    roots: Roots,
}

impl Asking {
    pub(crate) fn new(roots: &Roots) -> Self {
        Asking { roots: roots.clone() }
    }

    async fn tell(&self) -> CallToolResponse {
        match self.roots.current().await {
            Ok(snapshot) => text(&told(&snapshot)),
            Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]).into(),
        }
    }
}

fn text(text: &str) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

/// Returned with a question of the handler's own, and a state of its own.
fn ask_for_a_name() -> CallToolResponse {
    let question = json!({"method": "elicitation/create", "params": {
        "mode": "form", "message": "Your name?", "requestedSchema": {"type": "object", "properties": {}},
    }});
    let questions = BTreeMap::from([("name".to_owned(), serde_json::from_value(question).expect("an elicitation"))]);
    InputRequiredResult::new(Some(questions), Some("the handler's own".into())).into()
}

impl ServerHandler for Asking {
    fn get_info(&self) -> InitializeResult {
        InitializeResult::new(ServerCapabilities::builder().enable_tools().enable_resources().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.input_responses.as_ref().and_then(|responses| responses.get("name"));
        Ok(match (request.name.as_ref(), name) {
            ("hello", _) => text("hello"),
            ("tell", _) => self.tell().await,
            ("tell-again", _) => {
                self.tell().await;
                self.roots.recheck();
                self.tell().await
            }
            // Both in one go.
            ("both", None) => {
                self.roots.want();
                ask_for_a_name()
            }
            // One after the other: the roots first, or the name.
            ("roots-first", None) => {
                self.tell().await;
                ask_for_a_name()
            }
            ("name-first", None) => ask_for_a_name(),
            ("both" | "roots-first" | "name-first", Some(name)) => {
                assert_eq!(request.request_state.as_deref(), Some("the handler's own"));
                match self.roots.current().await {
                    Ok(snapshot) => text(&format!("{} {}", name["content"]["name"], told(&snapshot))),
                    Err(error) => text(&error.to_string()),
                }
            }
            (other, _) => text(other),
        })
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        match self.roots.current().await {
            Ok(snapshot) => Err(ErrorData::internal_error(told(&snapshot), None)),
            Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
        }
    }
}

/// A client made by hand: one request, one line, one answer.
struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    to_server: WriteHalf<DuplexStream>,
    declared: Value,
    id: u64,
}

impl Client {
    fn of(options: TrackOptions, declared: Value) -> Self {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (transport, roots) = track(near, options);
        Client::served(roots, transport, far, declared)
    }

    /// A client of one of several servers, as there is one for each request over HTTP, that hold the same roots.
    fn of_one_of_several(roots: &Roots) -> Self {
        let (near, far) = tokio::io::duplex(64 * 1024);
        Client::served(roots.clone(), near, far, declared())
    }

    fn served<T, E, A>(roots: Roots, transport: T, far: DuplexStream, declared: Value) -> Self
    where
        T: IntoTransport<RoleServer, E, A> + Send + 'static,
        E: std::error::Error + Send + Sync + 'static,
        A: 'static,
    {
        tokio::spawn(async move {
            let server = roots.serving(Asking::new(&roots)).serve(transport).await.expect("a client");
            server.waiting().await
        });
        let (from_server, to_server) = tokio::io::split(far);
        Client { lines: BufReader::new(from_server).lines(), to_server, declared, id: 0 }
    }

    /// The whole response.
    async fn request(&mut self, method: &str, mut params: Value) -> Value {
        self.id += 1;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "by hand", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": self.declared,
        });
        let line = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}).to_string() + "\n";
        self.to_server.write_all(line.as_bytes()).await.expect("the server reads");
        let line = self.lines.next_line().await.expect("the server writes").expect("a response");
        let response: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(response["id"], self.id, "nothing comes but the answer: {response}");
        response
    }

    async fn call(&mut self, tool: &str, input: Value) -> Value {
        let mut params = json!({"name": tool, "arguments": {"a": 1}});
        params.as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
        self.request("tools/call", params).await
    }

    /// Calls and answers until it is done: the text, and what was asked for in each round.
    async fn through(&mut self, tool: &str, roots: &Value) -> (String, Vec<Vec<String>>) {
        let (mut input, mut rounds) = (json!({}), Vec::new());
        for _ in 0..10 {
            let result = self.call(tool, input).await["result"].take();
            if result["resultType"] != "input_required" {
                return (result["content"][0]["text"].as_str().expect("a text").into(), rounds);
            }
            let questions = result["inputRequests"].as_object().expect("questions");
            let mut methods = Vec::new();
            let mut answers = json!({});
            for (key, question) in questions {
                methods.push(question["method"].as_str().expect("a method").to_owned());
                answers[key] = match question["method"].as_str() {
                    Some("roots/list") => roots.clone(),
                    _ => json!({"action": "accept", "content": {"name": "Ada"}}),
                };
            }
            methods.sort();
            rounds.push(methods);
            input = json!({ "inputResponses": answers });
            if let Some(state) = result["requestState"].as_str() {
                input["requestState"] = json!(state);
            }
        }
        panic!("it does not end: {rounds:?}");
    }
}

fn declared() -> Value {
    json!({"roots": {}, "elicitation": {}})
}

fn roots(uris: &[&str]) -> Value {
    let roots: Vec<Value> = uris.iter().map(|uri| json!({ "uri": uri })).collect();
    json!({ "roots": roots })
}

#[tokio::test]
async fn a_handler_that_awaits_roots_has_its_request_returned_and_run_again() {
    let mut client = Client::of(TrackOptions::default(), declared());
    assert_eq!(client.through("hello", &roots(&[])).await, ("hello".into(), vec![]), "only who needs them asks");
    let asked = vec![vec!["roots/list".to_owned()]];
    for set in [&["file:///a"][..], &["file:///b", "file:///c"], &[]] {
        let (text, rounds) = client.through("tell", &roots(set)).await;
        assert_eq!(text, set.join(" ").replace("file://", ""));
        assert_eq!(rounds, asked, "each request asks anew: nothing is kept");
    }
    let returned = client.call("tell", json!({})).await["result"].take();
    assert_eq!(returned["requestState"], Value::Null, "there is nothing to keep in it");
}

#[tokio::test]
async fn a_request_is_asked_about_once_however_often_its_handler_looks_and_whatever_is_taken_for_old() {
    for refresh in ["static", "poll:1ms", "on-request:0s"] {
        let options = TrackOptions::default().configure(|config| config.refresh = refresh.parse().unwrap());
        let mut client = Client::of(options, declared());
        let (text, rounds) = client.through("tell-again", &roots(&["file:///a"])).await;
        assert_eq!((text.as_str(), rounds.len()), ("/a", 1), "{refresh}");
    }
}

#[tokio::test]
async fn a_client_that_did_not_declare_roots_is_never_asked() {
    let folders = Folders::new();
    let mut alone = Client::of(TrackOptions::default(), json!({}));
    assert_eq!(alone.through("tell", &roots(&["file:///a"])).await, (String::new(), vec![]));
    let options = TrackOptions::default().operator_dirs([folders.at("a")]).unwrap();
    let mut with_dirs = Client::of(options, json!({}));
    assert_eq!(with_dirs.through("tell", &roots(&["file:///x"])).await.0, folders.at("a").display().to_string());
    // An answer that nobody asked for is nobody's.
    let unasked = json!({"inputResponses": {"mcp-roots/roots": roots(&["file:///x"])}});
    let result = with_dirs.call("tell", unasked).await;
    assert_eq!(result["result"]["content"][0]["text"], folders.at("a").display().to_string());
}

#[tokio::test]
async fn the_operators_policy_holds_as_ever() {
    let folders = Folders::new();
    let inside = format!("file://{}", folders.at("a/inside").display());
    for (policy, expected, asks) in [
        (Policy::Narrow, folders.at("a/inside").display().to_string(), 1),
        (Policy::Merge, format!("{} {} /x", folders.at("a").display(), folders.at("a/inside").display()), 1),
        (Policy::Pin, folders.at("a").display().to_string(), 0),
    ] {
        let options = TrackOptions::default().policy(policy).operator_dirs([folders.at("a")]).unwrap();
        let mut client = Client::of(options, declared());
        let (text, rounds) = client.through("tell", &roots(&[&inside, "file:///x"])).await;
        assert_eq!((text, rounds.len()), (expected, asks), "{policy}");
    }
}

#[tokio::test]
async fn the_clients_folders_are_mapped_as_ever() {
    let folders = Folders::new();
    let mapped = [format!("/home/me={}", folders.at("a").display()), format!(r"C:\b={}", folders.at("b").display())];
    let mapping = Mapping::new(mapped.iter().map(|text| text.parse().unwrap())).unwrap();
    let options = TrackOptions::default().policy(Policy::Narrow).operator_dirs([folders.at("a"), folders.at("b")]);
    let options = options.unwrap().configure(|config| config.mapping = mapping);
    let mut client = Client::of(options, declared());
    let (text, rounds) = client.through("tell", &roots(&["file:///home/me/x", "file:///c%3A/B", "file:///c"])).await;
    assert_eq!(text, format!("{} {}", folders.at("a/x").display(), folders.at("b").display()));
    assert_eq!(rounds.len(), 1);
}

#[tokio::test]
async fn roots_and_something_else_are_asked_for_together_or_one_after_the_other_and_nothing_is_lost() {
    let mut client = Client::of(TrackOptions::default(), declared());
    let set = roots(&["file:///a"]);
    let (one, other, both) = (
        vec!["roots/list".to_owned()],
        vec!["elicitation/create".to_owned()],
        vec!["elicitation/create".to_owned(), "roots/list".to_owned()],
    );
    for (tool, expected) in
        [("both", vec![both.clone()]), ("roots-first", vec![one.clone(), both]), ("name-first", vec![other, one])]
    {
        let (text, rounds) = client.through(tool, &set).await;
        assert_eq!(text, "\"Ada\" /a", "{tool}");
        assert_eq!(rounds, expected, "{tool}");
    }
}

/// The state with which a call of `tool` comes back that has brought something along.
async fn state_of(client: &mut Client, tool: &str) -> String {
    let named = json!({
        "inputResponses": {"name": {"action": "accept", "content": {"name": "Ada"}}},
        "requestState": "the handler's own",
    });
    client.call(tool, named).await["result"]["requestState"].as_str().expect("a state").to_owned()
}

async fn retry(client: &mut Client, tool: &str, state: &str) -> Value {
    let answers = json!({ "mcp-roots/roots": roots_of_a() });
    client.call(tool, json!({"inputResponses": answers, "requestState": state})).await
}

#[tokio::test]
async fn a_state_that_was_altered_or_belongs_to_another_request_is_refused_and_the_client_told_which() {
    let mut client = Client::of(TrackOptions::default(), declared());
    let state = state_of(&mut client, "name-first").await;
    assert_eq!(retry(&mut client, "name-first", &state).await["result"]["content"][0]["text"], "\"Ada\" /a");
    let others = state_of(&mut client, "both").await;
    let mut refused = vec![
        ("name-first", "mcp-roots:nonsense".to_owned(), "was altered"),
        ("name-first", "mcp-roots:".to_owned(), "was altered"),
        ("name-first", format!("{state}A"), "was altered"),
        ("name-first", state[..state.len() - 1].to_owned(), "was altered"),
        ("both", state.clone(), "belongs to another request"),
        ("name-first", others, "belongs to another request"),
    ];
    // Any one character, wherever it is.
    for at in "mcp-roots:".len()..state.len() {
        let other = if &state[at..=at] == "A" { "B" } else { "A" };
        refused.push(("name-first", format!("{}{other}{}", &state[..at], &state[at + 1..]), "was altered"));
    }
    for (tool, state, why) in refused {
        let response = retry(&mut client, tool, &state).await;
        let said = response["error"]["message"].as_str().unwrap_or_else(|| panic!("{state}: {response}"));
        assert!(said.starts_with(&format!("requestState is refused: it {why}")), "{state}: {said}");
        assert_eq!(response["error"]["code"], -32602);
    }
    // Other arguments make it another request too.
    let other = json!({"name": "name-first", "arguments": {"a": 2}, "requestState": state});
    let said = client.request("tools/call", other).await["error"]["message"].take();
    assert!(said.as_str().unwrap().contains("belongs to another request"), "{said}");
    let again = retry(&mut client, "name-first", &state).await;
    assert_eq!(again["result"]["content"][0]["text"], "\"Ada\" /a", "the server lives on");
}

#[tokio::test(start_paused = true)]
async fn a_state_that_has_expired_is_refused() {
    let mut client = Client::of(TrackOptions::default(), declared());
    let state = state_of(&mut client, "name-first").await;
    tokio::time::advance(std::time::Duration::from_secs(10 * 60)).await;
    assert_eq!(retry(&mut client, "name-first", &state).await["result"]["content"][0]["text"], "\"Ada\" /a");
    tokio::time::advance(std::time::Duration::from_millis(2)).await;
    let error = retry(&mut client, "name-first", &state).await["error"].take();
    assert_eq!(error["code"], -32602, "{error}");
    assert!(error["message"].as_str().unwrap().contains("it has expired"), "{error}");
    let anew = state_of(&mut client, "name-first").await;
    assert_eq!(retry(&mut client, "name-first", &anew).await["result"]["content"][0]["text"], "\"Ada\" /a");
}

#[tokio::test]
async fn a_request_may_come_again_to_another_server_that_holds_the_same_roots() {
    let roots = Roots::of_requests(TrackOptions::default());
    let [mut one, mut other] = [(); 2].map(|()| Client::of_one_of_several(&roots));
    let named = json!({
        "inputResponses": {"name": {"action": "accept", "content": {"name": "Ada"}}},
        "requestState": "the handler's own",
    });
    let state = one.call("name-first", named).await["result"]["requestState"].take();
    let again = json!({"inputResponses": {"mcp-roots/roots": roots_of_a()}, "requestState": state});
    assert_eq!(other.call("name-first", again.clone()).await["result"]["content"][0]["text"], "\"Ada\" /a");
    let mut stranger = Client::of_one_of_several(&Roots::of_requests(TrackOptions::default()));
    assert_eq!(stranger.call("name-first", again).await["error"]["code"], -32602);
}

fn roots_of_a() -> Value {
    roots(&["file:///a"])
}

#[tokio::test]
async fn an_answer_that_is_no_list_is_an_error_and_not_asked_for_again() {
    let mut client = Client::of(TrackOptions::default(), declared());
    let (text, rounds) = client.through("tell", &json!({"roots": "none"})).await;
    assert!(text.contains("roots/list was answered with something else") && rounds.len() == 1, "{text} {rounds:?}");
    // And one bad root loses itself alone.
    let (text, _) = client.through("tell", &roots(&["http://x", "file:///a"])).await;
    assert_eq!(text, "/a");
}

#[tokio::test]
async fn a_request_that_cannot_be_returned_says_so() {
    let mut client = Client::of(TrackOptions::default(), declared());
    client.call("hello", json!({})).await;
    let error = client.request("resources/list", json!({})).await["error"].take();
    assert!(error["message"].as_str().unwrap().contains("only be asked by a tools/call"), "{error}");
    // What the client's answer could not take away is there all the same.
    let folders = Folders::new();
    let options = TrackOptions::default().policy(Policy::Merge).operator_dirs([folders.at("a")]).unwrap();
    let mut client = Client::of(options, declared());
    client.call("hello", json!({})).await;
    let listed = client.request("resources/list", json!({})).await["error"]["message"].take();
    assert_eq!(listed, folders.at("a").display().to_string());
}

#[tokio::test]
async fn list_changed_changes_nothing_and_the_legacy_era_is_as_ever() {
    let mut client = Client::of(TrackOptions::default(), declared());
    client.call("hello", json!({})).await;
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}).to_string() + "\n";
    client.to_server.write_all(changed.as_bytes()).await.unwrap();
    assert_eq!(client.through("tell", &roots(&["file:///a"])).await.0, "/a");
}
