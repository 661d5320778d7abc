//! MCP roots made right, for servers and hosts in Rust on top of [`rmcp`].
//!
//! In the Model Context Protocol a client exposes *roots*, the workspace folders that a server may
//! consider, and sends `notifications/roots/list_changed` when the set changes. The notification carries
//! nothing: the server has to ask `roots/list` again. An SDK runs each message in a task of its own, so a
//! handler cannot keep the promise that matters, that a request sent after the notification never sees the
//! roots from before it. This crate keeps it at the wire, by decorating the transport:
//!
//! - a **server** wraps its transport in [`track`] and asks the [`Roots`] it gets for
//!   [`current`](Roots::current) roots, [`lease`](Roots::lease)s and [`changes`](Roots::changes);
//! - a server of many sessions over Streamable HTTP decorates its session manager, with `http::TrackedSessions`
//!   (feature `http`), and its handlers find their client's roots by [`Roots::of`];
//! - a **host** wraps its transport in [`publish`] and changes a [`Workspace`], or has it follow a
//!   [`Source`].
//!
//! The state machines are in [`core`]; they do no I/O and can be driven by other shells.
//!
//! Roots are deprecated since protocol 2026-07-28 (SEP-2577), and that revision has no `list_changed`. This crate speaks
//! the eras that have it, 2024-11-05 to 2025-11-25, and the one that has not: see [`Serving`].

pub mod boundary;
mod describe;
#[cfg(feature = "http")]
pub mod http;
mod local;
mod modern;
mod publish;
mod shell;
mod sources;
mod track;
pub mod wire;
mod workspace;

pub use local::LocalPathError;
pub use mcp_roots_core as core;
pub use mcp_roots_core::policy::Policy;
pub use mcp_roots_core::server_half::{OnStale, Refresh, Snapshot, State, Unavailable};
pub use modern::Serving;
pub use publish::{PublishOptions, Published, publish, publish_with};
pub use sources::{Source, SourceError};
pub use track::{Changes, Lease, LeaseError, Roots, TrackOptions, Tracked, in_words, track};
pub use workspace::{Batch, Workspace, WorkspaceError};
