//! A host for `cargo test`: it stands in for the real one on targets that are not WebAssembly.
//!
//! It checks no permissions, no limits and no schemas, and it starts no sandbox.

pub(crate) mod double;
mod state;

use std::cell::RefCell;

use serde_json::Value;

use crate::bindings::exports::lathe::extension::tools::{self, Guest};
use crate::error::ToolError;
use crate::guest::{Component, Registered};
use crate::manifest::{self, Manifest};
use crate::tools::CallContext;

pub use crate::bindings::lathe::extension::log::Level;
pub use state::Record;

thread_local! {
    static STATE: RefCell<state::State> = RefCell::default();
}

/// A host of this thread: what it holds for an extension, and what the extension did to it.
///
/// There is one per thread, as there is one per instance in the sandbox.
#[derive(Debug)]
pub struct TestHost(());

impl TestHost {
    /// A fresh host, and nothing left of the one before it in this thread.
    #[allow(clippy::new_without_default, reason = "it does more than make a value")]
    pub fn new() -> Self {
        STATE.take();
        Self(())
    }

    /// What the operator wrote for the extension.
    #[allow(clippy::needless_pass_by_value, reason = "read with `json!` in the call")]
    pub fn set_settings(&self, settings: Value) {
        STATE.with_borrow_mut(|state| state.settings = settings.to_string());
    }

    /// Puts a value into the storage.
    pub fn store(&self, key: &str, value: impl AsRef<[u8]>) {
        STATE.with_borrow_mut(|state| state.storage.insert(key.to_owned(), value.as_ref().to_vec()));
    }

    /// The value in the storage, as text.
    pub fn stored(&self, key: &str) -> Option<String> {
        STATE.with_borrow(|state| {
            state.storage.get(key).map(|bytes| String::from_utf8_lossy(bytes).into_owned())
        })
    }

    /// Gives the system prompt a context block.
    pub fn set_context(&self, label: &str, text: &str) {
        STATE.with_borrow_mut(|state| state.context.insert(label.to_owned(), text.to_owned()));
    }

    /// The text of a context block.
    pub fn context(&self, label: &str) -> Option<String> {
        STATE.with_borrow(|state| state.context.get(label).cloned())
    }

    /// Adds a message to the conversation, the newest last.
    pub fn add_message(&self, role: &str, content: &str) {
        STATE.with_borrow_mut(|state| state.add_message(role, content));
    }

    /// The log so far.
    pub fn log(&self) -> Vec<Record> {
        STATE.with_borrow(|state| state.log.clone())
    }

    /// Calls a tool as the host does: in a fresh instance, with JSON text both ways.
    ///
    /// # Errors
    ///
    /// What the tool says; `InvalidInput` if the input does not fit its type; `UnknownTool`.
    #[allow(clippy::needless_pass_by_value, reason = "read with `json!` in the call")]
    pub fn call_tool<T: Registered>(name: &str, input: Value) -> Result<Value, ToolError> {
        let context = CallContext {
            tool_call_id: "call".to_owned(),
            request_id: "request".to_owned(),
            step_number: 0,
            idempotency_key: "key".to_owned(),
        };
        T::with(|extension| *extension = T::default());
        match Component::<T>::call(name.to_owned(), input.to_string(), context) {
            Ok(output) => Ok(serde_json::from_str(&output)?),
            Err(tools::ToolError::UnknownTool) => Err(ToolError::UnknownTool),
            Err(tools::ToolError::InvalidInput(text)) => Err(ToolError::InvalidInput(text)),
            Err(tools::ToolError::Failed(text)) => Err(ToolError::Failed(text)),
        }
    }

    /// What the extension tells the host about itself.
    pub fn manifest<T: Registered>() -> Manifest {
        manifest::describe::<T>()
    }
}
