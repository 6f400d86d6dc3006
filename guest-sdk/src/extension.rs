//! The one trait.

use serde_json::Value;

use crate::call::{ToolCall, ToolDecision, ToolOverride, ToolResult};
use crate::chat::{ChatError, ChatResponse, Chunk};
use crate::error::Result;
use crate::manifest::{ContextBlock, Permissions};
use crate::step::{StepConfig, StepFinish, StepSnapshot};
use crate::tools::Tools;
use crate::turn::{TurnConfig, TurnSnapshot};

/// An extension: what it offers, and the hooks it wants.
///
/// Everything is optional. The attribute [`extension`](crate::extension) sees which hooks are written, and the host
/// calls these and no other.
///
/// The value is one instance's state, made by `Default`. The host makes an instance per turn for all the hooks and
/// one per tool call, so what should outlive them goes to [`storage`](crate::storage).
///
/// An error changes nothing in the turn, and the operator sees its text; where a hook was granted the right to
/// decide, it blocks what the hook was asked about.
pub trait Extension: Default + 'static {
    /// The tools it offers to the model.
    ///
    /// Like the other functions without `self`, it is asked in a sandbox that grants nothing, once per version of
    /// the file: the answer must not depend on settings, time or chance.
    fn tools() -> Tools<Self> {
        Tools::new()
    }

    /// What it asks the operator for.
    fn permissions() -> Permissions {
        Permissions::default()
    }

    /// Context blocks of its own.
    fn context() -> Vec<ContextBlock> {
        Vec::new()
    }

    /// A JSON Schema for the operator's settings: [`schema::<Settings>()`](crate::schema).
    fn settings_schema() -> Option<Value> {
        None
    }

    /// Before the first model request. The one hook whose answer always counts.
    fn before_turn(&mut self, turn: TurnSnapshot) -> Result<Option<TurnConfig>> {
        let _ = turn;
        Ok(None)
    }

    /// Before each model request. The answer counts with the grant `decide`.
    fn before_step(&mut self, step: StepSnapshot) -> Result<Option<StepConfig>> {
        let _ = step;
        Ok(None)
    }

    /// Before a tool runs. The answer counts with the grant `decide`; `None` is no opinion.
    fn before_tool_call(&mut self, call: ToolCall) -> Result<Option<ToolDecision>> {
        let _ = call;
        Ok(None)
    }

    /// After a tool call has its result. The answer counts with the grant `decide`.
    fn after_tool_call(&mut self, call: ToolResult) -> Result<Option<ToolOverride>> {
        let _ = call;
        Ok(None)
    }

    /// After each step, with its tool results known.
    fn on_step_finish(&mut self, step: StepFinish) -> Result<()> {
        let _ = step;
        Ok(())
    }

    /// The stream as it goes by: what has gathered since the last call, in order. The stream does not wait: who is
    /// too slow misses chunks.
    fn on_chunk(&mut self, chunks: Vec<Chunk>) -> Result<()> {
        let _ = chunks;
        Ok(())
    }

    /// After the turn has ended and its answer is stored.
    fn on_chat_response(&mut self, response: ChatResponse) -> Result<()> {
        let _ = response;
        Ok(())
    }

    /// After a turn failed outside the model's stream.
    fn on_chat_error(&mut self, error: ChatError) -> Result<()> {
        let _ = error;
        Ok(())
    }
}
