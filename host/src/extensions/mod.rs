//! Extensions: WebAssembly components in their sandboxes.
//!
//! The engine, the cache of compiled code, loading and manifests, instances and their limits, and what guests may call
//! in the host. May use `hooks` and `tools`, whose traits it implements, and `turn`; nothing else: what lies behind a
//! guest's imports comes in as a [`Bridge`]. No other room knows wasmtime.

mod advice;
mod bindings;
mod bridge;
mod cache;
mod convert;
mod denial;
mod engine;
mod error;
mod extension;
mod grant;
mod imports;
mod instance;
mod limits;
mod load;
mod manifest;
mod memory;
mod network;
mod rights;
mod state;
mod tool;
mod wasi;
mod worker;
mod workspace;

pub use bridge::{Bridge, BridgeError, BridgeMessage};
pub use error::{LoadError, LoadReason};
pub use extension::{Extension, ExtensionSettings, Services};
pub use grant::{Gate, Grant, WorkspaceGrant};
pub use limits::Limits;
pub use load::{Interfaces, Loaded, Loader, Progress};
pub use manifest::{ContextBlock, Manifest, ManifestError, Permissions, ToolManifest, Workspace};
pub use network::{HeaderName, HostGrant, HostPattern, Method, Resolver, SecretHeader};
pub use wasi::Fixed;
