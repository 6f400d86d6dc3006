//! Extensions: WebAssembly components in their sandboxes.
//!
//! The engine, the cache of compiled code, loading and manifests, instances and their limits, and what guests may call
//! in the host. May use `hooks` and `tools`, whose traits it implements, and `turn`; nothing else: what lies behind a
//! guest's imports comes in as a [`Bridge`]. No other room knows wasmtime.

mod bindings;
mod bridge;
mod cache;
mod cause;
mod convert;
mod engine;
mod error;
mod extension;
mod grant;
mod health;
mod instance;
mod json;
mod limits;
mod load;
mod manifest;
mod memory;
mod meter;
mod pool;
mod size;
mod state;
mod tool;
mod worker;

pub use bridge::{Bridge, BridgeError};
pub use error::{LoadError, LoadReason};
pub use extension::{Extension, ExtensionSettings, Services};
pub use grant::{Gate, Grant};
pub use health::{Health, Totals, reset_health};
pub use limits::Limits;
pub use load::{Interfaces, Loaded, Loader, Progress};
pub use manifest::{ContextBlock, Manifest, ManifestError, Permissions, ToolManifest, Workspace};
