//! The server side: decorate a server's transport, and ask for the client's roots through a handle.

mod changes;
mod lease;
mod options;
mod request;
mod roots;

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use mcp_roots_core::frame::{RequestId, Verdict};
#[cfg(feature = "http")]
use mcp_roots_core::server_half::Counters;
use mcp_roots_core::server_half::{
    Action, Event, LeaseId, RequestStream, ServerConfig, ServerHalf, Snapshot, Unavailable, WaitId,
};
use mcp_roots_core::time::Time;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::{IntoTransport, Transport};
use tokio::sync::{Notify, oneshot, watch};
use tokio_util::sync::CancellationToken;

pub use changes::Changes;
pub use lease::{Lease, LeaseError, in_words};
pub use options::TrackOptions;
pub use roots::Roots;

use crate::describe;
use crate::modern::States;
use crate::shell::{Clock, Injector, Sending, in_turn};

/// Tracks the roots of the client at the other end of `transport`.
///
/// Serve on the transport that comes back, and keep the [`Roots`] for the handlers. The transport marks
/// the set stale the moment it reads `notifications/roots/list_changed`, asks `roots/list` by itself, and
/// keeps the answers to itself; everything else passes.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use rmcp::ServiceExt;
///
/// let (transport, roots) = mcp_roots::track(mcp_roots::wire::stdio(), Default::default());
/// # struct MyServer { roots: mcp_roots::Roots }
/// # impl rmcp::ServerHandler for MyServer {}
/// MyServer { roots }.serve(transport).await?.waiting().await?;
/// # Ok(())
/// # }
/// ```
pub fn track<T, E, A>(transport: T, options: TrackOptions) -> (Tracked<impl Transport<RoleServer, Error = E>>, Roots)
where
    T: IntoTransport<RoleServer, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let (tracked, session) = Tracked::new(transport.into_transport(), options);
    (tracked, Roots::new(session))
}

/// A server's transport that tracks the roots of the client at its other end. Made by [`track`].
#[derive(Debug)]
pub struct Tracked<T> {
    inner: T,
    session: Arc<Session>,
    injector: Option<Injector>,
    /// A message that has been read and not yet handed on.
    read: Option<ClientJsonRpcMessage>,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Tracked<T> {
    type Error = T::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let id = describe::message_id(&message);
        let frame = describe::server_frame(&message, id.as_ref());
        let (urgent, verdict) =
            self.session.turn(|books, now| (books.outbox.urgent(), books.half.handle_outbound(frame, now)));
        self.inject_these(urgent);
        // A question within a request has to be out before the reply to that request closes its stream.
        let before = self.injector.as_ref().and_then(Injector::all_sent);
        // Boxed, since the type of a send borrows the transport although the send itself does not.
        let sending: Option<Pin<Box<dyn Future<Output = _> + Send>>> =
            if verdict == Verdict::Pass { Some(Box::pin(self.inner.send(message))) } else { None };
        self.inject(Outbox::questions);
        let after = self.begin(Outbox::everything);
        async move {
            in_turn(before).await;
            let sent = match sending {
                Some(sending) => sending.await,
                None => Ok(()),
            };
            in_turn(after).await;
            sent
        }
    }

