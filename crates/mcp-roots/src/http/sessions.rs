//! The decorator of a session manager: a half for each session, and its streams watched.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::Stream;
use mcp_roots_core::server_half::{Counters, Reach};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::{
    EventStore, RestoreOutcome, ServerSseMessage, SessionId, SessionManager,
};

use super::room::{NoRoom, SessionsError};
use super::streams::{Resumed, Streams, Watched};
use crate::describe;
use crate::track::{Roots, Session, TrackOptions, Tracked};

/// A session manager whose sessions track their clients' roots, each its own. See the [module](super).
///
/// It keeps nothing of a session that has ended, by a DELETE, by expiry or otherwise.
#[derive(Debug)]
pub struct TrackedSessions<M = LocalSessionManager> {
    inner: M,
    options: TrackOptions,
    limit: Option<usize>,
    sessions: Mutex<Sessions>,
    /// What sessions that have ended have counted.
    ended: Arc<Mutex<Counters>>,
}

#[derive(Debug, Default)]
struct Sessions {
    /// What is open of each session. The halves are their transports'.
    open: HashMap<SessionId, Arc<Streams>>,
    /// How many are being made.
    making: usize,
}

/// The place of a session that is being made. It is given back if the session is not to be.
struct Place<'a> {
    sessions: &'a Mutex<Sessions>,
}

impl TrackedSessions {
    /// Sessions kept in this process, with `rmcp`'s default settings.
    pub fn local(options: TrackOptions) -> Self {
        TrackedSessions::new(LocalSessionManager::default(), options)
    }
}

impl<M> TrackedSessions<M> {
    /// Decorates `inner`. The options are those of each session.
    pub fn new(inner: M, options: TrackOptions) -> Self {
        let options = options.configure(|config| config.reach = Reach::Streams);
        TrackedSessions { inner, options, limit: None, sessions: Mutex::default(), ended: Arc::default() }
    }

    /// Makes no session while there are so many, those that are just being made included.
    ///
    /// Requests of the modern era need none, and are not counted. See [`with_room`](super::with_room) for what a client
    /// that is refused is told.
    pub fn at_most(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }

    /// The manager that is decorated.
    pub fn inner(&self) -> &M {
        &self.inner
    }

    /// How many sessions there are.
    pub fn len(&self) -> usize {
        self.sessions().alive()
    }

    /// Whether there is no session.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What has been counted in all sessions, those that have ended included.
    pub fn counted(&self) -> Counters {
        // Held all the while, so that a session which is closed meanwhile is counted once.
        let sessions = self.sessions();
        let alive: Vec<Arc<Session>> = sessions.open.values().filter_map(|streams| streams.session()).collect();
        let mut sum = self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone();
        drop(sessions);
        alive.into_iter().for_each(|session| sum += &Roots::new(session).status().counters);
        sum
    }

    /// The roots of a session's client, for whoever acts on the session from outside of its handlers; `None` if there is
    /// no such session.
    pub fn roots(&self, id: &SessionId) -> Option<Roots> {
        self.streams(id)?.session().map(Roots::new)
    }

    /// Takes a place for a session, if there is room for one.
    fn place(&self) -> Result<Place<'_>, NoRoom> {
        let mut sessions = self.sessions();
        if let Some(limit) = self.limit
            && sessions.alive() + sessions.making >= limit
        {
            return Err(NoRoom::refuse(limit));
        }
        Ok(sessions.one_more(&self.sessions))
    }

    fn track<T>(&self, id: &SessionId, transport: T, place: Place<'_>) -> Tracked<T>
    where
        T: rmcp::transport::Transport<rmcp::RoleServer>,
    {
        let (tracked, session) = Tracked::new(transport, self.options.clone().reseeded());
        session.bequeath(&self.ended);
        place.fill(id, Streams::new(&session));
        tracked
    }

    fn forget(&self, id: &SessionId) {
        let mut sessions = self.sessions();
        if let Some(session) = sessions.open.remove(id).and_then(|streams| streams.session()) {
            session.settle_estate();
        }
    }

    fn streams(&self, id: &SessionId) -> Option<Arc<Streams>> {
        self.sessions().open.get(id).cloned()
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        lock(&self.sessions)
    }
}

impl Sessions {
    /// How many have not ended. A transport may have been dropped without its session having been closed.
    fn alive(&self) -> usize {
        self.open.values().filter(|streams| streams.is_alive()).count()
    }

    /// A place for one that is to be made, room or not.
    fn one_more<'a>(&mut self, of: &'a Mutex<Sessions>) -> Place<'a> {
        self.making += 1;
        Place { sessions: of }
    }
}

