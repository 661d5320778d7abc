//! The smallest server of Streamable HTTP that knows its clients' roots: one tool, which tells what they are, to each
//! client its own. It listens on the address that it is given, 127.0.0.1:8080 if on none.

use std::sync::Arc;

use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use mcp_roots::http::TrackedSessions;
use mcp_roots::{Roots, TrackOptions};
use rmcp::handler::server::common::Extension;
use rmcp::transport::StreamableHttpService;
use rmcp::{tool, tool_router};

struct Teller;

#[tool_router(server_handler)]
impl Teller {
    /// Tell the client's roots.
    #[tool]
    async fn tell(&self, Extension(roots): Extension<Roots>) -> Result<String, String> {
        // Current at the time of the call, or an error within 5 s that says why not.
        let snapshot = roots.current().await.map_err(|error| error.to_string())?;
        Ok(mcp_roots::in_words(&snapshot))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sessions = Arc::new(TrackedSessions::local(TrackOptions::default()));
    let service = StreamableHttpService::new(|| Ok(Teller), sessions, Default::default());
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8080".into());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("http://{}/", listener.local_addr()?);
    loop {
        let (connection, _) = listener.accept().await?;
        // Otherwise each answer on a connection that is kept waits for the client's system, 40 ms.
        connection.set_nodelay(true)?;
        let service = TowerToHyperService::new(service.clone());
        let serving = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(connection), service);
        tokio::spawn(async move {
            if let Err(error) = serving.await {
                eprintln!("{error}");
            }
        });
    }
}
