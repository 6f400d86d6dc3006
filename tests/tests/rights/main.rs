//! Rights: what an extension asks for and the operator grants is there, and nothing else. The guest asks for everything.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod conversation;
mod files;
mod network;
mod operator;
mod stage;
mod surroundings;
mod tls;
