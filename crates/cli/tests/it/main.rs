//! All tests of the program, in one binary: they run it as people do.

mod apart;
mod client;
mod host;
mod http;
mod input;
mod large;
mod load;
mod many;
mod mapping;
mod matrix;
mod serve;
mod sources;
mod storm;
mod tools;
mod tree;
mod writing;
