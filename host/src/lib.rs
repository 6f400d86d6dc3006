//! Lathe runs LLM agents whose behaviour is shaped by sandboxed WebAssembly components.

pub mod turn;
