//! `serve --http`: many clients on one endpoint, each with its own roots, and an operator who need not trust them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::ListenerExt;
use clap::Args;
use mcp_roots::http::{TrackedSessions, with_room};
use mcp_roots::{Roots, TrackOptions};
use rmcp::model::ErrorData;
use rmcp::transport::StreamableHttpService;
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::metrics;
use super::server::{Allowed, FileServer};
use super::work::Running;
use crate::exit::Exit;
use crate::token::VARIABLE;

/// How long calls in flight may take once the server is to end.
const GRACE: Duration = Duration::from_secs(10);
/// How much of what the SDK says is handed on.
const MAX_SAID: usize = 4096;

#[derive(Args, Clone, Debug)]
pub(super) struct HttpArgs {
    /// Serve Streamable HTTP on this address, at /mcp, instead of the standard streams; port 0 picks one.
    #[arg(long, value_name = "ADDR")]
    pub(super) http: Option<SocketAddr>,
    /// Let other machines connect: ADDR need not be a loopback address. Takes a token.
    #[arg(long, requires = "http")]
    allow_remote: bool,
    /// A file with the token that clients have to send as `Authorization: Bearer`. Or MCP_ROOTS_TOKEN in the environment.
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
    /// Let clients open what they like: without DIRs, or with another policy than narrow.
    #[arg(long, requires = "http")]
    pub(super) unrestricted: bool,
    /// An origin of web pages that may connect, such as https://app.example.com. Default: none.
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allow_origin: Vec<String>,
    /// A name of this server, as clients have it in their URL. Default: localhost and loopback addresses.
    #[arg(long, value_name = "HOST", requires = "http")]
    allow_host: Vec<String>,
    /// How many sessions there may be at once.
    #[arg(long, value_name = "N", default_value_t = 1_000, requires = "http")]
    max_sessions: usize,
    /// How many bytes a message may have.
    #[arg(long, value_name = "BYTES", default_value_t = 16 << 20, requires = "http")]
    max_body: usize,
    /// How long a session may be idle, such as 30m.
    #[arg(long, value_parser = crate::duration, default_value = "30m", requires = "http")]
    idle: Duration,
}

/// What every request needs to know.
struct Gate {
    token: Option<String>,
    sessions: Arc<TrackedSessions>,
    running: Running,
}

/// Serves until it is told to end, and then until the calls in flight have ended.
pub(super) async fn serve(
    address: SocketAddr,
    args: HttpArgs,
    options: TrackOptions,
    allowed: Allowed,
) -> Result<(), Exit> {
    let token = crate::token::read(args.token_file.as_deref())?;
    let guarded = args.allow_remote && token.is_some();
    if !address.ip().is_loopback() && !guarded {
        return Err(Exit::Usage(format!(
            "{address} can be reached from other machines. If that is wanted, say --allow-remote, and give a token with \
             --token-file or {VARIABLE}"
        )));
    }
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| Exit::Usage(format!("{address} cannot be listened on: {error}")))?;
    let address = listener.local_addr().map_err(|error| Exit::Internal(error.to_string()))?;
    // An answer is written in parts, and a client that keeps its connection would wait for the second one until the
    // system has acknowledged the first: 40 ms for each request.
    let listener = listener.tap_io(|connection| {
        if let Err(error) = connection.set_nodelay(true) {
            tracing::debug!(%error, "answers on a connection may be slow");
        }
    });
    let ending = CancellationToken::new();
    let mut manager = LocalSessionManager::default();
    manager.session_config.keep_alive = Some(args.idle);
    let sessions = Arc::new(TrackedSessions::new(manager, options.clone()).at_most(args.max_sessions));
    let running = Running::default();
    let roots = Roots::of_requests(options);
    let server = FileServer::new(roots.clone(), allowed, running.clone());
    let service = StreamableHttpService::new(
        move || Ok(roots.serving(server.for_another_client())),
        sessions.clone(),
        config(&args, address, ending.clone()),
    );
    let gate = Arc::new(Gate { token, sessions, running: running.clone() });
    let app = Router::new()
        .route_service("/mcp", service)
        .route("/metrics", get(metrics_of))
        .layer(middleware::from_fn_with_state(gate.clone(), admit))
        // Whoever looks whether the server is alive need not know the token.
        .route("/health", get(|| async { "ok\n" }))
        .with_state(gate);
    // Whatever is logged: whoever let the system pick the port must learn it.
    eprintln!("mcp-roots: serving http://{address}/mcp");
    let serving = axum::serve(listener, app).with_graceful_shutdown({
        let ending = ending.clone();
        async move {
            told_to_end().await;
            // Nobody new is let in from here on.
            tokio::spawn(async move {
                finished(&running).await;
                // Streams that stay open for what may come would keep the server up for ever.
                ending.cancel();
            });
        }
    });
    let overdue = async {
        ending.cancelled().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        served = serving => served.map_err(|error| Exit::Internal(format!("the server ended in error: {error}"))),
        () = overdue => {
            tracing::warn!("connections were still open {} s after the calls had ended", GRACE.as_secs());
            Ok(())
        }
    }
}

