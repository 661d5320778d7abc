//! A server on a port of its own, and a client of plain HTTP that has a GET stream open or not, as the test likes.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::client::legacy::Client as Http;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use mcp_roots::http::TrackedSessions;
use mcp_roots::{Roots, TrackOptions};
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData};
use rmcp::model::{InitializeResult, ServerCapabilities};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::pair::told;

/// A server for all sessions. Its tools: `tell` tells the roots that it sees, `hello` needs none, and any other name is a
/// path to be leased.
struct Teller;

impl ServerHandler for Teller {
    fn get_info(&self) -> InitializeResult {
        InitializeResult::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let roots = Roots::of(&context.extensions).expect("each message carries its session's roots");
        let result = match request.name.as_ref() {
            "hello" => Ok("hello".into()),
            "tell" => roots.current().await.map(|snapshot| told(&snapshot)).map_err(|error| error.to_string()),
            path => roots.lease(path).await.map(|lease| lease.path().to_string()).map_err(|error| error.to_string()),
        };
        let result = match result {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(text) => CallToolResult::error(vec![ContentBlock::text(text)]),
        };
        Ok(result.into())
    }
}

pub(super) struct Server {
    pub(super) sessions: Arc<TrackedSessions>,
    address: SocketAddr,
}

impl Server {
    pub(super) async fn start(options: TrackOptions) -> Self {
        Server::with(LocalSessionManager::default(), options).await
    }

    pub(super) async fn with(inner: LocalSessionManager, options: TrackOptions) -> Self {
        let sessions = Arc::new(TrackedSessions::new(inner, options));
        let service =
            StreamableHttpService::new(|| Ok(Teller), sessions.clone(), StreamableHttpServerConfig::default());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                connection.set_nodelay(true).expect("a socket");
                let service = TowerToHyperService::new(service.clone());
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(connection), service),
                );
            }
        });
        Server { sessions, address }
    }
}

/// Where a question came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    OnStream,
    Within(i64),
}

#[derive(Clone)]
pub(super) struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    http: Http<HttpConnector, Full<Bytes>>,
    address: SocketAddr,
    pub(super) session: String,
    roots: Mutex<Vec<String>>,
    answers: AtomicBool,
    next_id: AtomicI64,
    /// Where the questions came in, so far.
    asked: watch::Sender<Vec<(Asked, Value)>>,
}

/// A POST's or a GET's response, event by event.
pub(super) struct Events {
    body: Incoming,
    read: Vec<u8>,
}

#[derive(Debug, Default)]
pub(super) struct Event {
    pub(super) id: Option<String>,
    pub(super) message: Value,
}

impl Events {
    pub(super) async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = self.read.windows(2).position(|pair| pair == b"\n\n") {
                let event: Vec<u8> = self.read.drain(..end + 2).collect();
                return Some(read_event(std::str::from_utf8(&event).expect("text")));
            }
            let frame = self.body.frame().await?.ok()?;
            self.read.extend(frame.into_data().expect("no trailers"));
        }
    }
}

fn read_event(text: &str) -> Event {
    let mut event = Event::default();
    for line in text.lines() {
        match line.split_once(':') {
            Some(("id", id)) => event.id = Some(id.trim().into()),
            Some(("data", data)) if !data.trim().is_empty() => {
                event.message = serde_json::from_str(data).expect("JSON");
            }
            _ => {}
        }
    }
    event
}

