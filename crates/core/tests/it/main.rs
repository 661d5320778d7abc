//! All integration tests of the core, in one binary.

mod host;
mod mapping;
mod policy;
mod server;
mod set;
mod uri;
