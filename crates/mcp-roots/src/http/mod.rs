//! Streamable HTTP: each session of a server tracks its own client's roots.
//!
//! `rmcp` serves HTTP from one object for all clients, so there is no transport to decorate and no one handle to give to
//! the server. [`TrackedSessions`] decorates its session manager instead. Each `Mcp-Session-Id` gets a transport that is
//! tracked as by [`track`](crate::track()), and every message of the session carries the session's [`Roots`]: a
//! handler takes them from its context, with [`Roots::of`] or as `Extension<Roots>`, and sees its own client's.
//!
//! ```no_run
//! # async fn run<S: rmcp::ServerHandler>(server: impl Fn() -> S + Send + Sync + 'static) {
//! use std::sync::Arc;
//!
//! use mcp_roots::{TrackOptions, http::TrackedSessions};
//! use rmcp::transport::StreamableHttpService;
//!
//! let sessions = Arc::new(TrackedSessions::local(TrackOptions::default()));
//! let service = StreamableHttpService::new(move || Ok(server()), sessions, Default::default());
//! # let _ = service;
//! # }
//! ```
//!
//! # When a client is asked
//!
//! A server can send a request only on a stream that the client has open: one that it may open by a GET, or that of a
//! request which it has POSTed, up to the response (2025-11-25, basic/transports, Sending Messages to the Server, and
//! Listening for Messages from the Server). So `roots/list` goes out at once if the client has a stream open, and inside
//! its next request otherwise, before that request is served. In between the roots are [`Stale`](crate::State::Stale);
//! nothing waits for them and no deadline runs. A POST of `notifications/roots/list_changed` is answered without waiting
//! for any of that, and a request that is POSTed after it has been answered never sees the roots from before.
//!
//! A stream that breaks off costs no deadline: what was asked on it is asked again on the next. If the client resumes it,
//! what was asked is still there to be answered, and more can be asked (2025-11-25, basic/transports, Resumability and
//! Redelivery). With an event store of your own ([`event_store`](TrackedSessions#method.event_store)) a resumed stream
//! replays what there was and is not counted on for more.
//!
//! # How many sessions there may be
//!
//! As many as clients open, unless [`TrackedSessions::at_most`] sets a limit. It holds where sessions are made, so no
//! request gets past it, whatever its headers say and however many come at once. [`with_room`] tells an HTTP server of a
//! request that was refused.
//!
//! # What is left to others
//!
//! Requests of the modern era (2026-07-28) belong to no session: what is served must be a [`Serving`](crate::Serving), which
//! gives each of them roots of its own. Those of a server without sessions find none in the context. A session manager must hand a session's messages on in the order in which
//! it took them, as `rmcp`'s does; and one that carries messages between processes has to see to it that a server's
//! request which is marked as belonging to a client's request ends up on that one's stream
//! ([`OriginatingRequestId`](rmcp::service::OriginatingRequestId)).

mod room;
mod sessions;
mod streams;

pub use room::{NoRoom, SessionsError, with_room};
pub use sessions::TrackedSessions;

#[expect(unused_imports, reason = "named in the text above")]
use crate::Roots;
