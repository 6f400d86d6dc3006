//! Before and after a step.

use serde_json::Value;

use crate::bindings::exports::lathe::extension::hooks;
use crate::error::{Error, Result};
use crate::json;
use crate::turn::ToolChoice;

pub use crate::bindings::exports::lathe::extension::hooks::StepSnapshot;
pub use crate::bindings::lathe::extension::types::{FinishReason, Usage};

/// What to change for this step alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepConfig {
    /// The whole system text.
    pub system: Option<String>,
    /// The whole conversation as the model should see it: an array of model messages (`role`, `content`).
    pub messages: Option<Value>,
    /// The only tools on offer in this step.
    pub active_tools: Option<Vec<String>>,
    /// How the model may use tools.
    pub tool_choice: Option<ToolChoice>,
    /// `provider:name`. Counts with the permission `model`.
    pub model: Option<String>,
}

impl From<StepConfig> for hooks::StepConfig {
    fn from(config: StepConfig) -> Self {
        Self {
            system: config.system,
            messages: json::text(config.messages),
            active_tools: config.active_tools,
            tool_choice: config.tool_choice,
            model: config.model,
        }
    }
}

/// A step that is over, with its tool results known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepFinish {
    /// From 0.
    pub step_number: u32,
    /// Why the model stopped.
    pub finish_reason: FinishReason,
    /// What the model wrote.
    pub text: String,
    /// What it thought, where the provider tells.
    pub reasoning_text: String,
    /// How many tools it called.
    pub tool_call_count: u32,
    /// How many results there are.
    pub tool_result_count: u32,
    /// Of this step.
    pub usage: Usage,
    /// An object of objects by provider.
    pub provider_metadata: Option<Value>,
}

impl TryFrom<hooks::StepFinishSnapshot> for StepFinish {
    type Error = Error;

    fn try_from(step: hooks::StepFinishSnapshot) -> Result<Self> {
        Ok(Self {
            step_number: step.step_number,
            finish_reason: step.finish_reason,
            text: step.text,
            reasoning_text: step.reasoning_text,
            tool_call_count: step.tool_call_count,
            tool_result_count: step.tool_result_count,
            usage: step.usage,
            provider_metadata: json::parse_optional("provider metadata", step.provider_metadata.as_deref())?,
        })
    }
}
