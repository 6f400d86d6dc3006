//! The hooks of a turn: the trait for built-in ones, what each is shown, and the order in which they are called.
//!
//! May use `turn`. Knows extensions only as [`Subscriber`]s: how a guest is run is the business of `extensions`.

mod builtin;
mod context;
mod dispatcher;
mod event;
mod failure;
mod panic;
mod recovery;
mod snapshot;
mod subscriber;

use serde::{Deserialize, Serialize};

pub use builtin::{HookError, HookResult, Hooks};
pub use context::{
    ChatErrorContext, ChatResponseContext, ChunkContext, NextStepContext, SessionConfig, StepContext,
    StepFinishContext, ToolCallContext, ToolResultContext, TurnContext,
};
pub use dispatcher::{Dispatcher, KnownModel};
pub use event::{Condition, ConfigChanges, Events, HealthChange, HookCall, ToolCost};
pub use failure::Failure;
pub(crate) use panic::panic_message;
pub(crate) use recovery::RecoveryHooks;
pub use recovery::{
    ChatRecoveryContext, ChatRecoveryOptions, ExhaustedContext, Stash, SubmissionStatusContext,
};
pub use snapshot::{
    ChatErrorSnapshot, ChatResponseSnapshot, ChunkSnapshot, StepFinishSnapshot, StepSnapshot,
    ToolCallSnapshot, ToolResultSnapshot, TurnSnapshot,
};
pub use subscriber::{Observation, Subscriber, TurnPatch};

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