impl Place<'_> {
    /// The session is there, from one moment to the next.
    fn fill(self, id: &SessionId, streams: Streams) {
        let mut sessions = lock(self.sessions);
        sessions.open.retain(|_, streams| streams.is_alive());
        sessions.open.insert(id.clone(), Arc::new(streams));
        sessions.making -= 1;
        std::mem::forget(self);
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        lock(self.sessions).making -= 1;
    }
}

fn lock(sessions: &Mutex<Sessions>) -> MutexGuard<'_, Sessions> {
    // No panic can leave them half changed.
    sessions.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<M: SessionManager> SessionManager for TrackedSessions<M> {
    type Error = SessionsError<M::Error>;
    type Transport = Tracked<M::Transport>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionsError<M::Error>> {
        let place = self.place()?;
        let (id, transport) = self.inner.create_session().await.map_err(SessionsError::Inner)?;
        let tracked = self.track(&id, transport, place);
        Ok((id, tracked))
    }

    async fn restore_session(&self, id: SessionId) -> Result<RestoreOutcome<Self::Transport>, SessionsError<M::Error>> {
        // One that is there already takes no other place.
        let known = self.roots(&id).is_some();
        let place = if known { self.sessions().one_more(&self.sessions) } else { self.place()? };
        Ok(match self.inner.restore_session(id.clone()).await.map_err(SessionsError::Inner)? {
            RestoreOutcome::Restored(transport) => RestoreOutcome::Restored(self.track(&id, transport, place)),
            RestoreOutcome::AlreadyPresent => RestoreOutcome::AlreadyPresent,
            // What this crate does not know of, it cannot track.
            _ => RestoreOutcome::NotSupported,
        })
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionsError<M::Error>> {
        self.inner.initialize_session(id, message).await.map_err(SessionsError::Inner)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionsError<M::Error>> {
        self.inner.has_session(id).await.map_err(SessionsError::Inner)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionsError<M::Error>> {
        self.forget(id);
        self.inner.close_session(id).await.map_err(SessionsError::Inner)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError<M::Error>> {
        let request = match &message {
            JsonRpcMessage::Request(request) => Some(describe::half_id(&request.id)),
            _ => None,
        };
        let stream = self.inner.create_stream(id, message).await.map_err(SessionsError::Inner)?;
        Ok(match (self.streams(id), request) {
            (Some(streams), Some(request)) => Watched::request(stream, streams, request),
            _ => Watched::unknown(stream),
        })
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionsError<M::Error>> {
        self.inner.accept_message(id, message).await.map_err(SessionsError::Inner)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError<M::Error>> {
        let opening = async { self.inner.create_standalone_stream(id).await.map_err(SessionsError::Inner) };
        match self.streams(id) {
            Some(streams) => streams.open(opening).await,
            None => opening.await.map(Watched::unknown),
        }
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError<M::Error>> {
        // A store replays what there was, and knows nothing of the streams that are to come.
        let streams = self.streams(id).filter(|_| self.inner.event_store().is_none());
        let resumed = streams.map(|streams| (streams.resumed_after(&last_event_id), streams));
        let opening = async { self.inner.resume(id, last_event_id).await.map_err(SessionsError::Inner) };
        match resumed {
            Some((Resumed::Standalone, streams)) => streams.open(opening).await,
            Some((Resumed::Request { stream, request }, streams)) => {
                Ok(Watched::resumed(opening.await?, streams, stream, request))
            }
            Some((Resumed::Other, _)) | None => opening.await.map(Watched::unknown),
        }
    }

    fn event_store(&self) -> Option<Arc<dyn EventStore>> {
        self.inner.event_store()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;

    use rmcp::model::{CallToolRequestParams, CallToolResponse, ErrorData, ServerCapabilities, ServerConfig};
    use rmcp::service::RequestContext;
    use rmcp::{RoleServer, ServerHandler, ServiceExt};
    use serde_json::{Value, json};

    use super::*;
    use crate::track::Session;

    /// Waits for roots in each call.
    struct Waiting;

    impl ServerHandler for Waiting {
        fn get_info(&self) -> ServerConfig {
            ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
        }

        async fn call_tool(
            &self,
            _: CallToolRequestParams,
            context: RequestContext<RoleServer>,
        ) -> Result<CallToolResponse, ErrorData> {
            let roots = Roots::of(&context.extensions).expect("the session's roots").clone();
            let error = roots.current().await.expect_err("nobody answers");
            Err(ErrorData::internal_error(error.to_string(), None))
        }
    }

    fn message(message: Value) -> ClientJsonRpcMessage {
        serde_json::from_value(message).expect("a message")
    }

    /// A session in which a call waits for roots, with a stream of its own and one beside.
    async fn busy(sessions: &Arc<TrackedSessions>) -> (SessionId, Weak<Session>, Vec<Box<dyn Send>>) {
        let (id, transport) = sessions.create_session().await.unwrap();
        let half = sessions.streams(&id).unwrap().session.clone();
        tokio::spawn(async move {
            if let Ok(service) = Waiting.serve(transport).await {
                let _ = service.waiting().await;
            }
        });
        let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {"roots": {}},
            "clientInfo": {"name": "silent", "version": "1"},
        }});
        sessions.initialize_session(&id, message(initialize)).await.unwrap();
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        sessions.accept_message(&id, message(initialized)).await.unwrap();
        let beside = sessions.create_standalone_stream(&id).await.unwrap();
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "any"}});
        let own = sessions.create_stream(&id, message(call)).await.unwrap();
        let roots = sessions.roots(&id).unwrap();
        while roots.status().waiting == 0 {
            tokio::task::yield_now().await;
        }
        (id, half, vec![Box::new(beside), Box::new(own)])
    }

    #[tokio::test]
    async fn nothing_is_kept_of_a_session_that_has_been_closed() {
        let sessions = Arc::new(TrackedSessions::local(TrackOptions::default()));
        let (id, half, streams) = busy(&sessions).await;
        let (_, other, _streams) = busy(&sessions).await;
        sessions.close_session(&id).await.unwrap();
        while half.strong_count() > 0 {
            tokio::task::yield_now().await;
        }
        // And that while its client still has the streams, and not one that is not its own.
        drop(streams);
        assert_eq!((sessions.len(), other.strong_count() > 0), (1, true));
    }

    #[tokio::test]
    async fn a_session_that_is_restored_is_tracked_from_its_beginning() {
        let sessions = TrackedSessions::local(TrackOptions::default());
        let id: SessionId = "from elsewhere".into();
        let Ok(RestoreOutcome::Restored(_transport)) = sessions.restore_session(id.clone()).await else {
            panic!("it was not there")
        };
        assert_eq!(sessions.roots(&id).unwrap().snapshot().state, crate::State::NotYet);
        let half = sessions.streams(&id).unwrap().session.clone();
        assert!(matches!(sessions.restore_session(id.clone()).await, Ok(RestoreOutcome::AlreadyPresent)));
        assert!(Weak::ptr_eq(&half, &sessions.streams(&id).unwrap().session));
    }

    #[tokio::test]
    async fn nothing_is_kept_of_a_transport_that_was_dropped_without_a_word() {
        let sessions = TrackedSessions::local(TrackOptions::default());
        let (id, transport) = sessions.create_session().await.unwrap();
        drop(transport);
        assert!(sessions.is_empty() && sessions.roots(&id).is_none());
        let (_, _transport) = sessions.create_session().await.unwrap();
        assert_eq!(sessions.sessions().open.len(), 1);
    }

    #[tokio::test]
    async fn a_session_is_refused_while_there_is_no_room_and_whoever_handles_the_request_hears_of_it() {
        let sessions = TrackedSessions::local(TrackOptions::default()).at_most(2);
        let (one, _transport) = sessions.create_session().await.unwrap();
        let (_, dropped) = sessions.create_session().await.unwrap();
        assert!(matches!(sessions.create_session().await, Err(SessionsError::NoRoom(NoRoom { limit: 2 }))));
        assert!(matches!(super::super::with_room(sessions.create_session()).await, Err(NoRoom { limit: 2 })));
        let restored = sessions.restore_session("from elsewhere".into()).await;
        assert!(matches!(restored, Err(SessionsError::NoRoom(_))), "restoring one is no way around");
        let present = sessions.restore_session(one.clone()).await;
        assert!(matches!(present, Ok(RestoreOutcome::AlreadyPresent)), "what is there takes no place");
        drop(dropped);
        let (_, _transport) = super::super::with_room(sessions.create_session()).await.expect("room").unwrap();
        sessions.close_session(&one).await.unwrap();
        sessions.create_session().await.unwrap();
    }

    #[tokio::test]
    async fn sessions_that_are_being_made_take_their_places_at_once() {
        let sessions = TrackedSessions::local(TrackOptions::default()).at_most(1);
        // Nobody gets on in the decorated manager meanwhile.
        let busy = sessions.inner().sessions.read().await;
        let mut making = Box::pin(sessions.create_session());
        assert!(is_pending(making.as_mut()).await);
        assert!(matches!(sessions.create_session().await, Err(SessionsError::NoRoom(_))));
        // A client that leaves meanwhile gives its place back.
        drop(making);
        let mut making = Box::pin(sessions.create_session());
        assert!(is_pending(making.as_mut()).await);
        drop(busy);
        let (_, _transport) = making.await.unwrap();
        assert!(matches!(sessions.create_session().await, Err(SessionsError::NoRoom(_))));
    }

    async fn is_pending<F: Future>(mut future: std::pin::Pin<&mut F>) -> bool {
        std::future::poll_fn(|context| std::task::Poll::Ready(future.as_mut().poll(context).is_pending())).await
    }
}
