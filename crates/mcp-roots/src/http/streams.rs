//! The streams that a session's client has open, and the half told of each that opens, breaks off or is resumed.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use mcp_roots_core::frame::RequestId;
use mcp_roots_core::server_half::RequestStream;
use rmcp::model::JsonRpcMessage;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;

use crate::describe;
use crate::track::Session;

/// How many requests are remembered whose stream broke off, so that a resumed one is known again.
const BROKEN: usize = 32;

/// The streams of one session. It keeps no session alive.
#[derive(Debug)]
pub(super) struct Streams {
    pub(super) session: Weak<Session>,
    /// Taken in turn by those that open a stream of no request, since it depends on the others what each is good for.
    opening: tokio::sync::Mutex<()>,
    books: Mutex<Books>,
}

#[derive(Debug, Default)]
struct Books {
    /// A stream is open that takes what belongs to no request.
    standalone: bool,
    /// The streams of requests that have not been replied to, the oldest first.
    requests: Vec<Known>,
}

/// The stream of a request.
#[derive(Debug)]
struct Known {
    /// What the ids of its events say of it.
    stream: String,
    request: RequestId,
    /// How often it is open. A client may resume it before the server has noticed that it broke off.
    open: usize,
}

/// What a client resumes, to judge by the last event that it has seen.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Resumed {
    /// A stream of no request.
    Standalone,
    /// That of a request which has not been answered, as far as is known here.
    Request {
        /// What tells its stream from others.
        stream: String,
        /// The request.
        request: RequestId,
    },
    /// That of a request which needs no watching any more.
    Other,
}

impl Streams {
    pub(super) fn new(session: &Arc<Session>) -> Self {
        Streams { session: Arc::downgrade(session), opening: Default::default(), books: Mutex::default() }
    }

    /// The session, if it has not ended.
    pub(super) fn session(&self) -> Option<Arc<Session>> {
        self.session.upgrade()
    }

    pub(super) fn is_alive(&self) -> bool {
        self.session.strong_count() > 0
    }

    /// Opens a stream of no request.
    ///
    /// While there is one, `rmcp` keeps any further one open and sends nothing on it, not even after the first has
    /// closed. So only one that is opened where there is none counts; if in doubt, none does, and the client is asked
    /// within its next request.
    pub(super) async fn open<S, E>(self: Arc<Self>, opening: impl Future<Output = Result<S, E>>) -> Result<Watched, E>
    where
        S: Stream<Item = ServerSseMessage> + Send + Sync + 'static,
    {
        let _turn = self.opening.lock().await;
        let counts = !self.books().standalone;
        let stream = opening.await?;
        Ok(if counts { Watched::standalone(stream, self.clone()) } else { Watched::unknown(stream) })
    }

    /// What is resumed after this event. The ids are those of `rmcp`'s session manager: an index, and if the stream is a
    /// request's, a slash and what tells that stream from others.
    pub(super) fn resumed_after(&self, last_event_id: &str) -> Resumed {
        let Some(stream) = stream_of(last_event_id) else { return Resumed::Standalone };
        let books = self.books();
        let known = books.requests.iter().find(|known| known.stream == stream);
        known.map_or(Resumed::Other, |known| Resumed::Request { stream: stream.into(), request: known.request.clone() })
    }

    fn set_standalone(&self, open: bool) {
        // Held for the turn, so that the half hears of openings and endings in their order.
        let mut books = self.books();
        books.standalone = open;
        if let Some(session) = self.session() {
            session.turn(|books, now| books.half.handle_stream(open, now));
        }
    }

    fn request_opened(&self, stream: &str, request: &RequestId) {
        let mut books = self.books();
        if let Some(known) = books.requests.iter_mut().find(|known| known.stream == stream) {
            known.open += 1;
            self.set_request(request, RequestStream::Resumed);
        } else {
            books.requests.push(Known { stream: stream.into(), request: request.clone(), open: 1 });
        }
    }

