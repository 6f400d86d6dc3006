//! What extensions are shown (`think.md` §3.7): no message content, no live objects, nothing but plain values.

use serde::{Deserialize, Serialize};

use super::{ChatErrorContext, ChatResponseContext, StepFinishContext, ToolCallContext, ToolResultContext};
use crate::turn::{
    CallOutcome, ChatStage, Chunk, ErrorClass, FinishReason, Json, ProviderMetadata, ToolOutput, Trigger,
    TurnStatus, Usage,
};

/// Of `before-turn`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TurnSnapshot {
    /// The system prompt, as everybody before this extension left it.
    pub system: String,
    /// The tools on offer, or the active ones once somebody chose.
    pub tool_names: Vec<String>,
    /// How many messages the conversation has.
    pub message_count: u32,
    /// The most steps that the turn may take, as everybody before this extension left it.
    pub max_steps: u32,
    /// True if the turn goes on without a new user message.
    pub continuation: bool,
    /// Custom fields of the client's request, an object.
    pub body: Option<Json>,
    /// `provider:name`.
    pub model_id: String,
    /// The turn.
    pub request_id: String,
    /// What made it start.
    pub trigger: Trigger,
}

/// Of `before-step`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepSnapshot {
    /// The turn.
    pub request_id: String,
    /// The step, from 0.
    pub step_number: u32,
    /// The system prompt of the step.
    pub system: String,
    /// The tools on offer.
    pub tool_names: Vec<String>,
    /// How many messages the request holds.
    pub message_count: u32,
    /// `provider:name`.
    pub model_id: String,
    /// Of the steps so far.
    pub total_usage: Usage,
}

/// Of `before-tool-call`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolCallSnapshot {
    /// The call.
    pub tool_call_id: String,
    /// Its tool.
    pub tool_name: String,
    /// As it would run.
    pub input: Json,
    /// The step, from 0.
    pub step_number: u32,
    /// True for a tool registered at run time.
    pub dynamic: bool,
}

/// Of `after-tool-call`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolResultSnapshot {
    /// The call.
    pub tool_call_id: String,
    /// Its tool.
    pub tool_name: String,
    /// As the model wrote it.
    pub input: Json,
    /// The step, from 0.
    pub step_number: u32,
    /// Of the execution alone, in milliseconds.
    pub duration_ms: f64,
    /// How it ended.
    pub outcome: CallOutcome,
    /// What the model sees.
    pub output: ToolOutput,
    /// True for a tool registered at run time.
    pub dynamic: bool,
}

/// Of `on-step-finish`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepFinishSnapshot {
    /// The step, from 0.
    pub step_number: u32,
    /// Why the model stopped.
    pub finish_reason: FinishReason,
    /// Its text.
    pub text: String,
    /// Its reasoning.
    pub reasoning_text: String,
    /// How many tools it called.
    pub tool_call_count: u32,
    /// How many calls have an output, not an error.
    pub tool_result_count: u32,
    /// What the step cost.
    pub usage: Usage,
    /// Anything else the provider tells.
    pub provider_metadata: Option<ProviderMetadata>,
}

/// Of `on-chunk`; crosses in lists.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkSnapshot(pub Chunk);

/// Of `on-chat-response`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChatResponseSnapshot {
    /// The turn.
    pub request_id: String,
    /// True if it went on without a new user message.
    pub continuation: bool,
    /// How it ended.
    pub status: TurnStatus,
    /// What happened, with status error.
    pub error: Option<String>,
    /// The answer's text, all steps together.
    pub text: String,
    /// How many steps it took.
    pub step_count: u32,
    /// Of all steps together.
    pub total_usage: Usage,
}

/// Of `on-chat-error`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChatErrorSnapshot {
    /// The turn, if there is one yet.
    pub request_id: Option<String>,
    /// Where it failed.
    pub stage: ChatStage,
    /// What happened.
    pub message: String,
    /// What kind of failure it is.
    pub classification: Option<ErrorClass>,
    /// Whether the user's message was stored before.
    pub messages_persisted: bool,
}

/// A length in the width that the contract has for it.
pub(super) fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

impl From<&ToolCallContext<'_>> for ToolCallSnapshot {
    fn from(context: &ToolCallContext<'_>) -> Self {
        Self {
            tool_call_id: context.call.tool_call_id.clone(),
            tool_name: context.call.tool_name.clone(),
            input: context.input.clone(),
            step_number: context.step_number,
            dynamic: context.dynamic,
        }
    }
}

impl From<&ToolResultContext<'_>> for ToolResultSnapshot {
    fn from(context: &ToolResultContext<'_>) -> Self {
        let record = context.record;
        Self {
            tool_call_id: record.call.tool_call_id.clone(),
            tool_name: record.call.tool_name.clone(),
            input: record.call.input.clone(),
            step_number: context.step_number,
            duration_ms: record.duration_ms,
            outcome: record.outcome,
            output: record.output.clone(),
            dynamic: context.dynamic,
        }
    }
}

impl From<&StepFinishContext<'_>> for StepFinishSnapshot {
    fn from(context: &StepFinishContext<'_>) -> Self {
        let answer = &context.step.answer;
        Self {
            step_number: context.step_number,
            finish_reason: answer.finish_reason,
            text: answer.text(),
            reasoning_text: answer.reasoning_text(),
            tool_call_count: count(answer.tool_calls().count()),
            tool_result_count: count(context.step.records.iter().filter(|record| record.success()).count()),
            usage: answer.usage,
            provider_metadata: answer.provider_metadata.clone(),
        }
    }
}

impl From<&ChatResponseContext<'_>> for ChatResponseSnapshot {
    fn from(context: &ChatResponseContext<'_>) -> Self {
        Self {
            request_id: context.request_id.to_owned(),
            continuation: context.continuation,
            status: context.status,
            error: context.error.map(str::to_owned),
            text: context.message.map(crate::turn::UiMessage::text).unwrap_or_default(),
            step_count: count(context.steps.len()),
            total_usage: context.steps.iter().fold(Usage::default(), |sum, step| sum.plus(step.answer.usage)),
        }
    }
}

impl From<&ChatErrorContext<'_>> for ChatErrorSnapshot {
    fn from(context: &ChatErrorContext<'_>) -> Self {
        Self {
            request_id: context.request_id.map(str::to_owned),
            stage: context.stage,
            message: context.message.to_owned(),
            classification: context.classification,
            messages_persisted: context.messages_persisted,
        }
    }
}
