//! Lathe runs LLM agents whose behaviour is shaped by sandboxed WebAssembly components.
//!
//! The host runs the turn loop. At each stage of a turn it calls the built-in [`hooks`], then every extension that
//! subscribed, in load order, with a snapshot that crosses the sandbox's border. Extensions contribute tools and
//! changes to the turn; one that loops, traps, floods or lies costs its own budget and nothing else.
//!
//! Begin with [`Agent`]. The rooms of the house are the modules; each says what it holds and what it may use.

pub mod agent;
#[cfg(feature = "cli")]
pub mod cli;
pub mod config;
mod driver;
pub mod extensions;
pub mod hooks;
pub mod logs;
pub mod model;
pub mod recovery;
#[cfg(feature = "server")]
pub mod server;
pub mod session;
pub mod store;
#[cfg(feature = "otel")]
pub mod telemetry;
pub mod tools;
pub mod turn;

pub use agent::{Agent, Session, TurnEvent, TurnResult, TurnStream};
