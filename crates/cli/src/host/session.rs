//! A session with one server: carries out commands and shows what comes of them.

#![expect(deprecated, reason = "logging and resources/subscribe are of the legacy era, which this speaks")]

use std::future::Future;
use std::time::{Duration, Instant};

use mcp_roots::core::frame::RootsCapability;
use mcp_roots::core::set::RootSet;
use mcp_roots::core::uri::RootPath;
use mcp_roots::{PublishOptions, Workspace, WorkspaceError};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientConfig, ContentBlock, Implementation, LoggingMessageNotificationParam,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResult, ResourceContents, ResourceUpdatedNotificationParam,
    ServerNotification, SubscribeRequestParams, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, NotificationContext, RunningService, ServiceError,
    Subscription,
};
use rmcp::transport::Transport;
use rmcp::{ClientHandler, RoleClient};
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::command::{Command, HELP};
use super::journal::Journal;
use super::screen::{Note, Screen};
use super::server::Server;
use crate::exit::Exit;

/// A tool by which file servers tell their boundary.
const BOUNDARY_TOOL: &str = "list_allowed_directories";
/// How long a server may take to apply an answer before what it tells is shown all the same.
const APPLIES_WITHIN: Duration = Duration::from_millis(250);

pub(super) struct Session {
    service: RunningService<RoleClient, Listener>,
    server: Server,
    workspace: Workspace,
    journal: watch::Receiver<Journal>,
    exposed: watch::Receiver<RootSet>,
    /// The folders that have been shown as withheld.
    withheld: Vec<RootPath>,
    screen: Screen,
    timeout: Duration,
    tells_boundary: bool,
}

/// What a session is held on.
pub(super) struct Terms {
    pub(super) workspace: Workspace,
    pub(super) declare: Option<RootsCapability>,
    pub(super) era: ClientLifecycleMode,
    /// How long the server may take over a request.
    pub(super) timeout: Duration,
    pub(super) screen: Screen,
}

/// What a command came to: something to show, or why not.
type Outcome = Result<(Value, String), Failure>;

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error("{0}")]
    Server(#[from] ServiceError),
    #[error("the server has not answered for {} ms", .0.as_millis())]
    Timeout(Duration),
    #[error("{0}")]
    Tool(String),
}

impl Session {
    pub(super) async fn open(
        mut server: Server,
        transport: impl Transport<RoleClient> + 'static,
        terms: Terms,
    ) -> Result<Self, Exit> {
        let Terms { workspace, declare, era, timeout, screen } = terms;
        let (noted, journal) = watch::channel(Journal::default());
        let observer = screen.clone();
        let options = PublishOptions::default().configure(|config| config.declare = declare).observe(move |event| {
            observer.event(event);
            noted.send_modify(|journal| journal.note(event));
        });
        let transport = mcp_roots::publish_with(transport, &workspace, options);
        let listener = Listener { screen: screen.clone() };
        let service = match tokio::time::timeout(timeout, listener.serve_with_lifecycle(transport, era)).await {
            Ok(Ok(service)) => service,
            Ok(Err(error)) => {
                let (error, obituary) = (reason(&error), server.obituary().await);
                return Err(Exit::Peer(format!("no session with {}: {error} ({obituary})", server.name())));
            }
            Err(_) => {
                let waited = timeout.as_millis();
                return Err(Exit::Peer(format!(
                    "no session with {}: no answer to initialize for {waited} ms",
                    server.name()
                )));
            }
        };
        let exposed = workspace.exposed();
        let withheld = Vec::new();
        let mut session =
            Session { service, server, workspace, journal, exposed, withheld, screen, timeout, tells_boundary: false };
        session.introduce().await;
        Ok(session)
    }

    pub(super) fn screen(&self) -> &Screen {
        &self.screen
    }

    /// Shows which folders come and go by themselves. Ends when the server has gone. Cancelled, it loses nothing.
    pub(super) async fn ended(&mut self) -> Exit {
        // The journal is written by the transport, and ends with it.
        let mut journal = self.journal.clone();
        loop {
            tokio::select! {
                noted = journal.changed() => if noted.is_err() { break },
                Ok(()) = self.exposed.changed() => self.show_withheld(),
            }
        }
        Exit::Peer(self.server.obituary().await)
    }

    /// Carries out a command; whether it went well. An error means that the session is over.
    pub(super) async fn carry_out(&mut self, line: &str, command: Command) -> Result<bool, Exit> {
        let outcome = match command {
            Command::Add { dir, name } => self.change(|workspace| workspace.add(&dir, name.as_deref())).await,
            Command::Remove { dir } => self.change(|workspace| workspace.remove(&dir)).await,
            Command::List => Ok(self.list()),
            Command::Call { tool, arguments } => self.call(tool, arguments).await,
            Command::Read { uri } => self.read(uri).await,
            Command::Subscribe { uri } => self.subscribe(uri).await,
            Command::Status => Ok(self.status()),
            Command::Help | Command::Quit => Ok((json!(HELP), HELP.into())),
        };
        match outcome {
            Ok((value, shown)) => {
                self.screen.show(Note::Result { command: line.into(), value, shown });
                Ok(true)
            }
            Err(Failure::Server(ServiceError::TransportClosed | ServiceError::TransportSend(_))) => {
                Err(Exit::Peer(self.server.obituary().await))
            }
            Err(failure) => {
                self.failed(line, &failure.to_string());
                Ok(false)
            }
        }
    }

