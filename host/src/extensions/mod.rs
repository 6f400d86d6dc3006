//! Extensions: WebAssembly components in their sandboxes.
//!
//! The engine, the cache of compiled code, loading and manifests, instances and their limits, and what guests may call
//! in the host. May use `hooks` and `tools`, whose traits it implements, and `turn`; nothing else: what lies behind a
//! guest's imports comes in as a [`Bridge`]. No other room knows wasmtime.

mod admit;
mod advice;
mod bindings;
mod bridge;
mod cache;
mod cause;
mod contract;
mod convert;
mod denial;
mod engine;
mod error;
mod extension;
mod folder;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod grant;
mod health;
mod imports;
mod instance;
mod json;
mod limits;
mod listing;
mod load;
mod log;
mod manifest;
mod memory;
mod meter;
mod network;
mod pool;
mod rights;
mod seen;
mod size;
mod stand;
mod state;
mod tool;
mod wasi;
mod worker;
mod workspace;

pub use admit::{Changes, Found, Loaded};
pub use bridge::{Bridge, BridgeError, BridgeMessage, GuestCall};
#[cfg(feature = "cli")]
pub(crate) use cause::BACKTRACE;
pub use contract::outdated;
pub use error::{LoadError, LoadReason};
pub use extension::{Extension, ExtensionSettings, Services};
pub use folder::Folder;
pub use grant::{Gate, Grant, WorkspaceGrant};
pub use health::{Health, Totals, reset_health};
pub use limits::Limits;
pub use load::{Interfaces, Loader, Progress};
pub use log::{LogLevel, LogRecord, LogSource};
pub use manifest::{ContextBlock, Manifest, ManifestError, Permissions, ToolManifest, Workspace};
pub use network::{HeaderName, HostGrant, HostPattern, Method, Resolver, SecretHeader, Transport};
pub use stand::{Stand, StandError};
pub use wasi::Fixed;
