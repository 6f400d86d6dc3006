//! What built-in hooks are shown.

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::Stash;
use crate::turn::{
    ChatStage, Chunk, ErrorClass, Json, ModelMessage, StepRecord, ToolCall, ToolDefinition, ToolRecord,
    Trigger, TurnStatus, UiMessage,
};

/// How a session is set up; `configure_session` may change it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionConfig {
    /// The session's name.
    pub name: String,
    /// The system prompt of its turns.
    pub system: String,
}

/// Of `before_turn`.
#[derive(Clone, Copy, Debug)]
pub struct TurnContext<'a> {
    /// The host's id of the turn.
    pub request_id: &'a str,
    /// What made it start.
    pub trigger: Trigger,
    /// True if it goes on without a new user message.
    pub continuation: bool,
    /// The system prompt, as the hooks before this one left it.
    pub system: &'a str,
    /// The conversation in the form for the model.
    pub messages: &'a [ModelMessage],
    /// All tools, extensions' included.
    pub tools: &'a [ToolDefinition],
    /// `provider:name`.
    pub model: &'a str,
    /// Custom fields of the client's request, an object.
    pub body: Option<&'a Json>,
    /// What is kept for the turn's recovery.
    pub stash: &'a Stash,
    /// Set when the turn is cancelled.
    pub cancelled: &'a CancellationToken,
}

/// Of `before_step` (AI SDK `PrepareStep`).
#[derive(Clone, Copy, Debug)]
pub struct StepContext<'a> {
    /// The turn.
    pub request_id: &'a str,
    /// The step, from 0.
    pub step_number: u32,
    /// The steps before it.
    pub steps: &'a [StepRecord],
    /// The system prompt, as the hooks before this one left it.
    pub system: &'a str,
    /// The request's messages.
    pub messages: &'a [ModelMessage],
    /// The tools on offer.
    pub tools: &'a [ToolDefinition],
    /// `provider:name`.
    pub model: &'a str,
}

/// Of `before_tool_call`.
#[derive(Clone, Copy, Debug)]
pub struct ToolCallContext<'a> {
    /// The turn.
    pub request_id: &'a str,
    /// The step, from 0.
    pub step_number: u32,
    /// As the model made it.
    pub call: &'a ToolCall,
    /// As it would run: checked, and perhaps changed by a hook before this one.
    pub input: &'a Json,
    /// True for a tool registered at run time.
    pub dynamic: bool,
    /// The conversation at the call, the answer that made it included, without results of its own step.
    pub messages: &'a [ModelMessage],
    /// Set when the turn is cancelled.
    pub cancelled: &'a CancellationToken,
}

/// Of `after_tool_call`.
#[derive(Clone, Copy, Debug)]
pub struct ToolResultContext<'a> {
    /// The turn.
    pub request_id: &'a str,
    /// The step, from 0.
    pub step_number: u32,
    /// The call, with the model's own input, and its result.
    pub record: &'a ToolRecord,
    /// True for a tool registered at run time.
    pub dynamic: bool,
    /// The conversation at the call, the answer that made it included, without results of its own step.
    pub messages: &'a [ModelMessage],
}

/// Of `on_step_finish`.
#[derive(Clone, Copy, Debug)]
pub struct StepFinishContext<'a> {
    /// The turn.
    pub request_id: &'a str,
    /// The step, from 0.
    pub step_number: u32,
    /// Everything about it.
    pub step: &'a StepRecord,
}

/// Of `prepare_next_step` and `should_stop_after_step` (`or-agent.md` §1.2, `TurnCtx`).
#[derive(Clone, Copy, Debug)]
pub struct NextStepContext<'a> {
    /// The turn.
    pub request_id: &'a str,
    /// The step that is over, from 0.
    pub step_number: u32,
    /// Everything about it.
    pub step: &'a StepRecord,
    /// The system prompt of the next request.
    pub system: &'a str,
    /// The messages of the next request, before `before_step` and `transform_context`.
    pub messages: &'a [ModelMessage],
    /// What this turn has added to the conversation: the user's message, and the steps so far.
    pub new_messages: &'a [ModelMessage],
}

/// Of `on_chunk`.
#[derive(Clone, Copy, Debug)]
pub struct ChunkContext<'a> {
    /// The turn.
    pub request_id: &'a str,
    /// The part of the stream.
    pub chunk: &'a Chunk,
}

/// Of `on_chat_response`.
#[derive(Clone, Copy, Debug)]
pub struct ChatResponseContext<'a> {
    /// The turn.
    pub request_id: &'a str,
    /// True if it went on without a new user message.
    pub continuation: bool,
    /// How it ended.
    pub status: TurnStatus,
    /// What happened, with status error.
    pub error: Option<&'a str>,
    /// The answer as stored; none if the turn brought none.
    pub message: Option<&'a UiMessage>,
    /// Its steps.
    pub steps: &'a [StepRecord],
}

/// Of `on_chat_error` and `classify_chat_error`.
#[derive(Clone, Copy, Debug)]
pub struct ChatErrorContext<'a> {
    /// The turn, if there is one yet.
    pub request_id: Option<&'a str>,
    /// Where it failed.
    pub stage: ChatStage,
    /// What happened.
    pub message: &'a str,
    /// What kind of failure it is, where a `classify_chat_error` knows.
    pub classification: Option<ErrorClass>,
    /// Whether the user's message was stored before.
    pub messages_persisted: bool,
}
