//! Before and after a tool call, whoever's tool it is.

use serde_json::Value;

use crate::bindings::exports::lathe::extension::hooks;
use crate::error::{Error, Result};
use crate::json;

pub use crate::bindings::exports::lathe::extension::hooks::ToolOutcome;
pub use crate::bindings::lathe::extension::types::ErrorInfo;

/// A tool call that is about to run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolCall {
    /// The host's id of the call.
    pub tool_call_id: String,
    /// As the model knows it, with the extension's prefix.
    pub tool_name: String,
    /// As it would run now: a built-in hook may have changed it.
    pub input: Value,
    /// From 0.
    pub step_number: u32,
    /// True for a tool that was registered at run time, such as one of an MCP server.
    pub dynamic: bool,
}

impl TryFrom<hooks::ToolCallSnapshot> for ToolCall {
    type Error = Error;

    fn try_from(call: hooks::ToolCallSnapshot) -> Result<Self> {
        Ok(Self {
            input: json::parse("tool input", &call.input)?,
            tool_call_id: call.tool_call_id,
            tool_name: call.tool_name,
            step_number: call.step_number,
            dynamic: call.dynamic,
        })
    }
}

/// What should become of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolDecision {
    /// Run it; with an input, run it with that one, which must fit the tool's schema.
    Allow(Option<Value>),
    /// Do not run it. The model sees the host's fixed reason, or this one with the right to speak to it.
    Block(Option<String>),
    /// Do not run it. The model sees this output.
    Substitute(Value),
}

impl From<ToolDecision> for hooks::ToolDecision {
    fn from(decision: ToolDecision) -> Self {
        match decision {
            ToolDecision::Allow(input) => Self::Allow(json::text(input)),
            ToolDecision::Block(reason) => Self::Block(reason),
            ToolDecision::Substitute(output) => Self::Substitute(output.to_string()),
        }
    }
}

/// A tool call that has its result.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The host's id of the call.
    pub tool_call_id: String,
    /// As the model knows it, with the extension's prefix.
    pub tool_name: String,
    /// As the model wrote it.
    pub input: Value,
    /// From 0.
    pub step_number: u32,
    /// Of the execution alone.
    pub duration_ms: f64,
    /// What became of the call.
    pub outcome: ToolOutcome,
    /// What the model sees: an output, or an error. A blocked call's reason is an output.
    pub result: Result<Value, ErrorInfo>,
    /// True for a tool that was registered at run time, such as one of an MCP server.
    pub dynamic: bool,
}

impl Default for ToolResult {
    fn default() -> Self {
        Self {
            tool_call_id: String::new(),
            tool_name: String::new(),
            input: Value::Null,
            step_number: 0,
            duration_ms: 0.0,
            outcome: ToolOutcome::Executed,
            result: Ok(Value::Null),
            dynamic: false,
        }
    }
}

impl TryFrom<hooks::ToolResultSnapshot> for ToolResult {
    type Error = Error;

    fn try_from(call: hooks::ToolResultSnapshot) -> Result<Self> {
        Ok(Self {
            input: json::parse("tool input", &call.input)?,
            result: match call.result {
                Ok(output) => Ok(json::parse("tool output", &output)?),
                Err(error) => Err(error),
            },
            tool_call_id: call.tool_call_id,
            tool_name: call.tool_name,
            step_number: call.step_number,
            duration_ms: call.duration_ms,
            outcome: call.outcome,
            dynamic: call.dynamic,
        })
    }
}

/// What to change of a tool's result. An absent field keeps what is there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOverride {
    /// Another output.
    pub output: Option<Value>,
    /// Whether the model sees it as an error.
    pub is_error: Option<bool>,
    /// End the turn after this step, if every call of the step says so.
    pub terminate: Option<bool>,
}

impl From<ToolOverride> for hooks::ToolOverride {
    fn from(change: ToolOverride) -> Self {
        Self { output: json::text(change.output), is_error: change.is_error, terminate: change.terminate }
    }
}
