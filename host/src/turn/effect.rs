use serde::{Deserialize, Serialize};

use super::{
    Answer, ChatStage, InvalidInput, Json, ModelMessage, Provenance, RanCall, StepConfig, StepUpdate,
    ToolCall, ToolDecision, ToolDefinition, ToolError, ToolOverride, ToolRan, ToolRecord, ToolRun, Trigger,
    TurnConfig, UiMessage, UiPart,
};

/// What is known of a turn before it begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnStart {
    /// The host's id of the turn.
    pub request_id: String,
    /// The id under which the answer will be stored.
    pub message_id: String,
    /// What made it start.
    pub trigger: Trigger,
    /// True if it goes on without a new user message.
    pub continuation: bool,
    /// Custom fields of the client's request, an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Json>,
    /// The agent's limit of steps, unless a hook sets another.
    pub max_steps: u32,
}

/// What a turn works with, gathered before the first hook (`think.md` §1.4).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Assembly {
    /// `provider:name`.
    pub model: String,
    /// The system prompt.
    pub system: String,
    /// The conversation, the new user message included.
    pub messages: Vec<ModelMessage>,
    /// Those of them that this turn brought.
    pub new_messages: Vec<ModelMessage>,
    /// The tools, in the order in which they are offered.
    pub tools: Vec<ToolDefinition>,
    /// What the answer holds already, where the turn goes on in a stored one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<UiPart>,
    /// Tools in reserve: offered only where a hook asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reserve: Vec<ToolDefinition>,
    /// Calls of the last answer that a person has approved since: they run before anything else (`think.md` §1.6).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approved: Vec<ToolCall>,
    /// Those of them that an interrupted turn has run already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ran: Vec<RanCall>,
}

/// Messages of the user that were waiting and are taken up between two steps (`or-agent.md` §1.3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Taken {
    /// In the order in which they came; at least one.
    pub messages: Vec<UiMessage>,
    /// The id under which the answer to them will be stored.
    pub message_id: String,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Gather system prompt, history and tools; answered by [`Outcome::Assembled`].
    Assemble,
    /// Call the `before_turn` hooks; answered by [`Outcome::TurnConfigured`].
    BeforeTurn,
    /// Call the `before_step` hooks; answered by [`Outcome::StepConfigured`].
    BeforeStep,
    /// Ask the model [`TurnMachine::model_call`](super::TurnMachine::model_call); answered by [`Outcome::ModelAnswered`] or [`Outcome::ModelFailed`].
    CallModel,
    /// Check a tool call's input against its schema; answered by [`Outcome::InputChecked`].
    CheckInput {
        /// The call.
        tool_call_id: String,
        /// Its tool.
        tool_name: String,
        /// What to check.
        input: Json,
    },
    /// Call the `before_tool_call` hooks; answered by [`Outcome::ToolDecided`].
    BeforeToolCall {
        /// As the model made it.
        call: ToolCall,
        /// As it would run.
        input: Json,
    },
    /// Run these tools at once; each answered by an [`Outcome::ToolRan`].
    RunTools(Vec<ToolRun>),
    /// Call the `after_tool_call` hooks; answered by [`Outcome::ToolReviewed`].
    AfterToolCall(Box<ToolRecord>),
    /// Call the `on_step_finish` hooks for the last of [`TurnMachine::steps`](super::TurnMachine::steps); answered by [`Outcome::StepFinished`].
    FinishStep,
    /// Call the `prepare_next_step` hooks, after the last step too; answered by [`Outcome::NextStepPrepared`].
    PrepareNextStep,
    /// Call the `should_stop_after_step` hooks; answered by [`Outcome::StopDecided`].
    DecideStop,
    /// Ask for messages that steer the turn; answered by [`Outcome::Taken`].
    TakeSteering,
    /// Ask for messages that were to wait for the turn's end; answered by [`Outcome::Taken`].
    TakeFollowUps,
    /// Store the results of approved calls with the calls; answered by [`Outcome::Stored`].
    StoreApproved(Vec<ToolRecord>),
    /// Store [`TurnMachine::stored_messages`](super::TurnMachine::stored_messages), at the end and before waiting messages are answered; answered by
    /// [`Outcome::Stored`].
    Store,
    /// Tell the hooks how it ended; answered by [`Outcome::Told`].
    Tell(TurnEnd),
    /// Nothing: the turn is over.
    Finished(TurnEnd),
}