    /// Cancel-safe if the decorated transport's is.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if self.inject(Outbox::questions) {
                // A question leaves before more is read: its answer is what others wait for.
                tokio::task::yield_now().await;
            }
            if let Some(message) = self.read.take() {
                return Some(message);
            }
            let waiting = !self.session.books().outbox.is_empty();
            tokio::select! {
                biased;
                () = self.session.woken.notified() => {}
                () = self.session.next_timeout() => self.session.tick(),
                // Those who have just been released send first, and take along what waits.
                () = tokio::task::yield_now(), if waiting => drop(self.inject(Outbox::everything)),
                message = self.inner.receive() => {
                    let Some(mut message) = message else {
                        self.session.close();
                        return None;
                    };
                    if waiting {
                        // Nobody took it along in time, and a busy client must not keep it waiting.
                        self.inject(Outbox::everything);
                    }
                    if self.hear(&message) == Verdict::Pass {
                        message.insert_extension(Roots::new(self.session.clone()));
                        self.read = Some(message);
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.session.close();
        self.inner.close().await
    }
}

impl<T: Transport<RoleServer>> Tracked<T> {
    pub(crate) fn new(inner: T, options: TrackOptions) -> (Self, Arc<Session>) {
        let session = Arc::new(Session::new(options.into_config()));
        (Tracked { inner, session: session.clone(), injector: None, read: None }, session)
    }

    fn hear(&mut self, message: &ClientJsonRpcMessage) -> Verdict {
        let id = describe::message_id(message);
        self.session.turn(|books, now| {
            if let Some(id) = id.as_ref().filter(|_| describe::is_request_within_session(message)) {
                books.half.handle_request_stream(id, RequestStream::Opened, now);
            }
            let frame = describe::client_frame(message, id.as_ref(), |id| books.half.awaits(id));
            books.half.handle_inbound(frame, now)
        })
    }

    /// Begins to send what waits to be injected, in order.
    fn begin(&mut self, take: impl FnOnce(&mut Outbox) -> Vec<ServerJsonRpcMessage>) -> Vec<Sending> {
        let messages = take(&mut self.session.books().outbox);
        messages.into_iter().map(|message| self.begin_one(message)).collect()
    }

    fn begin_one(&mut self, message: ServerJsonRpcMessage) -> Sending {
        let question = match &message {
            ServerJsonRpcMessage::Request(request) => Some(describe::half_id(&request.id)),
            _ => None,
        };
        let sending = self.inner.send(message);
        let session = self.session.clone();
        Box::pin(async move {
            if let Err(error) = sending.await {
                session.not_sent(question, error.to_string());
            }
        })
    }

    /// Has what waits sent without waiting for it; whether there was anything.
    fn inject(&mut self, take: impl FnOnce(&mut Outbox) -> Vec<ServerJsonRpcMessage>) -> bool {
        let messages = take(&mut self.session.books().outbox);
        self.inject_these(messages)
    }

    fn inject_these(&mut self, messages: Vec<ServerJsonRpcMessage>) -> bool {
        let any = !messages.is_empty();
        for message in messages {
            let sending = self.begin_one(message);
            self.injector.get_or_insert_with(Injector::start).send(sending);
        }
        any
    }
}

impl<T> Drop for Tracked<T> {
    fn drop(&mut self) {
        self.session.close();
    }
}

/// One client's half and the handles that look at it.
#[derive(Debug)]
pub(crate) struct Session {
    clock: Clock,
    books: Mutex<Books>,
    published: watch::Receiver<Arc<Snapshot>>,
    /// The read loop has something to inject, or an earlier timeout to wait for.
    woken: Notify,
    /// A handler needs roots, and would have them asked for along with something else.
    wanted: AtomicBool,
    /// Where what was counted goes at the end.
    #[cfg(feature = "http")]
    estate: Mutex<Option<Arc<Mutex<Counters>>>>,
    /// Seals what is put aside while the client is asked; made when it is first needed.
    states: OnceLock<Arc<States>>,
    /// It is one request's, of which there are so many that nobody is told what becomes of each.
    of_request: bool,
}

/// What is behind the lock. It is held for a turn of the half, and never across a wait.
#[derive(Debug)]
pub(crate) struct Books {
    pub(crate) half: ServerHalf,
    /// Gone once the connection is closed, so that those who watch learn it.
    publisher: Option<watch::Sender<Arc<Snapshot>>>,
    outbox: Outbox,
    waits: HashMap<WaitId, oneshot::Sender<Result<Arc<Snapshot>, Unavailable>>>,
    leases: HashMap<LeaseId, CancellationToken>,
}

/// What waits to be injected.
#[derive(Debug, Default)]
struct Outbox {
    /// Somebody may wait for the answers, so these go out at once.
    questions: VecDeque<ServerJsonRpcMessage>,
    /// The last updates of subscriptions. They go out in front of whatever is sent next, since that may tell of the
    /// new roots.
    updates: VecDeque<ServerJsonRpcMessage>,
    /// `notifications/resources/list_changed` is due. It goes out behind whatever is sent next, which somebody waits
    /// for.
    list_changed: bool,
}

impl Outbox {
    fn questions(&mut self) -> Vec<ServerJsonRpcMessage> {
        self.questions.drain(..).collect()
    }

    fn urgent(&mut self) -> Vec<ServerJsonRpcMessage> {
        self.questions.drain(..).chain(self.updates.drain(..)).collect()
    }

    fn everything(&mut self) -> Vec<ServerJsonRpcMessage> {
        let list_changed = std::mem::take(&mut self.list_changed).then(describe::resource_list_changed);
        self.urgent().into_iter().chain(list_changed).collect()
    }

    fn is_empty(&self) -> bool {
        self.questions.is_empty() && self.updates.is_empty() && !self.list_changed
    }
}

impl Session {
    pub(crate) fn new(config: ServerConfig) -> Self {
        Session::open(config, false)
    }

    fn open(config: ServerConfig, of_request: bool) -> Self {
        let half = ServerHalf::new(config, Time::ZERO);
        let (publisher, published) = watch::channel(half.snapshot().clone());
        let books = Books {
            half,
            publisher: Some(publisher),
            outbox: Outbox::default(),
            waits: HashMap::new(),
            leases: HashMap::new(),
        };
        let session = Session {
            clock: Clock::start(),
            published,
            books: Mutex::new(books),
            woken: Notify::new(),
            wanted: AtomicBool::new(false),
            #[cfg(feature = "http")]
            estate: Mutex::default(),
            states: OnceLock::new(),
            of_request,
        };
        session.turn(|_, _| ());
        session
    }

    /// Tells the half something and carries out all that it wants done, in its order, before anybody else
    /// can look.
    pub(crate) fn turn<R>(&self, tell: impl FnOnce(&mut Books, Time) -> R) -> R {
        let mut books = self.books();
        let timeout = books.half.next_timeout();
        let result = tell(&mut books, self.clock.now());
        while let Some(action) = books.half.poll_action() {
            self.act(&mut books, action);
        }
        if !books.outbox.is_empty() || books.half.next_timeout() != timeout {
            self.woken.notify_one();
        }
        result
    }

    fn act(&self, books: &mut Books, action: Action) {
        match action {
            Action::Ask(id) => books.outbox.questions.push_back(describe::list_roots(id)),
            Action::AskWithin { id, request } => {
                books.outbox.questions.push_back(describe::list_roots_within(id, request));
            }
            Action::ResourceUpdated(uri) => books.outbox.updates.push_back(describe::resource_updated(&uri)),
            Action::ResourceListChanged => books.outbox.list_changed = true,
            Action::Revoke(lease) => {
                if let Some(revoked) = books.leases.remove(&lease) {
                    revoked.cancel();
                }
            }
            Action::Publish(snapshot) => {
                if let Some(publisher) = &books.publisher {
                    publisher.send_replace(snapshot);
                }
            }
            Action::Release(wait, outcome) => {
                if let Some(waiting) = books.waits.remove(&wait) {
                    // Nobody is there to hear it only if the request was cancelled just now.
                    let _ = waiting.send(outcome);
                }
            }
            Action::Report(event) if self.of_request => tracing::debug!(target: "mcp_roots", "{event}"),
            Action::Report(event) => log(&event),
            // Actions of eras that this shell does not speak.
            _ => {}
        }
    }

    pub(crate) fn config(&self) -> ServerConfig {
        self.books().half.config().clone()
    }

    pub(crate) fn states(&self) -> Arc<States> {
        self.states.get_or_init(|| Arc::new(States::new())).clone()
    }

    pub(crate) fn want(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    fn tick(&self) {
        self.turn(|books, now| books.half.handle_timeout(now));
    }

    fn close(&self) {
        self.turn(|books, now| books.half.handle_close(now));
        self.books().publisher = None;
    }

    fn not_sent(&self, question: Option<RequestId>, error: String) {
        match question {
            Some(id) => self.turn(|books, now| books.half.handle_send_failure(&id, error, now)),
            None => tracing::debug!(%error, "a notification about a change of roots could not be sent"),
        }
    }

    async fn next_timeout(&self) {
        let timeout = self.books().half.next_timeout();
        self.clock.sleep_until(timeout).await;
    }

    /// A panic elsewhere cannot leave the half between two states, so the lock's poison means nothing.
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(feature = "http")]
impl Session {
    /// Has what this session counts added to a sum once it has ended.
    pub(crate) fn bequeath(&self, estate: &Arc<Mutex<Counters>>) {
        *self.estate.lock().unwrap_or_else(PoisonError::into_inner) = Some(estate.clone());
    }

    /// Adds it now: whoever asks for the sum does not find this session any more.
    pub(crate) fn settle_estate(&self) {
        let estate = self.estate.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(estate) = estate {
            let counted = self.books().half.status().counters;
            *estate.lock().unwrap_or_else(PoisonError::into_inner) += &counted;
        }
    }
}

#[cfg(feature = "http")]
impl Drop for Session {
    fn drop(&mut self) {
        self.settle_estate();
    }
}

/// Roots' paths are in no event's text.
fn log(event: &Event) {
    match event {
        Event::Discarded { count: 1 } | Event::Failed { failures: 1, .. } | Event::Refused { .. } => {
            tracing::warn!(target: "mcp_roots", "{event}");
        }
        Event::NotFollowed { .. } => tracing::warn!(target: "mcp_roots", "{event}"),
        Event::Changed { .. } => tracing::info!(target: "mcp_roots", "{event}"),
        _ => tracing::debug!(target: "mcp_roots", "{event}"),
    }
}
