//! Write extensions for Lathe in Rust.
//!
//! An extension is a type with an `impl Extension` under [`#[extension]`](macro@extension). Write the hooks that it
//! wants and leave out the others; give it tools, which are methods with typed inputs and outputs.
//!
//! ```
//! use lathe_guest::prelude::*;
//!
//! #[derive(Default)]
//! struct Dice {
//!     rolls: i64,
//! }
//!
//! #[extension(name = "dice", description = "Rolls dice and knows how often")]
//! impl Extension for Dice {
//!     fn tools() -> Tools<Self> {
//!         Tools::new().tool("rolls", Self::rolls)
//!     }
//!
//!     fn before_turn(&mut self, turn: TurnSnapshot) -> Result<Option<TurnConfig>> {
//!         let system = format!("{}\n\nDice have six sides.", turn.system);
//!         Ok(Some(TurnConfig { system: Some(system), ..Default::default() }))
//!     }
//!
//!     fn after_tool_call(&mut self, call: ToolResult) -> Result<Option<ToolOverride>> {
//!         if call.tool_name == "roll" && call.result.is_ok() {
//!             self.rolls = storage::increment("rolls", 1)?;
//!             log::info!("rolled {} times", self.rolls);
//!         }
//!         Ok(None)
//!     }
//! }
//!
//! /// How often dice were rolled.
//! #[derive(Deserialize, JsonSchema)]
//! struct Rolls {
//!     /// What to add to the number.
//!     #[serde(default)]
//!     plus: i64,
//! }
//!
//! impl Dice {
//!     fn rolls(&mut self, input: Rolls) -> Result<i64, ToolError> {
//!         Ok(storage::increment("rolls", 0)? + input.plus)
//!     }
//! }
//!
//! // In a test:
//! use lathe_guest::testing::TestHost;
//!
//! let host = TestHost::<Dice>::new();
//! host.store("rolls", "40");
//! assert_eq!(host.call_tool("rolls", json!({ "plus": 2 })), Ok(json!(42)));
//! ```
//!
//! `cargo build --target wasm32-wasip2` makes the component out of a crate with `crate-type = ["cdylib"]`, and
//! `serde` and `schemars` beside this crate in its dependencies for the derives. Files (below [`workspace`]), environment
//! variables, clocks and random numbers are those of `std`, and the network is `wasi:http` (module `http`, with the feature of
//! that name), as far as the operator grants them; what WASI lacks is in the modules below.
//!
//! On other targets the same code runs against [`testing::TestHost`], so `cargo test` needs no sandbox; `lathe test --sandbox`
//! runs the same tests in one.

// So that the attribute's paths hold in the tests of this crate too.
#[cfg(test)]
extern crate self as lathe_guest;

#[doc(hidden)]
pub mod bindings;
mod bridge;
mod call;
mod chat;
pub mod context;
mod error;
mod extension;
mod files;
mod guest;
#[cfg(feature = "http")]
pub mod http;
mod json;
pub mod log;
mod manifest;
pub mod messages;
pub mod prelude;
#[cfg(doctest)]
mod refused;
mod schema;
pub mod session;
mod settings;
mod step;
pub mod storage;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod tools;
mod turn;

#[cfg(target_family = "wasm")]
use bindings::lathe::extension as host;
#[cfg(not(target_family = "wasm"))]
use testing::double as host;

pub use bridge::BridgeError;
pub use call::{ErrorInfo, ToolCall, ToolDecision, ToolOutcome, ToolOverride, ToolResult};
pub use chat::{ChatError, ChatResponse, Chunk, ChunkType, ErrorClassification, ErrorStage, TurnStatus};
pub use error::{Error, Result, ToolError};
pub use extension::Extension;
pub use files::workspace;
pub use lathe_guest_macros::{extension, tools};
pub use manifest::{ContextBlock, Hook, Manifest, Permissions, Replay, ToolDefinition, WorkspaceAccess};
pub use schema::schema;
pub use settings::settings;
pub use step::{FinishReason, StepConfig, StepFinish, StepSnapshot, Usage};
pub use tools::{CallContext, Handler, Tool, Tools};
pub use turn::{ToolChoice, Trigger, TurnConfig, TurnSnapshot};

/// What the attribute's expansion needs. Not for use by hand.
#[doc(hidden)]
pub mod __private {
    pub use crate::bindings::{self, export};
    pub use crate::guest::{Component, Registered};
    pub use crate::manifest::{Hook, Manifest, describe};
}
