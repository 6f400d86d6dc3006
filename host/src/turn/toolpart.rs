use serde::{Deserialize, Serialize};

use super::{Json, JsonObject, ProviderMetadata, ResultOutput, ToolCall, ToolOutput};

/// A tool call in a [`UiMessage`](super::UiMessage): `{"type": "tool-<name>", …}`.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolPart {
    /// The tool's full name.
    pub tool_name: String,
    /// The host's id of the call.
    pub tool_call_id: String,
    /// The input as the model wrote it.
    pub input: Json,
    /// How far it is.
    pub state: ToolState,
    /// Whether a person must approve the call, and what they said.
    pub approval: Option<Approval>,
    /// To be sent back with the call.
    pub call_provider_metadata: Option<ProviderMetadata>,
    /// Fields that this host does not read.
    pub other: JsonObject,
}

/// A person's approval of a tool call: asked for, or given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// What the answer names.
    pub id: String,
    /// None while nobody has answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// Why, in the person's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Approval {
    /// The question about a call.
    #[must_use]
    pub fn of(tool_call_id: &str) -> Self {
        Self { id: format!("approval-{tool_call_id}"), approved: None, reason: None }
    }
}

/// How far a tool call is (AI SDK tool part states).
#[derive(Clone, Debug, PartialEq)]
pub enum ToolState {
    /// The call is made, nobody has answered.
    InputAvailable,
    /// It has an output.
    OutputAvailable(Json),
    /// It failed, with this text.
    OutputError(String),
    /// A person is asked whether it may run.
    ApprovalRequested,
    /// A person has said that it may run.
    ApprovalResponded,
    /// A person has said that it may not run.
    OutputDenied,
    /// A state that the host passes on unread, such as `input-streaming`.
    Other(String),
}

impl ToolState {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::InputAvailable => "input-available",
            Self::OutputAvailable(_) => "output-available",
            Self::OutputError(_) => "output-error",
            Self::ApprovalRequested => "approval-requested",
            Self::ApprovalResponded => "approval-responded",
            Self::OutputDenied => "output-denied",
            Self::Other(name) => name,
        }
    }

    /// Whether the call has its result, whatever it is.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        matches!(self, Self::OutputAvailable(_) | Self::OutputError(_) | Self::OutputDenied)
    }

    /// Whether somebody outside the host is still to answer the call.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self, Self::InputAvailable | Self::ApprovalRequested)
    }
}

impl ToolPart {
    pub(super) fn result(&self) -> Option<ResultOutput> {
        match &self.state {
            ToolState::OutputAvailable(value) => Some(ResultOutput::from_value(value.clone())),
            ToolState::OutputError(text) => Some(ResultOutput::ErrorText(text.clone())),
            ToolState::OutputDenied => Some(ResultOutput::ErrorText(self.denial())),
            _ => None,
        }
    }

    fn denial(&self) -> String {
        match self.approval.as_ref().and_then(|approval| approval.reason.as_deref()) {
            Some(reason) => format!("The user did not allow this call: {reason}"),
            None => "The user did not allow this call.".into(),
        }
    }

    /// The call as the model made it.
    #[must_use]
    pub fn call(&self) -> ToolCall {
        ToolCall {
            tool_call_id: self.tool_call_id.clone(),
            tool_name: self.tool_name.clone(),
            input: self.input.clone(),
            malformed: None,
            provider_metadata: self.call_provider_metadata.clone(),
        }
    }

    /// Takes over a result that came after the answer was stored.
    pub fn settle(&mut self, output: &ToolOutput) {
        self.state = match output {
            ToolOutput::Output(value) => {
                self.other.insert("preliminary".into(), false.into());
                ToolState::OutputAvailable(value.clone())
            }
            ToolOutput::Error(error) => ToolState::OutputError(error.message.clone()),
        };
    }
}
