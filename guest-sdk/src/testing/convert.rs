//! Between the author's types and the contract's, the other way round than a component needs it.

use crate::bindings::exports::lathe::extension::hooks;
use crate::call::{ToolCall, ToolDecision, ToolOverride, ToolResult};
use crate::error::{Error, Result};
use crate::json;
use crate::step::{StepConfig, StepFinish};
use crate::turn::{TurnConfig, TurnSnapshot};

impl From<TurnSnapshot> for hooks::TurnSnapshot {
    fn from(turn: TurnSnapshot) -> Self {
        Self {
            system: turn.system,
            tool_names: turn.tool_names,
            message_count: turn.message_count,
            max_steps: turn.max_steps,
            continuation: turn.continuation,
            body: json::text(turn.body),
            model_id: turn.model_id,
            request_id: turn.request_id,
            trigger: turn.trigger,
        }
    }
}

impl From<ToolCall> for hooks::ToolCallSnapshot {
    fn from(call: ToolCall) -> Self {
        Self {
            tool_call_id: call.tool_call_id,
            tool_name: call.tool_name,
            input: call.input.to_string(),
            step_number: call.step_number,
            dynamic: call.dynamic,
        }
    }
}

impl From<ToolResult> for hooks::ToolResultSnapshot {
    fn from(call: ToolResult) -> Self {
        Self {
            tool_call_id: call.tool_call_id,
            tool_name: call.tool_name,
            input: call.input.to_string(),
            step_number: call.step_number,
            duration_ms: call.duration_ms,
            outcome: call.outcome,
            result: call.result.map(|output| output.to_string()),
            dynamic: call.dynamic,
        }
    }
}

impl From<StepFinish> for hooks::StepFinishSnapshot {
    fn from(step: StepFinish) -> Self {
        Self {
            step_number: step.step_number,
            finish_reason: step.finish_reason,
            text: step.text,
            reasoning_text: step.reasoning_text,
            tool_call_count: step.tool_call_count,
            tool_result_count: step.tool_result_count,
            usage: step.usage,
            provider_metadata: json::text(step.provider_metadata),
        }
    }
}

impl TryFrom<hooks::TurnConfig> for TurnConfig {
    type Error = Error;

    fn try_from(config: hooks::TurnConfig) -> Result<Self> {
        Ok(Self {
            system: config.system,
            messages: json::parse_optional("messages", config.messages.as_deref())?,
            active_tools: config.active_tools,
            tool_choice: config.tool_choice,
            max_steps: config.max_steps,
            send_reasoning: config.send_reasoning,
            max_output_tokens: config.max_output_tokens,
            temperature: config.temperature,
            top_p: config.top_p,
            top_k: config.top_k,
            presence_penalty: config.presence_penalty,
            frequency_penalty: config.frequency_penalty,
            stop_sequences: config.stop_sequences,
            seed: config.seed,
            max_retries: config.max_retries,
            timeout_ms: config.timeout_ms,
            headers: config.headers,
            provider_options: json::parse_optional("provider options", config.provider_options.as_deref())?,
            model: config.model,
            reset: config.reset,
        })
    }
}

impl TryFrom<hooks::StepConfig> for StepConfig {
    type Error = Error;

    fn try_from(config: hooks::StepConfig) -> Result<Self> {
        Ok(Self {
            system: config.system,
            messages: json::parse_optional("messages", config.messages.as_deref())?,
            active_tools: config.active_tools,
            tool_choice: config.tool_choice,
            model: config.model,
        })
    }
}

impl TryFrom<hooks::ToolDecision> for ToolDecision {
    type Error = Error;

    fn try_from(decision: hooks::ToolDecision) -> Result<Self> {
        Ok(match decision {
            hooks::ToolDecision::Allow(input) => {
                Self::Allow(json::parse_optional("tool input", input.as_deref())?)
            }
            hooks::ToolDecision::Block(reason) => Self::Block(reason),
            hooks::ToolDecision::Substitute(output) => Self::Substitute(json::parse("tool output", &output)?),
        })
    }
}

impl TryFrom<hooks::ToolOverride> for ToolOverride {
    type Error = Error;

    fn try_from(change: hooks::ToolOverride) -> Result<Self> {
        Ok(Self {
            output: json::parse_optional("tool output", change.output.as_deref())?,
            is_error: change.is_error,
            terminate: change.terminate,
        })
    }
}