/// Ends when no call is under way, or when those that are have had their time.
async fn finished(running: &Running) {
    let began = tokio::time::Instant::now();
    loop {
        // Once more after the last, since its answer has to get out.
        tokio::time::sleep(Duration::from_millis(100)).await;
        let left = running.count();
        if left == 0 {
            return;
        }
        if began.elapsed() >= GRACE {
            tracing::warn!("{left} calls were still in flight {} s after the server was told to end", GRACE.as_secs());
            return;
        }
    }
}

fn config(args: &HttpArgs, address: SocketAddr, ending: CancellationToken) -> StreamableHttpServerConfig {
    let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(String::from).into();
    if !address.ip().is_unspecified() {
        hosts.push(address.ip().to_string());
    }
    hosts.extend(args.allow_host.iter().cloned());
    StreamableHttpServerConfig::default()
        .with_allowed_hosts(hosts)
        .with_allowed_origins(args.allow_origin.iter().cloned())
        .enforce_origin_validation()
        .with_max_request_body_bytes(args.max_body)
        .with_cancellation_token(ending)
}

/// Lets a request in that has the token, and says what its answer must be where the SDK's would mislead.
async fn admit(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    if let Some(token) = &gate.token
        && !bears(&request, token)
    {
        let challenge = [(header::WWW_AUTHENTICATE, "Bearer")];
        return (StatusCode::UNAUTHORIZED, challenge, "this server takes a token: Authorization: Bearer TOKEN\n")
            .into_response();
    }
    let ends_nothing = request.method() == Method::DELETE && !gate.has_session_of(&request);
    let has_json = request.headers().get(header::CONTENT_TYPE).is_some_and(is_json);
    match with_room(next.run(request)).await {
        Err(no_room) => {
            (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "60")], format!("{no_room}\n")).into_response()
        }
        // A session that has ended is answered with 404 whatever is asked of it (2025-11-25, basic/transports, Session
        // Management). The SDK says that it has ended one that never was.
        Ok(response) if response.status() == StatusCode::ACCEPTED && ends_nothing => {
            (StatusCode::NOT_FOUND, "Not Found: Session not found\n").into_response()
        }
        Ok(response) if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE && has_json => {
            no_message(response).await
        }
        Ok(response) => response,
    }
}

impl Gate {
    /// Whether there is a session that the request belongs to.
    fn has_session_of(&self, request: &Request) -> bool {
        let id = request.headers().get("mcp-session-id").and_then(|id| id.to_str().ok());
        id.is_some_and(|id| self.sessions.roots(&id.into()).is_some())
    }
}

/// What is JSON by its type, and no message: the SDK says that the type is wrong, which would mislead.
async fn no_message(response: Response) -> Response {
    let said = axum::body::to_bytes(response.into_body(), MAX_SAID).await.unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    // Where in the text it is wrong is said only of what is no JSON. A batch is JSON, and no message in either era.
    let error = match said.contains(" at line ") {
        true => ErrorData::parse_error(format!("this is no JSON: {said}"), None),
        false => ErrorData::invalid_request(format!("this is not one JSON-RPC message: {said}"), None),
    };
    let body = json!({"jsonrpc": "2.0", "error": error}).to_string();
    (StatusCode::BAD_REQUEST, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

fn is_json(content_type: &HeaderValue) -> bool {
    let essence = content_type.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

/// Compares in a time that does not tell how much of a wrong token was right.
fn bears(request: &Request, token: &str) -> bool {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let Some((scheme, given)) = given.and_then(|value| value.split_once(' ')) else { return false };
    let same = given.len() == token.len()
        && given.bytes().zip(token.bytes()).fold(0, |differs, (one, other)| differs | (one ^ other)) == 0;
    scheme.eq_ignore_ascii_case("bearer") && same
}

async fn metrics_of(State(gate): State<Arc<Gate>>) -> Response {
    ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], metrics::text(&gate.sessions, &gate.running)).into_response()
}

/// Ends when the process is asked to end.
async fn told_to_end() {
    #[cfg(unix)]
    if let Ok(mut terminate) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        return;
    }
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
