use serde::{Deserialize, Serialize};

use super::{FinishReason, Json, ProviderMetadata, ToolError, Usage};

/// One part of a turn's stream (AI SDK `TextStreamPart`): what `on_chunk` sees and clients are sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Chunk {
    /// The turn's answer begins.
    Start {
        /// The id under which the answer will be stored.
        message_id: String,
    },
    /// A model request is answered.
    StartStep,
    /// A text part opens.
    TextStart {
        /// Its id within the step.
        id: String,
    },
    /// More of a text part.
    TextDelta {
        /// Which part.
        id: String,
        /// What comes next.
        text: String,
    },
    /// A text part is complete.
    TextEnd {
        /// Which part.
        id: String,
        /// To be sent back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Option<ProviderMetadata>,
    },
    /// A reasoning part opens.
    ReasoningStart {
        /// Its id within the step.
        id: String,
    },
    /// More of a reasoning part.
    ReasoningDelta {
        /// Which part.
        id: String,
        /// What comes next.
        text: String,
    },
    /// A reasoning part is complete.
    ReasoningEnd {
        /// Which part.
        id: String,
        /// To be sent back with it, such as a signature.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Option<ProviderMetadata>,
    },
    /// The input of a tool call begins to arrive.
    ToolInputStart {
        /// The call.
        tool_call_id: String,
        /// Its tool.
        tool_name: String,
    },
    /// More of a tool call's input, as text.
    ToolInputDelta {
        /// The call.
        tool_call_id: String,
        /// What comes next.
        delta: String,
    },
    /// The input of a tool call is complete.
    ToolInputEnd {
        /// The call.
        tool_call_id: String,
    },
    /// A whole tool call.
    ToolCall {
        /// The call.
        tool_call_id: String,
        /// Its tool.
        tool_name: String,
        /// The input as the model wrote it; a text where it was not JSON.
        input: Json,
        /// Set if the input was not JSON, or not an object.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        malformed: Option<String>,
        /// To be sent back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Option<ProviderMetadata>,
    },
    /// A tool call has its output.
    ToolResult {
        /// The call.
        tool_call_id: String,
        /// Its tool.
        tool_name: String,
        /// What the model will read.
        output: Json,
        /// True if the tool still runs and this is how far it has got.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        preliminary: bool,
        /// What the tool tells beyond its output; not for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Json>,
    },
    /// A tool call waits for a person's approval.
    ToolApprovalRequest {
        /// What the answer must name.
        approval_id: String,
        /// The call.
        tool_call_id: String,
        /// Its tool.
        tool_name: String,
    },
    /// A tool call has failed.
    ToolError {
        /// The call.
        tool_call_id: String,
        /// Its tool.
        tool_name: String,
        /// What the model will read.
        error: ToolError,
    },
    /// A source that the model used.
    Source {
        /// The provider's id of it.
        id: String,
        /// Where it is.
        url: String,
        /// What it is called.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// A file that the model made.
    File {
        /// IANA media type.
        media_type: String,
        /// A URL, `data:` included.
        url: String,
    },
    /// The step is over, its tool calls included.
    FinishStep {
        /// Why the model stopped.
        finish_reason: FinishReason,
        /// What the step cost.
        usage: Usage,
        /// The model that was asked, as `provider:name`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// Anything else the provider tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Option<ProviderMetadata>,
    },
    /// The turn is over.
    Finish {
        /// Of the last step.
        finish_reason: FinishReason,
        /// Of all steps together.
        total_usage: Usage,
    },
    /// The turn was cancelled.
    Abort,
    /// The turn failed.
    Error {
        /// What happened.
        error: String,
    },
}

impl Chunk {
    /// The text of a delta.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::TextDelta { text, .. } | Self::ReasoningDelta { text, .. } => Some(text),
            Self::ToolInputDelta { delta, .. } => Some(delta),
            _ => None,
        }
    }

    /// The tool that the chunk is about.
    #[must_use]
    pub fn tool_name(&self) -> Option<&str> {
        match self {
            Self::ToolInputStart { tool_name, .. }
            | Self::ToolCall { tool_name, .. }
            | Self::ToolResult { tool_name, .. }
            | Self::ToolApprovalRequest { tool_name, .. }
            | Self::ToolError { tool_name, .. } => Some(tool_name),
            _ => None,
        }
    }

    /// The tool call that the chunk is about.
    #[must_use]
    pub fn tool_call_id(&self) -> Option<&str> {
        match self {
            Self::ToolInputStart { tool_call_id, .. }
            | Self::ToolInputDelta { tool_call_id, .. }
            | Self::ToolInputEnd { tool_call_id }
            | Self::ToolCall { tool_call_id, .. }
            | Self::ToolResult { tool_call_id, .. }
            | Self::ToolApprovalRequest { tool_call_id, .. }
            | Self::ToolError { tool_call_id, .. } => Some(tool_call_id),
            _ => None,
        }
    }
}
