//! Lathe runs LLM agents whose behaviour is shaped by sandboxed WebAssembly components.

pub mod extensions;
pub mod hooks;
pub mod model;
pub mod tools;
pub mod turn;
