//! The server at the other end: a process that is started, spoken to over its standard streams and not left behind, or
//! one over Streamable HTTP.

use std::process::Stdio;
use std::time::Duration;

use mcp_roots::wire::LineTransport;
use rmcp::RoleClient;
use tokio::process::{Child, ChildStdout, Command};

use super::endpoint::Endpoint;
use crate::exit::Exit;

/// How long a server may take to end once its input is closed (2025-11-25, basic/lifecycle, Shutdown).
const GRACE: Duration = Duration::from_secs(3);

/// What can be known of a server apart from what it says.
pub(super) enum Server {
    Process(ServerProcess),
    Endpoint(Endpoint),
}

impl Server {
    pub(super) fn name(&self) -> &str {
        match self {
            Server::Process(process) => &process.name,
            Server::Endpoint(endpoint) => endpoint.name(),
        }
    }

    /// Whether the server can ask while it has no request to answer.
    pub(super) fn can_ask_unbidden(&self) -> bool {
        match self {
            Server::Process(_) => true,
            Server::Endpoint(endpoint) => endpoint.hears(),
        }
    }

    /// What can be said of a server that has stopped talking.
    pub(super) async fn obituary(&mut self) -> String {
        match self {
            Server::Process(process) => process.obituary().await,
            Server::Endpoint(endpoint) => endpoint.obituary(),
        }
    }

    /// Sees the server off, now that the session has been closed.
    pub(super) async fn end(self) {
        match self {
            Server::Process(process) => process.end().await,
            // It has other clients.
            Server::Endpoint(_) => {}
        }
    }
}

pub(super) struct ServerProcess {
    child: Child,
    name: String,
}

impl ServerProcess {
    /// Starts a command, or the built-in server if there is none.
    pub(super) fn start(command: &[String]) -> Result<(Server, LineTransport<ChildStdout, RoleClient>), Exit> {
        let (mut process, name) = match command.split_first() {
            Some((program, arguments)) => {
                let mut process = Command::new(program);
                process.args(arguments);
                (process, program.clone())
            }
            None => {
                let this = std::env::current_exe()
                    .map_err(|error| Exit::Internal(format!("this program cannot find itself: {error}")))?;
                let mut process = Command::new(this);
                process.args(["serve", "--log", "warn"]);
                (process, "the built-in server".into())
            }
        };
        let spawned = process.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn();
        let mut child = spawned.map_err(|error| Exit::Peer(format!("{name} cannot be started: {error}")))?;
        match (child.stdout.take(), child.stdin.take()) {
            (Some(output), Some(input)) => {
                Ok((Server::Process(ServerProcess { child, name }), LineTransport::new(output, input)))
            }
            _ => Err(Exit::Internal(format!("{name} was started without its standard streams"))),
        }
    }

    async fn obituary(&mut self) -> String {
        match tokio::time::timeout(GRACE, self.child.wait()).await {
            Ok(Ok(status)) => format!("{} has ended: {status}", self.name),
            Ok(Err(error)) => format!("{} has ended: {error}", self.name),
            Err(_) => format!("{} has closed its output", self.name),
        }
    }

    /// Waits for the process to end, now that its input is closed, and ends it if it does not.
    async fn end(mut self) {
        if tokio::time::timeout(GRACE, self.child.wait()).await.is_err() {
            tracing::warn!("{} did not end by itself and is killed", self.name);
            // It may have ended just now.
            let _ = self.child.kill().await;
        }
    }
}
