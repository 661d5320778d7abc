//! All integration tests of the library, in one binary.

mod boundary;
mod examples;
mod modern;
mod modern_host;
#[cfg(feature = "http")]
mod http;
mod pair;
mod publishing;
mod sources;
mod tracking;
mod wire;
