//! What the tests of the whole system share.
pub mod binary;
pub mod built_in;
pub mod compare;
mod differences;
pub mod docs;
pub mod guests;
pub mod house;
pub mod log;
pub mod mutation;
pub mod probe;
pub mod provider_server;
pub mod recorder;
pub mod recording;
pub mod scripts;
pub mod source;
pub mod suite;
pub mod tool;
pub mod wit;
