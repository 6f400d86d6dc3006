//! The turn machine and the words of a turn.
//!
//! Everything here is plain data and pure functions: no I/O, no clock, no tokio, no wasmtime. It may use no
//! other room. [`TurnMachine::next`] says what is to be done, [`TurnMachine::apply`] takes what came of it, and
//! the driver stands between the two and the world. All state is serde, so that a turn can be stored after any
//! outcome and taken up again.

mod answer;
mod batch;
mod call;
mod chunk;
mod config;
mod decision;
mod effect;
mod error;
mod machine;
mod message;
mod partial;
#[cfg(test)]
mod properties;
mod recovery;
mod request;
mod segment;
mod state;
mod step;
mod stop;
#[cfg(test)]
mod tests;
mod toolpart;
mod transcript;
mod trigger;
mod truncate;
mod usage;

pub use answer::{Answer, AnswerPart};
pub use batch::{RanCall, ToolRan, ToolRun};
pub use call::{
    CallOutcome, InvalidInput, Replay, ToolCall, ToolDefinition, ToolError, ToolOutput, ToolRecord,
};
pub use chunk::Chunk;
pub use config::{
    CallSettings, ConfigChange, ConfigField, Provenance, StepConfig, StepUpdate, Telemetry, TurnConfig,
};
pub use decision::{ToolDecision, ToolOverride};
pub use effect::{Assembly, Effect, Outcome, Taken, TurnEnd, TurnStart, TurnStatus, Unexpected};
pub use error::{ChatStage, ErrorClass};
pub use machine::TurnMachine;
pub use message::{ModelMessage, Part, ProviderMetadata, ResultOutput, Role, ToolChoice};
pub use partial::partial_parts;
pub use recovery::{ExhaustedReason, RecoveryKind, SubmissionStatus};
pub use request::ModelCall;
pub use step::StepRecord;
pub use stop::StopCondition;
pub use toolpart::{Approval, ToolPart, ToolState};
pub use transcript::{TextState, UiMessage, UiPart, UiRole};
pub use trigger::Trigger;
pub use truncate::truncate_older;
pub use usage::{FinishReason, Usage};

/// A JSON value whose shape the host does not fix.
pub type Json = serde_json::Value;

/// A JSON object.
pub type JsonObject = serde_json::Map<String, Json>;