/// What came of an [`Effect`].
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Of [`Effect::Assemble`].
    Assembled(Box<Assembly>),
    /// Of [`Effect::BeforeTurn`]: the config that all hooks together made, and who set what.
    TurnConfigured(Box<TurnConfig>, Provenance),
    /// Of [`Effect::BeforeStep`].
    StepConfigured(Box<StepConfig>),
    /// Of [`Effect::CallModel`].
    ModelAnswered(Answer),
    /// Of [`Effect::CallModel`]: the error, and what was said before it.
    ModelFailed(String, Answer),
    /// Of [`Effect::CheckInput`]: the input as the tool wants it, or why it does not fit.
    InputChecked(String, Result<Json, InvalidInput>),
    /// Of [`Effect::BeforeToolCall`].
    ToolDecided(String, Result<Option<ToolDecision>, ToolError>),
    /// Of one call of [`Effect::RunTools`].
    ToolRan {
        /// The call.
        tool_call_id: String,
        /// What came of it.
        ran: ToolRan,
    },
    /// Of [`Effect::AfterToolCall`].
    ToolReviewed(String, ToolOverride),
    /// Of [`Effect::FinishStep`].
    StepFinished,
    /// Of [`Effect::PrepareNextStep`].
    NextStepPrepared(Box<StepUpdate>),
    /// Of [`Effect::DecideStop`].
    StopDecided(bool),
    /// Of [`Effect::TakeSteering`] and [`Effect::TakeFollowUps`]; none if nothing waits.
    Taken(Option<Taken>),
    /// Of [`Effect::Store`] and [`Effect::StoreApproved`].
    Stored,
    /// Of [`Effect::Tell`].
    Told,
    /// Of any effect: it could not be done, or a hook failed where that ends the turn.
    Failed(String),
    /// Of [`Effect::Assemble`], [`Effect::StoreApproved`] and [`Effect::Store`]: a message could not be stored.
    NotStored(String),
    /// At any time: the turn cannot go on as it is, but another one may go on from what it leaves. Holds why, and what the
    /// model has said of the step that was under way. Nothing is stored, and nobody is told of an end.
    Interrupted(String, Answer),
    /// Of [`Effect::CallModel`]: the conversation is too long for the model, and nothing makes it shorter. What the model has
    /// said of the step is dropped.
    Overflowed(String),
    /// Of [`Effect::BeforeStep`] and [`Effect::CallModel`]: the conversation has become shorter. The step is made again
    /// with these messages in front of the turn's steps; if it was the first one, the turn begins again.
    Compacted(Vec<ModelMessage>),
    /// At any time: the turn was cancelled. Holds what the model has said of the step that was under way. While tools
    /// run, the calls without a result get one and the step still ends properly.
    Aborted(Answer),
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnEnd {
    /// In one word.
    pub status: TurnStatus,
    /// What happened, with [`TurnStatus::Error`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Set if the turn failed outside the model's stream: where. `on_chat_error` is told then, in place of
    /// `on_chat_response` (`think.md` §1.7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<ChatStage>,
}

/// How a turn ended, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnStatus {
    /// The model has answered, or waits for a client.
    Completed,
    /// It failed.
    Error,
    /// It was cancelled.
    Aborted,
    /// It was cut off, and another turn goes on from there. A session whose turns are recovered never ends so.
    Interrupted,
    /// It never began: there was nothing to say, another message took its place, or the session was reset. A session
    /// says so, never the machine.
    Skipped,
}

/// An outcome that does not belong to what the machine asked for: a bug in whoever drives it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the turn waits for {expected}, not for {got}")]
pub struct Unexpected {
    pub(super) expected: &'static str,
    pub(super) got: &'static str,
}

impl Outcome {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Assembled(_) => "Assembled",
            Self::TurnConfigured(..) => "TurnConfigured",
            Self::StepConfigured(_) => "StepConfigured",
            Self::ModelAnswered(_) => "ModelAnswered",
            Self::ModelFailed(..) => "ModelFailed",
            Self::InputChecked(..) => "InputChecked",
            Self::ToolDecided(..) => "ToolDecided",
            Self::ToolRan { .. } => "ToolRan",
            Self::ToolReviewed(..) => "ToolReviewed",
            Self::StepFinished => "StepFinished",
            Self::NextStepPrepared(_) => "NextStepPrepared",
            Self::StopDecided(_) => "StopDecided",
            Self::Taken(_) => "Taken",
            Self::Stored => "Stored",
            Self::Told => "Told",
            Self::Failed(_) => "Failed",
            Self::NotStored(_) => "NotStored",
            Self::Interrupted(..) => "Interrupted",
            Self::Overflowed(_) => "Overflowed",
            Self::Compacted(_) => "Compacted",
            Self::Aborted(_) => "Aborted",
        }
    }
}
