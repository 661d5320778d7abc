//! The decorator of a session manager: a half for each session, and its streams watched.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::Stream;
use mcp_roots_core::server_half::{Counters, Reach};
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::session::{
    EventStore, RestoreOutcome, ServerSseMessage, SessionId, SessionManager,
};

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
    /// What is open of each session. The halves are their transports'.
    sessions: Mutex<HashMap<SessionId, Arc<Streams>>>,
    /// What sessions that have ended have counted.
    ended: Arc<Mutex<Counters>>,
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
        TrackedSessions { inner, options, sessions: Mutex::default(), ended: Arc::default() }
    }

    /// The manager that is decorated.
    pub fn inner(&self) -> &M {
        &self.inner
    }

    /// How many sessions there are.
    pub fn len(&self) -> usize {
        self.sessions().values().filter(|streams| streams.session().is_some()).count()
    }

    /// Whether there is no session.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What has been counted in all sessions, those that have ended included.
    pub fn counted(&self) -> Counters {
        // Held all the while, so that a session which is closed meanwhile is counted once.
        let sessions = self.sessions();
        let alive: Vec<Arc<Session>> = sessions.values().filter_map(|streams| streams.session()).collect();
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

    fn track<T>(&self, id: &SessionId, transport: T) -> Tracked<T>
    where
        T: rmcp::transport::Transport<rmcp::RoleServer>,
    {
        let (tracked, session) = Tracked::new(transport, self.options.clone().reseeded());
        session.bequeath(&self.ended);
        let mut sessions = self.sessions();
        // A transport may have been dropped without its session having been closed.
        sessions.retain(|_, streams| streams.session().is_some());
        sessions.insert(id.clone(), Arc::new(Streams::new(&session)));
        drop(sessions);
        tracked
    }

    fn forget(&self, id: &SessionId) {
        let mut sessions = self.sessions();
        if let Some(session) = sessions.remove(id).and_then(|streams| streams.session()) {
            session.settle_estate();
        }
    }

    fn streams(&self, id: &SessionId) -> Option<Arc<Streams>> {
        self.sessions().get(id).cloned()
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Streams>>> {
        // No panic can leave a map half changed.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: SessionManager> SessionManager for TrackedSessions<M> {
    type Error = M::Error;
    type Transport = Tracked<M::Transport>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), M::Error> {
        let (id, transport) = self.inner.create_session().await?;
        let tracked = self.track(&id, transport);
        Ok((id, tracked))
    }

    async fn restore_session(&self, id: SessionId) -> Result<RestoreOutcome<Self::Transport>, M::Error> {
        Ok(match self.inner.restore_session(id.clone()).await? {
            RestoreOutcome::Restored(transport) => RestoreOutcome::Restored(self.track(&id, transport)),
            RestoreOutcome::AlreadyPresent => RestoreOutcome::AlreadyPresent,
            // What this crate does not know of, it cannot track.
            _ => RestoreOutcome::NotSupported,
        })
    }

    fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<ServerJsonRpcMessage, M::Error>> + Send {
        self.inner.initialize_session(id, message)
    }

    fn has_session(&self, id: &SessionId) -> impl Future<Output = Result<bool, M::Error>> + Send {
        self.inner.has_session(id)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), M::Error> {
        self.forget(id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, M::Error> {
        let request = match &message {
            JsonRpcMessage::Request(request) => Some(describe::half_id(&request.id)),
            _ => None,
        };
        let stream = self.inner.create_stream(id, message).await?;
        Ok(match (self.streams(id), request) {
            (Some(streams), Some(request)) => Watched::request(stream, streams, request),
            _ => Watched::unknown(stream),
        })
    }

    fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), M::Error>> + Send {
        self.inner.accept_message(id, message)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, M::Error> {
        let opening = self.inner.create_standalone_stream(id);
        match self.streams(id) {
            Some(streams) => streams.open(opening).await,
            None => opening.await.map(Watched::unknown),
        }
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, M::Error> {
        // A store replays what there was, and knows nothing of the streams that are to come.
        let streams = self.streams(id).filter(|_| self.inner.event_store().is_none());
        let resumed = streams.map(|streams| (streams.resumed_after(&last_event_id), streams));
        let opening = self.inner.resume(id, last_event_id);
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
        assert_eq!(sessions.sessions().len(), 1);
    }
}
