//! What a change of roots costs, and who sees the old ones: `serve` beside a plain `rmcp` server, over pipes, in
//! one run.
//!
//! Run with `cargo bench -p mcp-roots-cli`. It prints, for each server, how many calls written together with a
//! `list_changed` saw the roots from before it, and how long it takes from writing `list_changed` to the first call
//! that is served under the new roots, in round trips of a `ping` on the same pipe. Less than two is not to be had:
//! the question and its answer, then the call and its answer.
//!
//! And what it costs that nothing is kept from one request of the modern era to the next: a call that is returned for
//! roots and comes again, beside the same call of a client that has none to give, over pipes and over HTTP.

#[path = "../tests/it/client.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod client;
#[path = "../tests/it/load.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod load;
#[path = "../tests/it/many.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod many;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use client::{Answers, Client, line, list_changed, text_of};
use rmcp::service::NotificationContext;
use rmcp::{RoleServer, ServerHandler, ServiceExt, tool, tool_router};
use serde_json::{Value, json};
use tokio::process::Command;

/// The argument by which this program is the plain server.
const PLAIN: &str = "--plain-server";
const CHANGES: usize = 2_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    if std::env::args().any(|argument| argument == PLAIN) {
        runtime.block_on(serve_plainly());
        return;
    }
    runtime.block_on(async {
        println!("{CHANGES} changes, each written together with a call");
        let mut serve = Command::new(env!("CARGO_BIN_EXE_mcp-roots"));
        serve.args(["serve", "--log", "off"]);
        measure("mcp-roots serve", serve).await;
        let mut plain = Command::new(std::env::current_exe().expect("a program knows where it is"));
        plain.arg(PLAIN);
        measure("plain rmcp", plain).await;
        measure_modern().await;
    });
    runtime.shutdown_background();
}

async fn measure(name: &str, server: Command) {
    let dirs = [std::env::temp_dir(), std::env::current_dir().expect("a directory")];
    let answers = |change: usize| Answers::Roots(vec![client::uri_of(&dirs[change % 2])]);
    let mut client = Client::connect(server, json!({"listChanged": true}), answers(0)).await;
    client.call("list_allowed_directories", json!({})).await;

    let (mut pings, mut calls) = (Vec::new(), Vec::new());
    let (mut stale, mut effects) = (0, Vec::new());
    for change in 1..=CHANGES {
        let started = Instant::now();
        client.ping().await;
        pings.push(started.elapsed());
        let started = Instant::now();
        client.call("list_allowed_directories", json!({})).await;
        calls.push(started.elapsed());
        let expected = dirs[change % 2].display().to_string();
        client.answer_with(answers(change));
        let started = Instant::now();
        let (call, response) = client.prepare_call("list_allowed_directories", json!({}));
        client.write(&[line(&list_changed()), call].concat());
        let mut text = text_of(&response.await.expect("a response")).0;
        stale += usize::from(!text.ends_with(&expected));
        // The first call that is served under the new roots, for a server that did not hold the first of all.
        while !text.ends_with(&expected) {
            text = client.call("list_allowed_directories", json!({})).await.0;
        }
        effects.push(started.elapsed());
    }
    let [ping, call, effect] = [pings, calls, effects].map(median);
    println!(
        "{name:16} {stale:5} calls saw the old roots; a change took effect after {:.2} round trips ({:.0} µs; a ping \
         {:.0} µs, a call without a change {:.0} µs)",
        effect.as_secs_f64() / ping.as_secs_f64(),
        effect.as_secs_f64() * 1e6,
        ping.as_secs_f64() * 1e6,
        call.as_secs_f64() * 1e6,
    );
}

/// Where there are directories of the operator's, a client without roots is served them, and none has to be asked for.
async fn measure_modern() {
    let dir = std::env::current_dir().expect("a directory");
    let serve = |options: &[&str]| {
        let mut serve = Command::new(env!("CARGO_BIN_EXE_mcp-roots"));
        serve.args(["serve", "--log", "off"]).args(options).arg(&dir);
        serve
    };
    let mut client = Client::start(&mut serve(&[]), Answers::Silence);
    compare("over pipes", async |params| client.request("tools/call", params).await["result"].take()).await;

    let (_server, http) = many::start(serve(&["--http", "127.0.0.1:0"])).await;
    let headers =
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: list_allowed_directories\r\n";
    compare("over HTTP", async |params| {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
        let mut response = http.send("POST", "/mcp", headers, &call).await.expect("a response");
        let result = response.message().await.expect("JSON").expect("a message")["result"].take();
        http.finish(response).await.expect("an end");
        result
    })
    .await;
}

async fn compare(how: &str, mut call: impl AsyncFnMut(Value) -> Value) {
    let root = client::uri_of(std::env::current_dir().expect("a directory"));
    let params = |capabilities: Value, input: Value| {
        let mut params = json!({"name": "list_allowed_directories", "arguments": {}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "by hand", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }});
        if !input.is_null() {
            params["inputResponses"] = input;
        }
        params
    };
    let (mut alone, mut asked) = (Vec::new(), Vec::new());
    for _ in 0..CHANGES {
        let started = Instant::now();
        let result = call(params(json!({}), Value::Null)).await;
        alone.push(started.elapsed());
        assert_eq!(result["isError"], false, "{result}");
        let started = Instant::now();
        let returned = call(params(json!({"roots": {}}), Value::Null)).await;
        let key = returned["inputRequests"].as_object().and_then(|questions| questions.keys().next());
        let key = key.unwrap_or_else(|| panic!("a question, and not {returned}"));
        let answer = json!({ key: {"roots": [{"uri": root}]} });
        let result = call(params(json!({"roots": {}}), answer)).await;
        asked.push(started.elapsed());
        assert_eq!(result["isError"], false, "{result}");
    }
    let [alone, asked] = [alone, asked].map(median);
    println!(
        "modern era, {how:10} a call that is returned for roots takes {:.2} times one that needs none ({:.0} µs, {:.0} µs)",
        asked.as_secs_f64() / alone.as_secs_f64(),
        asked.as_secs_f64() * 1e6,
        alone.as_secs_f64() * 1e6,
    );
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// What a server author writes with the SDK alone: a handler for the notification, which asks and stores.
#[derive(Clone, Default)]
struct Plain {
    roots: Arc<Mutex<Vec<String>>>,
}

#[tool_router]
impl Plain {
    #[tool(description = "The roots as the handler of the notification left them")]
    fn list_allowed_directories(&self) -> String {
        let roots = self.roots.lock().expect("no panic");
        std::iter::once("Allowed directories:").chain(roots.iter().map(String::as_str)).collect::<Vec<_>>().join("\n")
    }

    #[expect(deprecated, reason = "roots are what this is about")]
    async fn list_again(&self, context: NotificationContext<RoleServer>) {
        if let Ok(listed) = context.peer.list_roots().await {
            let paths = listed.roots.iter().map(|root| root.uri.trim_start_matches("file://").to_owned());
            *self.roots.lock().expect("no panic") = paths.collect();
        }
    }
}

#[rmcp::tool_handler]
impl ServerHandler for Plain {
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.list_again(context).await;
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.list_again(context).await;
    }
}

async fn serve_plainly() {
    let transport = (tokio::io::stdin(), tokio::io::stdout());
    let session = Plain::default().serve(transport).await.expect("the handshake");
    // The end of the session is the end of the program.
    let _ = session.waiting().await;
}
