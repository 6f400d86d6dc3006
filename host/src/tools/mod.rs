//! Tools: what one is, the set that a turn offers, and how inputs are checked.
//!
//! May use `turn`. Where a tool comes from (the embedder, an extension, a server) is the affair of whoever adds it.

mod check;
mod set;

use async_trait::async_trait;

pub use check::InputCheck;
pub use set::{NameTaken, ToolSet};

use crate::turn::{Json, ToolDefinition, ToolError};

/// A tool that the host can run.
#[async_trait]
pub trait Tool: Send + Sync {
    /// As a model is offered it.
    fn definition(&self) -> &ToolDefinition;

    /// Runs it. Dropping the future cancels the call.
    ///
    /// # Errors
    ///
    /// What the model is told in place of an output.
    async fn execute(&self, input: Json, context: &CallContext) -> Result<Json, ToolError>;
}

/// What a tool may know about its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallContext {
    /// The session.
    pub session: String,
    /// The turn.
    pub request_id: String,
    /// The step, from 0.
    pub step_number: u32,
    /// The call.
    pub tool_call_id: String,
}

impl CallContext {
    /// The same for every attempt at this call, also after a crash.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        format!("{}/{}/{}", self.session, self.request_id, self.tool_call_id)
    }
}
