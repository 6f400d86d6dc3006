//! The hooks of a turn: the trait for built-in ones, what each is shown, and the order in which they are called.
//!
//! May use `turn`. Knows extensions only as [`Subscriber`]s: how a guest is run is the business of `extensions`.

mod context;
mod dispatcher;
mod event;
mod failure;
mod panic;
mod snapshot;
mod subscriber;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use context::{
    ChatErrorContext, ChatResponseContext, ChunkContext, NextStepContext, SessionConfig, StepContext,
    StepFinishContext, ToolCallContext, ToolResultContext, TurnContext,
};
pub use dispatcher::Dispatcher;
pub use event::{Condition, Events, HealthChange, HookCall, ToolCost};
pub use failure::Failure;
pub(crate) use panic::panic_message;
pub use snapshot::{
    ChatErrorSnapshot, ChatResponseSnapshot, ChunkSnapshot, StepFinishSnapshot, StepSnapshot,
    ToolCallSnapshot, ToolResultSnapshot, TurnSnapshot,
};
pub use subscriber::{Observation, Subscriber, TurnPatch};

use crate::turn::{ErrorClass, ModelMessage, StepConfig, StepUpdate, ToolDecision, ToolOverride, TurnConfig};

/// A stage of a turn at which an extension can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "named as the methods of `Hooks`, which say what they are")]
pub enum Hook {
    BeforeTurn,
    BeforeStep,
    BeforeToolCall,
    AfterToolCall,
    OnStepFinish,
    OnChunk,
    OnChatResponse,
    OnChatError,
}

impl Hook {
    /// Its camelCase name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BeforeTurn => "beforeTurn",
            Self::BeforeStep => "beforeStep",
            Self::BeforeToolCall => "beforeToolCall",
            Self::AfterToolCall => "afterToolCall",
            Self::OnStepFinish => "onStepFinish",
            Self::OnChunk => "onChunk",
            Self::OnChatResponse => "onChatResponse",
            Self::OnChatError => "onChatError",
        }
    }
}

/// Why a built-in hook failed: any error, or a text.
#[derive(Debug)]
pub struct HookError(Box<dyn std::error::Error + Send + Sync>);

impl<E: Into<Box<dyn std::error::Error + Send + Sync>>> From<E> for HookError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl std::fmt::Display for HookError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// What a built-in hook answers.
pub type HookResult<T = ()> = Result<T, HookError>;

/// Built-in hooks: what an embedder does at the stages of a turn, before any extension is asked.
///
/// Every method is defaulted to saying nothing. Several sets may be added to an agent; they are called in the order
/// in which they were added, each shown what the ones before it made.
///
/// ```
/// use lathe::hooks::{HookResult, Hooks, TurnContext};
/// use lathe::turn::TurnConfig;
///
/// struct Brief;
///
/// #[async_trait::async_trait]
/// impl Hooks for Brief {
///     async fn before_turn(&self, turn: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
///         let system = format!("{}\nAnswer in one sentence.", turn.system);
///         Ok(Some(TurnConfig { system: Some(system), max_steps: Some(3), ..Default::default() }))
///     }
/// }
/// ```
#[async_trait]
pub trait Hooks: Send + Sync {
    /// Once per session, when it is opened. An error makes the opening fail.
    async fn configure_session(&self, session: SessionConfig) -> HookResult<SessionConfig> {
        Ok(session)
    }

    /// Before the first model request. An error ends the turn.
    async fn before_turn(&self, _turn: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
        Ok(None)
    }

    /// Before each model request. An error ends the turn.
    async fn before_step(&self, _step: &StepContext<'_>) -> HookResult<Option<StepConfig>> {
        Ok(None)
    }

    /// Before a tool runs; not for client tools, unknown tools and invalid inputs. An error becomes the call's.
    async fn before_tool_call(&self, _call: &ToolCallContext<'_>) -> HookResult<Option<ToolDecision>> {
        Ok(None)
    }

    /// After a call has its result, whatever it is: see [`CallOutcome`](crate::turn::CallOutcome). An error becomes
    /// the call's.
    async fn after_tool_call(&self, _call: &ToolResultContext<'_>) -> HookResult<Option<ToolOverride>> {
        Ok(None)
    }

    /// After each step. An error ends the turn.
    async fn on_step_finish(&self, _step: &StepFinishContext<'_>) -> HookResult {
        Ok(())
    }

    /// For each part of the stream, as it goes by. An error ends the turn.
    async fn on_chunk(&self, _chunk: &ChunkContext<'_>) -> HookResult {
        Ok(())
    }

    /// Changes the messages of one request, just before it is made; what is stored, and what the next request starts
    /// from, stays as it is. An error ends the turn.
    async fn transform_context(&self, _messages: &[ModelMessage]) -> HookResult<Option<Vec<ModelMessage>>> {
        Ok(None)
    }

    /// After each step that did not fail, the last one included: changes what the rest of the turn works with. An error
    /// ends the turn.
    async fn prepare_next_step(&self, _step: &NextStepContext<'_>) -> HookResult<Option<StepUpdate>> {
        Ok(None)
    }

    /// After `prepare_next_step`: whether the turn should end here. One yes is enough. An error ends the turn.
    async fn should_stop_after_step(&self, _step: &NextStepContext<'_>) -> HookResult<bool> {
        Ok(false)
    }

    /// After the turn has ended and its answer is stored. An error is logged.
    async fn on_chat_response(&self, _response: &ChatResponseContext<'_>) -> HookResult {
        Ok(())
    }

    /// After a turn failed outside the model's stream. Returns the text that is shown in place of the error's.
    fn on_chat_error(&self, error: &ChatErrorContext<'_>) -> String {
        error.message.to_owned()
    }

    /// What kind of failure an error is. Asked by recovery only; nothing asks yet.
    fn classify_chat_error(&self, _error: &ChatErrorContext<'_>) -> Option<ErrorClass> {
        None
    }
}
