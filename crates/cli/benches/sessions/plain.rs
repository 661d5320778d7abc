//! What a server author writes with the SDK alone: the same service over HTTP, with sessions that nobody tracks, and a
//! handler that asks for the roots and keeps them.

use std::sync::{Arc, Mutex};

use rmcp::service::RequestContext;
use rmcp::transport::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::{ErrorData, RoleServer, ServerHandler, tool, tool_router};

#[derive(Default)]
struct Plain {
    roots: Arc<Mutex<Vec<String>>>,
}

#[tool_router]
impl Plain {
    #[tool(description = "The client's roots")]
    #[expect(deprecated, reason = "roots are what this is about")]
    async fn list_allowed_directories(&self, context: RequestContext<RoleServer>) -> Result<String, ErrorData> {
        let listed = context.peer.list_roots().await;
        let listed = listed.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let mut roots = self.roots.lock().expect("no panic");
        *roots = listed.roots.iter().map(|root| root.uri.trim_start_matches("file://").to_owned()).collect();
        Ok(std::iter::once("Allowed directories:")
            .chain(roots.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join("\n"))
    }
}

#[rmcp::tool_handler]
impl ServerHandler for Plain {}

/// Serves until it is killed.
pub(crate) async fn serve() {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(super::LONG);
    let service = StreamableHttpService::new(|| Ok(Plain::default()), Arc::new(sessions), Default::default());
    let app = axum::Router::new().route_service("/mcp", service);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    eprintln!("http://{}/mcp", listener.local_addr().expect("an address"));
    let listener = axum::serve::ListenerExt::tap_io(listener, |connection| {
        // As the program does.
        let _ = connection.set_nodelay(true);
    });
    axum::serve(listener, app).await.expect("a server");
}
