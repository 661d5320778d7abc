//! All integration tests of the core, in one binary.

mod host;
mod server;
