//! All integration tests of the library, in one binary.

mod boundary;
mod examples;
#[cfg(feature = "http")]
mod http;
mod mapping;
mod modern;
mod modern_host;
mod pair;
mod publishing;
mod sources;
mod tracking;
mod wire;
