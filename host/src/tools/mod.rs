//! Tools: what one is, the set that a turn offers, and how inputs are checked.
//!
//! May use `turn`. Where a tool comes from (the embedder, an extension, a server) is the affair of whoever adds it.

mod call;
mod check;
mod set;
mod size;

use async_trait::async_trait;

pub use call::{CallContext, ToolAnswer};
pub use check::{InputCheck, check_against};
pub use set::{NameTaken, ToolSet};
pub use size::{OUTPUT_BYTES, check_output};

use crate::turn::{Json, ToolDefinition, ToolError};

/// A tool that the host can run.
#[async_trait]
pub trait Tool: Send + Sync {
    /// As a model is offered it.
    fn definition(&self) -> &ToolDefinition;

    /// Runs it. Dropping the future cancels the call.
    ///
    /// ```
    /// use lathe::tools::{CallContext, Tool, ToolAnswer};
    /// use lathe::turn::{Json, ToolDefinition, ToolError};
    ///
    /// struct Echo(ToolDefinition);
    ///
    /// #[async_trait::async_trait]
    /// impl Tool for Echo {
    ///     fn definition(&self) -> &ToolDefinition {
    ///         &self.0
    ///     }
    ///
    ///     async fn execute(&self, input: Json, call: &CallContext) -> Result<ToolAnswer, ToolError> {
    ///         call.progress("listening".into());
    ///         Ok(input.into())
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// What the model is told in place of an output.
    async fn execute(&self, input: Json, call: &CallContext) -> Result<ToolAnswer, ToolError>;
}