    pub(super) fn failed(&self, line: &str, message: &str) {
        self.screen.show(Note::Error { command: line.into(), message: message.into() });
    }

    pub(super) async fn close(mut self) -> Result<(), Exit> {
        let closed = self.service.close().await;
        self.server.end().await;
        closed.map(drop).map_err(|error| Exit::Internal(format!("the session ended in error: {error}")))
    }

    async fn introduce(&mut self) {
        if let Some(info) = self.service.peer_info() {
            let server = info.server_info.clone().unwrap_or_default();
            self.screen.show(Note::Connected {
                server: server.name,
                version: server.version,
                protocol: info.protocol_version.to_string(),
            });
        }
        self.show_withheld();
        if let Ok(tools) = self.within(self.service.list_all_tools()).await {
            self.tells_boundary = tools.iter().any(|tool| tool.name == BOUNDARY_TOOL);
        }
        self.show_boundary().await;
    }

    /// Changes the workspace, and follows the change until the server has dealt with it.
    async fn change(&mut self, change: impl FnOnce(&Workspace) -> Result<(), WorkspaceError>) -> Outcome {
        let before = self.journal.borrow().clone();
        let exposed = self.exposed.borrow().clone();
        change(&self.workspace)?;
        self.show_withheld();
        if *self.exposed.borrow() == exposed {
            self.screen.show(Note::Unchanged);
            return Ok(self.list());
        }
        let reachable = self.server.can_ask_unbidden();
        let settled = self.journal.wait_for(|journal| match reachable {
            true => journal.settled_since(&before),
            // It asks within the next request.
            false => journal.told_since(&before),
        });
        // The half reports each end that a change can come to, so this deadline is for a server that died.
        let _ = tokio::time::timeout(self.timeout, settled).await;
        self.show_boundary().await;
        Ok(self.list())
    }

    /// Shows what is withheld now and was not, and the other way round.
    fn show_withheld(&mut self) {
        let folders = self.workspace.list();
        for folder in &folders {
            let path = folder.uri.path();
            let shown = self.withheld.contains(path);
            match &folder.withheld {
                Some(why) if !shown => {
                    self.screen.show(Note::Withheld { folder: path.to_string(), why: why.to_string() });
                }
                None if shown => self.screen.show(Note::Back { folder: path.to_string() }),
                _ => {}
            }
        }
        let withheld = folders.into_iter().filter(|folder| folder.withheld.is_some());
        self.withheld = withheld.map(|folder| folder.uri.path().clone()).collect();
    }

    /// Shows the boundary as the server tells it. Servers take a while to apply an answer (the reference server
    /// looks at each folder first), so one that tells something else than what is exposed is asked again.
    async fn show_boundary(&self) {
        if !self.tells_boundary {
            return;
        }
        let exposed: Vec<String> = self.exposed.borrow().iter().map(|root| root.uri.path().to_string()).collect();
        let asked_at = Instant::now();
        loop {
            let call = self.service.call_tool(CallToolRequestParams::new(BOUNDARY_TOOL));
            let Ok(result) = self.within(call).await else { return };
            let text = text_of(&result);
            if result.is_error == Some(true) {
                self.screen.show(Note::Error { command: BOUNDARY_TOOL.into(), message: text });
                return;
            }
            let directories: Vec<String> = text.lines().skip(1).map(String::from).collect();
            if directories == exposed || asked_at.elapsed() > APPLIES_WITHIN {
                self.screen.show(Note::Boundary { directories });
                return;
            }
            tokio::time::sleep(APPLIES_WITHIN / 20).await;
        }
    }

    fn list(&self) -> (Value, String) {
        let folders = self.workspace.list();
        let value: Vec<Value> = folders
            .iter()
            .map(|folder| {
                let (uri, source) = (folder.uri.as_str(), &folder.source);
                json!({"uri": uri, "name": folder.name, "withheld": folder.withheld, "source": source})
            })
            .collect();
        let lines = folders.iter().map(|folder| {
            let name = folder.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
            let source = folder.source.as_ref().map(|source| format!(" [{source}]")).unwrap_or_default();
            let withheld = folder.withheld.as_ref().map(|why| format!(" [withheld: {why}]")).unwrap_or_default();
            format!("  {}{name}{source}{withheld}", folder.uri.path())
        });
        let shown = if folders.is_empty() { "no folders".into() } else { lines.collect::<Vec<_>>().join("\n") };
        (json!(value), shown)
    }