impl Client {
    /// Shakes hands.
    pub(super) async fn connect(server: &Server, roots: &[&str]) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let http = Http::builder(TokioExecutor::new()).build(connector);
        let mut inner = Inner {
            http,
            address: server.address,
            session: String::new(),
            roots: Mutex::new(roots.iter().map(|root| root.to_string()).collect()),
            answers: AtomicBool::new(true),
            next_id: AtomicI64::new(1),
            asked: watch::Sender::default(),
        };
        let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"roots": {"listChanged": true}},
            "clientInfo": {"name": "plain", "version": "1"},
        }});
        let response = inner.send(Method::POST, None, initialize.to_string()).await;
        let session = response.headers().get("mcp-session-id").expect("a session");
        inner.session = session.to_str().expect("text").into();
        let mut events = Events { body: response.into_body(), read: Vec::new() };
        while events.next().await.expect("a result").message.get("result").is_none() {}
        let client = Client { inner: Arc::new(inner) };
        client.notify("notifications/initialized").await;
        client
    }

    pub(super) fn session(&self) -> Arc<str> {
        self.inner.session.as_str().into()
    }

    /// From now on questions are left without an answer, or are answered again.
    pub(super) fn answers(&self, answers: bool) {
        self.inner.answers.store(answers, Ordering::SeqCst);
    }

    /// Where the questions came in, so far.
    pub(super) fn asked(&self) -> Vec<Asked> {
        self.inner.asked.borrow().iter().map(|(asked, _)| asked.clone()).collect()
    }

    /// Waits until so many questions have come in.
    pub(super) async fn asked_times(&self, times: usize) {
        self.inner.asked.subscribe().wait_for(|asked| asked.len() >= times).await.expect("the client is there");
    }

    /// Changes the roots, and has it announced.
    pub(super) async fn change(&self, roots: &[&str]) {
        *self.inner.roots.lock().unwrap() = roots.iter().map(|root| root.to_string()).collect();
        self.notify("notifications/roots/list_changed").await;
    }

    async fn notify(&self, method: &str) {
        self.tell(json!({"jsonrpc": "2.0", "method": method})).await;
    }

    async fn tell(&self, message: Value) {
        let response = self.inner.send(Method::POST, None, message.to_string()).await;
        assert_eq!(response.status(), StatusCode::ACCEPTED, "{message}");
        response.into_body().collect().await.expect("a body");
    }

    /// Calls a tool: what it says, or its error.
    pub(super) async fn call(&self, tool: &str) -> Result<String, String> {
        let (id, mut events) = self.begin(tool).await;
        self.finish(id, &mut events).await.expect("a response")
    }

    pub(super) async fn tells(&self) -> String {
        self.call("tell").await.expect("roots")
    }

    pub(super) async fn ping(&self) {
        let id = self.next_id();
        let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        let mut events = self.events(Method::POST, None, ping.to_string()).await;
        self.finish(id, &mut events).await.expect("a response").expect("a result");
    }

    /// POSTs a call. The first event is there, so its stream is open.
    pub(super) async fn begin(&self, tool: &str) -> (i64, Events) {
        let id = self.next_id();
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}});
        (id, self.events(Method::POST, None, call.to_string()).await)
    }

    /// Reads up to the response, and answers what is asked on the way. `None` if the stream ends before that.
    pub(super) async fn finish(&self, id: i64, events: &mut Events) -> Option<Result<String, String>> {
        while let Some(event) = events.next().await {
            let message = event.message;
            if message["id"] == id && message.get("method").is_none() {
                let result = &message["result"];
                let text = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
                return Some(if result["isError"] == true { Err(text) } else { Ok(text) });
            }
            self.hear(Asked::Within(id), &message).await;
        }
        None
    }

    async fn hear(&self, asked: Asked, message: &Value) {
        if message["method"] != "roots/list" {
            return;
        }
        let question = message["id"].clone();
        self.inner.asked.send_modify(|all| all.push((asked, question.clone())));
        if self.inner.answers.load(Ordering::SeqCst) {
            self.answer(question).await;
        }
    }

    /// Answers the newest question with the roots as they are.
    pub(super) async fn answer_newest(&self) {
        let question = self.inner.asked.borrow().last().expect("a question").1.clone();
        self.answer(question).await;
    }

    async fn answer(&self, question: Value) {
        let roots: Vec<Value> = self.inner.roots.lock().unwrap().iter().map(|uri| json!({"uri": uri})).collect();
        self.tell(json!({"jsonrpc": "2.0", "id": question, "result": {"roots": roots}})).await;
    }

    /// Opens a GET stream, which is open when this returns, and reads it until it is aborted or ends.
    pub(super) async fn listen(&self) -> JoinHandle<()> {
        let mut events = self.resume(None).await;
        let client = self.clone();
        tokio::spawn(async move {
            while let Some(event) = events.next().await {
                client.hear(Asked::OnStream, &event.message).await;
            }
        })
    }

    /// GETs the stream that this event was the last to come by.
    pub(super) async fn resume(&self, last_event_id: Option<&str>) -> Events {
        self.events(Method::GET, last_event_id, String::new()).await
    }

    pub(super) async fn delete(&self) {
        let response = self.inner.send(Method::DELETE, None, String::new()).await;
        assert!(response.status().is_success(), "{}", response.status());
    }

    fn next_id(&self) -> i64 {
        self.inner.next_id.fetch_add(1, Ordering::SeqCst)
    }

    async fn events(&self, method: Method, last_event_id: Option<&str>, body: String) -> Events {
        let response = self.inner.send(method, last_event_id, body).await;
        assert_eq!(response.status(), StatusCode::OK);
        Events { body: response.into_body(), read: Vec::new() }
    }
}

impl Inner {
    async fn send(&self, method: Method, last_event_id: Option<&str>, body: String) -> Response<Incoming> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("http://{}/", self.address))
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json");
        if !self.session.is_empty() {
            request = request.header("mcp-session-id", &self.session).header("mcp-protocol-version", "2025-11-25");
        }
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let request = request.body(Full::new(Bytes::from(body))).expect("a request");
        self.http.request(request).await.expect("a response")
    }
}
