//! Newline-delimited JSON-RPC over a byte stream (2025-11-25, basic/transports, stdio).
//!
//! `rmcp` has a transport of this kind. This one exists for three promises that one does not make: a line
//! that is no message is answered with an error and the session lives on; messages leave in the order in which
//! they were sent; and each limit says so when it is hit.
//!
//! [`lines`] knows bytes and newlines; [`LineTransport`] knows messages.

pub mod lines;
mod refuse;
mod transport;

pub use transport::{Limits, LineTransport, Peer, stdio};
