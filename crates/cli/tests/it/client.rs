//! A client made by hand: it writes what bytes it likes, in whatever grouping, and answers `roots/list` as it
//! is told to.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, oneshot, watch};

/// Longer than anything takes that goes well.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How the client answers `roots/list`.
#[derive(Clone)]
pub(crate) enum Answers {
    Roots(Vec<String>),
    Error(i64, &'static str),
    Raw(Value),
    Silence,
}

pub(crate) struct Client {
    pub(crate) child: Child,
    to_server: mpsc::UnboundedSender<Vec<u8>>,
    shared: Arc<Mutex<Shared>>,
    /// Raised by each message from the server that is not a response.
    heard: watch::Receiver<usize>,
    next_id: i64,
}

struct Shared {
    answers: Answers,
    waiting: HashMap<i64, oneshot::Sender<Value>>,
    /// Everything from the server that is not a response to a request.
    heard: Vec<Value>,
}

pub(crate) fn roots_of<P: AsRef<Path>>(dirs: &[P]) -> Answers {
    Answers::Roots(dirs.iter().map(uri_of).collect())
}

/// The file URI of a path that needs no escapes.
pub(crate) fn uri_of(path: impl AsRef<Path>) -> String {
    format!("file://{}", path.as_ref().display())
}

pub(crate) fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}

pub(crate) fn list_changed() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"})
}

impl Client {
    /// Starts a server and shakes hands with it. `roots` is the capability to declare.
    pub(crate) async fn connect(mut command: Command, roots: Value, answers: Answers) -> Self {
        let mut client = Client::start(&mut command, answers);
        let mut capabilities = json!({});
        if !roots.is_null() {
            capabilities["roots"] = roots;
        }
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": capabilities,
            "clientInfo": {"name": "by hand", "version": "1"},
        });
        client.request("initialize", params).await;
        client.write(&line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})));
        client
    }

    /// Starts a server without a word.
    pub(crate) fn start(command: &mut Command, answers: Answers) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().expect("the server starts");
        let (to_server, lines) = mpsc::unbounded_channel();
        let shared = Arc::new(Mutex::new(Shared { answers, waiting: HashMap::new(), heard: Vec::new() }));
        let (hear, heard) = watch::channel(0);
        tokio::spawn(write(child.stdin.take().expect("a pipe"), lines));
        tokio::spawn(read(child.stdout.take().expect("a pipe"), shared.clone(), to_server.clone(), hear));
        Client { child, to_server, shared, heard, next_id: 1 }
    }

    pub(crate) fn answer_with(&self, answers: Answers) {
        self.shared.lock().unwrap().answers = answers;
    }

    /// Writes bytes as they are, in one write.
    pub(crate) fn write(&self, bytes: &[u8]) {
        self.to_server.send(bytes.to_vec()).expect("the writer runs");
    }

    /// A request that has not been written yet, and what will hear its response.
    pub(crate) fn prepare(&mut self, method: &str, params: Value) -> (Vec<u8>, oneshot::Receiver<Value>) {
        let id = self.next_id;
        self.next_id += 1;
        let (respond, response) = oneshot::channel();
        self.shared.lock().unwrap().waiting.insert(id, respond);
        (line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})), response)
    }

    pub(crate) fn prepare_call(&mut self, tool: &str, arguments: Value) -> (Vec<u8>, oneshot::Receiver<Value>) {
        self.prepare("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The response to a request, whole.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let (bytes, response) = self.prepare(method, params);
        self.write(&bytes);
        tokio::time::timeout(PATIENCE, response).await.expect("a response in time").expect("a response")
    }

    /// The text of a tool's result, and whether it is an error.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        text_of(&self.request("tools/call", json!({"name": tool, "arguments": arguments})).await)
    }

    pub(crate) async fn status(&mut self) -> Value {
        self.request("tools/call", json!({"name": "roots_status", "arguments": {}})).await["result"]["structuredContent"]
            .take()
    }

    pub(crate) async fn ping(&mut self) {
        self.request("ping", json!({})).await;
    }

    pub(crate) fn heard(&self, method: &str) -> Vec<Value> {
        let heard = &self.shared.lock().unwrap().heard;
        heard.iter().filter(|message| message["method"] == method).cloned().collect()
    }

    /// Everything heard that is neither a request nor a notification: errors that answer no request.
    pub(crate) fn strays(&self) -> Vec<Value> {
        let heard = &self.shared.lock().unwrap().heard;
        heard.iter().filter(|message| message.get("method").is_none()).cloned().collect()
    }

    /// Waits until `count` messages of a method have been heard.
    pub(crate) async fn hears(&mut self, method: &str, count: usize) {
        self.until(method, |client| client.heard(method).len() >= count).await;
    }

    pub(crate) async fn until(&mut self, what: &str, done: impl Fn(&Client) -> bool) {
        let waiting = async {
            loop {
                self.heard.borrow_and_update();
                if done(self) {
                    return;
                }
                self.heard.changed().await.expect("the server talks");
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("{what} in time"));
    }
}

pub(crate) fn text_of(response: &Value) -> (String, bool) {
    let text = response["result"]["content"][0]["text"].as_str();
    let text = text.map_or_else(|| response["error"].to_string(), String::from);
    (text, response["result"]["isError"] == json!(true) || response.get("error").is_some())
}

async fn write(mut server: ChildStdin, mut lines: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(bytes) = lines.recv().await {
        if server.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

async fn read(
    server: ChildStdout,
    shared: Arc<Mutex<Shared>>,
    to_server: mpsc::UnboundedSender<Vec<u8>>,
    hear: watch::Sender<usize>,
) {
    let mut lines = BufReader::new(server).lines();
    while let Ok(Some(text)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&text).expect("the server writes JSON");
        let mut shared = shared.lock().unwrap();
        if message["method"] == "roots/list"
            && let Some(answer) = answer(&shared.answers, &message["id"])
        {
            to_server.send(line(&answer)).expect("the writer runs");
        }
        let waiting = message["id"].as_i64().filter(|_| message.get("method").is_none());
        if let Some(respond) = waiting.and_then(|id| shared.waiting.remove(&id)) {
            // A test may not care for the response.
            let _ = respond.send(message);
        } else {
            shared.heard.push(message);
            hear.send_modify(|count| *count += 1);
        }
    }
}

fn answer(answers: &Answers, id: &Value) -> Option<Value> {
    let body = match answers {
        Answers::Roots(uris) => {
            let roots: Vec<Value> = uris.iter().map(|uri| json!({ "uri": uri })).collect();
            ("result", json!({ "roots": roots }))
        }
        Answers::Error(code, message) => ("error", json!({"code": code, "message": message})),
        Answers::Raw(result) => ("result", result.clone()),
        Answers::Silence => return None,
    };
    Some(json!({"jsonrpc": "2.0", "id": id, body.0: body.1}))
}
