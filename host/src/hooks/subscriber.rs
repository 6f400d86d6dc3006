use std::sync::Arc;

use async_trait::async_trait;

use super::{
    ChatErrorSnapshot, ChatResponseSnapshot, ChunkSnapshot, Failure, Hook, HookCall, StepFinishSnapshot,
    StepSnapshot, ToolCallSnapshot, ToolResultSnapshot, TurnSnapshot,
};
use crate::turn::{ConfigField, StepConfig, ToolDecision, ToolOverride, TurnConfig};

/// An extension for the length of one turn.
///
/// `before_turn` waits for the answer, and so do the gates: hooks that the operator lets it decide. Everything else is
/// an observation: it goes to the extension's queue, in order, and never makes the turn wait.
#[async_trait]
pub trait Subscriber: Send + Sync {
    /// The extension's name.
    fn name(&self) -> &str;

    /// Whether its manifest lists the hook.
    fn subscribes(&self, hook: Hook) -> bool;

    /// Asks for its changes, and tells what the call cost.
    async fn before_turn(&self, snapshot: TurnSnapshot) -> (HookCall, Result<Option<TurnPatch>, Failure>);

    /// Whether its answers to a hook count: its manifest asks for it, and the operator grants it.
    fn decides(&self, hook: Hook) -> bool;

    /// Asks a gate what to change for a step, and which fields of its answer were dropped.
    async fn before_step(
        &self,
        snapshot: Arc<StepSnapshot>,
    ) -> (HookCall, Result<Option<(StepConfig, Vec<String>)>, Failure>);

    /// Asks a gate whether a tool call may run.
    async fn before_tool_call(
        &self,
        snapshot: Arc<ToolCallSnapshot>,
    ) -> (HookCall, Result<Option<ToolDecision>, Failure>);

    /// Asks a gate what to change of a call's result.
    async fn after_tool_call(
        &self,
        snapshot: Arc<ToolResultSnapshot>,
    ) -> (HookCall, Result<Option<ToolOverride>, Failure>);

    /// Lets it know.
    fn observe(&self, observation: Observation);

    /// Waits until it has seen everything.
    async fn flush(&self);
}

/// What an extension wants changed in the turn's config.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnPatch {
    /// Fields to set.
    pub config: TurnConfig,
    /// Fields to put back to the default, first.
    pub reset: Vec<ConfigField>,
    /// What was dropped of the answer, and why, in words.
    pub dropped: Vec<String>,
}

/// Something that an extension is told without being asked. Shared, since several may be told.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "named as the hooks")]
pub enum Observation {
    BeforeStep(Arc<StepSnapshot>),
    BeforeToolCall(Arc<ToolCallSnapshot>),
    AfterToolCall(Arc<ToolResultSnapshot>),
    StepFinish(Arc<StepFinishSnapshot>),
    Chunk(Arc<ChunkSnapshot>),
    ChatResponse(Arc<ChatResponseSnapshot>),
    ChatError(Arc<ChatErrorSnapshot>),
}

impl Observation {
    /// The hook it belongs to.
    #[must_use]
    pub fn hook(&self) -> Hook {
        match self {
            Self::BeforeStep(_) => Hook::BeforeStep,
            Self::BeforeToolCall(_) => Hook::BeforeToolCall,
            Self::AfterToolCall(_) => Hook::AfterToolCall,
            Self::StepFinish(_) => Hook::OnStepFinish,
            Self::Chunk(_) => Hook::OnChunk,
            Self::ChatResponse(_) => Hook::OnChatResponse,
            Self::ChatError(_) => Hook::OnChatError,
        }
    }
}
