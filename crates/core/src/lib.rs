//! MCP roots as two state machines, one for each side of the wire, with no I/O, clock, async or JSON.
//!
//! - [`server_half`] stands on the server's side and *tracks* a client's roots;
//! - [`host_half`] stands on the client's side and *publishes* a workspace's roots;
//! - [`frame`] is what they need to know of a message; [`time`] is passed in;
//! - [`uri`], [`set`] and [`policy`] are roots themselves, [`mapping`] what they are called on another machine;
//!   [`workspace`] is what a host exposes.
//!
//! A shell reads and writes messages and drives a half: it says what happened and when, then drains the
//! half's actions until there is none. The crate `mcp-roots` has shells for `rmcp`.

mod bucket;
pub mod frame;
pub mod host_half;
pub mod mapping;
pub mod policy;
pub mod server_half;
pub mod set;
pub mod time;
pub mod uri;
pub mod workspace;