    async fn call(&self, tool: String, arguments: Map<String, Value>) -> Outcome {
        let call = self.service.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments));
        let result = self.within(call).await?;
        let text = text_of(&result);
        if result.is_error == Some(true) {
            return Err(Failure::Tool(text));
        }
        Ok((json!(result), text))
    }

    async fn read(&self, uri: String) -> Outcome {
        let result = self.within(self.service.read_resource(ReadResourceRequestParams::new(uri))).await?;
        Ok((json!(result), contents_of(&result)))
    }

    async fn subscribe(&self, uri: String) -> Outcome {
        let modern =
            self.service.peer_info().is_some_and(|info| info.protocol_version >= ProtocolVersion::V_2026_07_28);
        if modern {
            let filter = SubscriptionFilter::builder().resource_subscriptions([uri.clone()]).build();
            let subscription = self.within(self.service.listen(filter)).await?;
            tokio::spawn(hear(subscription, self.screen.clone()));
        } else {
            self.within(self.service.subscribe(SubscribeRequestParams::new(uri.clone()))).await?;
        }
        Ok((json!({ "uri": uri }), format!("subscribed to {uri}")))
    }

    fn status(&self) -> (Value, String) {
        let journal = self.journal.borrow().clone();
        let took = journal.took.map(|took| took.as_secs_f64() * 1e3);
        let heeds = match (journal.asked, journal.announced, journal.ignores_roots()) {
            (_, _, true) => "the server ignores roots: it was told of changes and has never asked",
            (0, _, _) => "the server has not asked for roots yet",
            (_, 0, _) => "the server has asked for roots; no change has been announced yet",
            _ if journal.open => "the server has not asked since the last announcement",
            _ => "the server follows roots",
        };
        let value = json!({
            "announced": journal.announced, "asked": journal.asked, "heldBack": journal.held_back,
            "unheeded": journal.unheeded, "lastTookMs": took, "ignoresRoots": journal.ignores_roots(), "summary": heeds,
        });
        let timing =
            took.map(|took| format!("; it asked {took:.1} ms after the last announcement")).unwrap_or_default();
        let shown = format!(
            "{heeds}{timing}\n{} changes announced, {} held back, {} questions answered, {} announcements unheeded",
            journal.announced, journal.held_back, journal.asked, journal.unheeded
        );
        (value, shown)
    }

    async fn within<T>(&self, request: impl Future<Output = Result<T, ServiceError>>) -> Result<T, Failure> {
        match tokio::time::timeout(self.timeout, request).await {
            Ok(result) => Ok(result?),
            Err(_) => Err(Failure::Timeout(self.timeout)),
        }
    }
}

/// Shows what comes on a subscription of the modern era, while it stands.
async fn hear(mut subscription: Subscription, screen: Screen) {
    loop {
        match subscription.next().await {
            Ok(Some(ServerNotification::ResourceUpdatedNotification(updated))) => {
                screen.show(Note::ResourceUpdated { uri: updated.params.uri });
            }
            Ok(Some(_)) => {}
            Ok(None) => return,
            Err(error) => {
                screen.show(Note::Error { command: "subscribe".into(), message: error.to_string() });
                return;
            }
        }
    }
}

/// Hears what the server says of its own accord.
struct Listener {
    screen: Screen,
}

impl ClientHandler for Listener {
    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("mcp-roots host", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(Default::default(), client).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn on_resource_updated(&self, params: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        self.screen.show(Note::ResourceUpdated { uri: params.uri });
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.screen.show(Note::ResourceListChanged);
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        self.screen.show(Note::Log { level: format!("{:?}", params.level).to_lowercase(), data: params.data });
    }
}

/// Why there is no session, without the names of the SDK's types.
fn reason(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => whole(error.error.as_ref()),
        ClientInitializeError::LegacyFallbackFailed { discover, fallback } => {
            format!("{}; and in the legacy era: {}", reason(discover), reason(fallback))
        }
        error => whole(error),
    }
}

/// An error with what it comes of, each said once.
fn whole(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string);
    causes.fold(String::new(), |text, cause| match text.as_str() {
        "" => cause,
        said if said.contains(&cause) => text,
        said => format!("{said}: {cause}"),
    })
}

fn text_of(result: &CallToolResult) -> String {
    let texts = result.content.iter().map(|block| match block {
        ContentBlock::Text(text) => text.text.clone(),
        other => json!(other).to_string(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn contents_of(result: &ReadResourceResult) -> String {
    let texts = result.contents.iter().map(|contents| match contents {
        ResourceContents::TextResourceContents { text, .. } => text.clone(),
        ResourceContents::BlobResourceContents { blob, .. } => format!("{} characters of base64", blob.len()),
        other => json!(other).to_string(),
    });
    texts.collect::<Vec<_>>().join("\n")
}
