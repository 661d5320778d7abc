//! The client's side: decorate a client's transport, and a workspace is declared, answered and announced
//! through it.

mod rounds;

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use mcp_roots_core::frame::Verdict;
use mcp_roots_core::host_half::{HostAction, HostConfig, HostEvent, HostHalf};
use mcp_roots_core::set::RootSet;
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::{IntoTransport, Transport};
use tokio::sync::watch;

use crate::describe;
use crate::shell::{Clock, Injector, Sending, in_turn};
use crate::workspace::Workspace;
use rounds::{Arrived, Rounds};

/// Publishes `workspace` to the server at the other end of `transport`.
///
/// The transport that comes back declares `roots.listChanged`, answers `roots/list` from the workspace, and
/// announces its changes. A change made before a request is announced before that request. One workspace
/// serves any number of connections.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use rmcp::ServiceExt;
///
/// let workspace = mcp_roots::Workspace::open(["."])?;
/// # let pipe = tokio::io::duplex(1).0;
/// let server = ().serve(mcp_roots::publish(pipe, &workspace)).await?;
/// # Ok(())
/// # }
/// ```
pub fn publish<T, E, A>(
    transport: T,
    workspace: &Workspace,
) -> Published<impl Transport<RoleClient, Error = E> + use<T, E, A>>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    publish_with(transport, workspace, PublishOptions::default())
}

/// As [`publish`], with options.
pub fn publish_with<T, E, A>(
    transport: T,
    workspace: &Workspace,
    options: PublishOptions,
) -> Published<impl Transport<RoleClient, Error = E> + use<T, E, A>>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let mut exposed = workspace.exposed();
    let half = HostHalf::new(options.config, exposed.borrow_and_update().clone());
    Published {
        inner: transport.into_transport(),
        half,
        rounds: Rounds::default(),
        clock: Clock::start(),
        workspace: workspace.clone(),
        exposed,
        observer: options.observer,
        injector: None,
    }
}

/// The options of [`publish_with`].
#[derive(Clone, Default)]
pub struct PublishOptions {
    config: HostConfig,
    observer: Option<Observer>,
}

type Observer = Arc<dyn Fn(&HostEvent) + Send + Sync>;

impl PublishOptions {
    /// What to declare, and how long to collect changes. `change` is given the settings as they are.
    pub fn configure(mut self, change: impl FnOnce(&mut HostConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Has `observer` told what happens on the connection, in order. It is called from the read loop, so it
    /// must not block.
    pub fn observe(mut self, observer: impl Fn(&HostEvent) + Send + Sync + 'static) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }
}

impl fmt::Debug for PublishOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublishOptions").field("config", &self.config).finish_non_exhaustive()
    }
}

/// A client's transport that publishes a workspace to the server at its other end. Made by [`publish`].
pub struct Published<T> {
    inner: T,
    half: HostHalf,
    rounds: Rounds,
    clock: Clock,
    /// Keeps the workspace's folders checked for as long as somebody is told of them.
    workspace: Workspace,
    exposed: watch::Receiver<RootSet>,
    observer: Option<Observer>,
    injector: Option<Injector>,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Published<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        mut message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.follow_workspace();
        let id = describe::message_id(&message);
        let frame = describe::client_frame(&message, id.as_ref(), |_| false);
        let verdict = self.half.handle_outbound(frame, self.clock.now());
        if let Verdict::Declare(capability) = verdict {
            describe::declare(&mut message, capability);
        }
        self.rounds.leaving(&mut message);
        // What was begun while messages were read is on its way already, where a transport has more than one: an
        // announcement must not be overtaken by a request that comes after it.
        let under_way = self.injector.as_ref().and_then(Injector::all_sent);
        let before = self.wanted();
        let sending = if verdict == Verdict::Swallow { None } else { Some(self.inner.send(message)) };
        async move {
            in_turn(under_way).await;
            in_turn(before).await;
            match sending {
                Some(sending) => sending.await,
                None => Ok(()),
            }
        }
    }

    /// Cancel-safe if the decorated transport's is.
    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        self.workspace.keep_checked();
        loop {
            self.inject();
            tokio::select! {
                biased;
                () = changed(&mut self.exposed) => self.take_exposed(),
                () = self.clock.sleep_until(self.half.next_timeout()) => self.half.handle_timeout(self.clock.now()),
                message = self.inner.receive() => {
                    let Some(message) = message else {
                        self.half.handle_close();
                        return None;
                    };
                    // An answer must hold what has been announced, and the newest there is.
                    self.follow_workspace();
                    let id = describe::message_id(&message);
                    let frame = describe::server_frame(&message, id.as_ref());
                    if self.half.handle_inbound(frame, self.clock.now()) != Verdict::Pass {
                        continue;
                    }
                    let half = &mut self.half;
                    let answer = || half.handle_returned().map(|roots| describe::roots_json(&roots));
                    match self.rounds.arriving(message, answer) {
                        Arrived::Pass(message) => {
                            self.inject();
                            return Some(message);
                        }
                        Arrived::Repeat(request) => {
                            let sending = self.inner.send(request);
                            self.injector.get_or_insert_with(Injector::start).send(told(sending));
                        }
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.half.handle_close();
        self.inner.close().await
    }
}

impl<T: Transport<RoleClient>> Published<T> {
    fn follow_workspace(&mut self) {
        if self.exposed.has_changed().unwrap_or(false) {
            self.take_exposed();
        }
    }

    fn take_exposed(&mut self) {
        let exposed = self.exposed.borrow_and_update().clone();
        self.half.handle_workspace(exposed, self.clock.now());
    }

    /// The sends of all that the half wants said, begun in order.
    fn wanted(&mut self) -> Vec<Sending> {
        let mut sendings: Vec<Sending> = Vec::new();
        while let Some(action) = self.half.poll_action() {
            let message = match action {
                HostAction::Answer { id, roots } => describe::roots_answer(id, &roots),
                HostAction::Refuse(id) => describe::roots_refusal(id),
                HostAction::Announce => describe::roots_list_changed(),
                HostAction::Report(event) => {
                    self.observed(&event);
                    continue;
                }
                // Actions of eras that this shell does not speak.
                _ => continue,
            };
            sendings.push(told(self.inner.send(message)));
        }
        sendings
    }

    fn inject(&mut self) {
        for sending in self.wanted() {
            self.injector.get_or_insert_with(Injector::start).send(sending);
        }
    }

    fn observed(&self, event: &HostEvent) {
        tracing::debug!(target: "mcp_roots", "{event}");
        if let Some(observer) = &self.observer {
            observer(event);
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Published<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Published").field("inner", &self.inner).field("half", &self.half).finish_non_exhaustive()
    }
}

/// A send that nobody waits for. If it fails the connection has ended, and everybody hears of that.
fn told<E: fmt::Display>(sending: impl Future<Output = Result<(), E>> + Send + 'static) -> Sending {
    Box::pin(async move {
        if let Err(error) = sending.await {
            tracing::debug!(target: "mcp_roots", %error, "the server could not be told of roots");
        }
    })
}

/// Ends when the workspace has changed; never, once it is gone.
async fn changed(exposed: &mut watch::Receiver<RootSet>) {
    if exposed.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}