    /// A stream of a request ended before the reply.
    fn request_broke(&self, stream: Option<&str>, request: &RequestId) {
        let mut books = self.books();
        let known = books.requests.iter_mut().find(|known| Some(known.stream.as_str()) == stream);
        let left = known.map_or(0, |known| {
            known.open -= 1;
            known.open
        });
        if left == 0 {
            books.forget_oldest_broken();
            self.set_request(request, RequestStream::Broken);
        }
    }

    fn request_replied(&self, stream: &str) {
        self.books().requests.retain(|known| known.stream != stream);
    }

    fn set_request(&self, request: &RequestId, became: RequestStream) {
        if let Some(session) = self.session() {
            session.turn(|books, now| books.half.handle_request_stream(request, became, now));
        }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        // No panic can leave them half changed.
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    fn forget_oldest_broken(&mut self) {
        let broken = || self.requests.iter().enumerate().filter(|(_, known)| known.open == 0);
        if broken().count() > BROKEN
            && let Some((oldest, _)) = broken().next()
        {
            self.requests.remove(oldest);
        }
    }
}

fn stream_of(event_id: &str) -> Option<&str> {
    event_id.split_once('/').map(|(_, stream)| stream)
}

type Events = Pin<Box<dyn Stream<Item = ServerSseMessage> + Send + Sync>>;

/// A stream of events to the client whose end is noticed.
pub(super) struct Watched {
    /// `None` once it has ended.
    events: Option<Events>,
    watch: Option<Watch>,
}

enum Watch {
    Standalone(Arc<Streams>),
    Request(RequestWatch),
}

struct RequestWatch {
    streams: Arc<Streams>,
    request: RequestId,
    /// What the events' ids say of the stream.
    stream: Option<String>,
}

impl Watched {
    fn new(events: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, watch: Option<Watch>) -> Self {
        Watched { events: Some(Box::pin(events)), watch }
    }

    /// One that nothing depends on.
    pub(super) fn unknown(events: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static) -> Self {
        Watched::new(events, None)
    }

    fn standalone(events: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, streams: Arc<Streams>) -> Self {
        streams.set_standalone(true);
        Watched::new(events, Some(Watch::Standalone(streams)))
    }

    /// That of a request which has just been handed on. The half hears of it when it reads the request.
    pub(super) fn request(
        events: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
        streams: Arc<Streams>,
        request: RequestId,
    ) -> Self {
        Watched::new(events, Some(Watch::Request(RequestWatch { streams, request, stream: None })))
    }

    /// That of a request, resumed.
    pub(super) fn resumed(
        events: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
        streams: Arc<Streams>,
        stream: String,
        request: RequestId,
    ) -> Self {
        streams.request_opened(&stream, &request);
        Watched::new(events, Some(Watch::Request(RequestWatch { streams, request, stream: Some(stream) })))
    }

    fn end(&mut self) {
        // It is gone before anybody hears of it, so that the next one is no second one.
        self.events = None;
        match self.watch.take() {
            Some(Watch::Standalone(streams)) => streams.set_standalone(false),
            Some(Watch::Request(RequestWatch { streams, request, stream })) => {
                streams.request_broke(stream.as_deref(), &request);
            }
            None => {}
        }
    }

    fn see(&mut self, event: &ServerSseMessage) {
        let Some(Watch::Request(watch)) = &mut self.watch else { return };
        if watch.stream.is_none()
            && let Some(stream) = event.event_id.as_deref().and_then(stream_of)
        {
            watch.streams.request_opened(stream, &watch.request);
            watch.stream = Some(stream.into());
        }
        let replied = match event.message.as_deref() {
            Some(message @ (JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_))) => {
                describe::message_id(message).as_ref() == Some(&watch.request)
            }
            _ => false,
        };
        if replied {
            // It ends as it should.
            if let Some(stream) = &watch.stream {
                watch.streams.request_replied(stream);
            }
            self.watch = None;
        }
    }
}

impl Stream for Watched {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        let Some(events) = &mut self.events else { return Poll::Ready(None) };
        let event = ready!(events.as_mut().poll_next(context));
        match &event {
            Some(event) => self.see(event),
            None => self.end(),
        }
        Poll::Ready(event)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.end();
    }
}
