use serde::{Deserialize, Serialize};

use crate::turn::{FinishReason, ProviderMetadata, Usage};

/// One event of a model's answer (AI SDK `LanguageModelV3StreamPart`).
///
/// Text, reasoning and tool input are framed: a start, deltas, an end, told apart by `id`, so that parts may
/// interleave. A tool call is complete only with [`ModelEvent::ToolCall`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ModelEvent {
    /// Who answers.
    ResponseMetadata {
        /// The provider's id of the answer.
        id: Option<String>,
        /// The model that really answers.
        model_id: Option<String>,
    },
    /// A text part opens.
    TextStart {
        /// Its id within this answer.
        id: String,
    },
    /// More of a text part.
    TextDelta {
        /// Which part.
        id: String,
        /// What comes next.
        delta: String,
    },
    /// A text part is complete.
    TextEnd {
        /// Which part.
        id: String,
        /// To be sent back with it.
        provider_metadata: Option<ProviderMetadata>,
    },
    /// A reasoning part opens.
    ReasoningStart {
        /// Its id within this answer.
        id: String,
    },
    /// More of a reasoning part.
    ReasoningDelta {
        /// Which part.
        id: String,
        /// What comes next.
        delta: String,
    },
    /// A reasoning part is complete.
    ReasoningEnd {
        /// Which part.
        id: String,
        /// To be sent back with it, such as a signature.
        provider_metadata: Option<ProviderMetadata>,
    },
    /// The input of a tool call begins to arrive.
    ToolInputStart {
        /// The call's id.
        id: String,
        /// The tool.
        tool_name: String,
    },
    /// More of a tool call's input, as text.
    ToolInputDelta {
        /// The call's id.
        id: String,
        /// What comes next.
        delta: String,
    },
    /// The input of a tool call is complete.
    ToolInputEnd {
        /// The call's id.
        id: String,
    },
    /// A whole tool call.
    ToolCall {
        /// The call's id, unique in the answer; the provider's own where it gives one.
        id: String,
        /// The tool.
        tool_name: String,
        /// The input as the model wrote it; it need not be JSON.
        input: String,
        /// To be sent back with it.
        provider_metadata: Option<ProviderMetadata>,
    },
    /// A source that the model used.
    Source {
        /// The provider's id of it.
        id: String,
        /// Where it is.
        url: String,
        /// What it is called.
        title: Option<String>,
    },
    /// A file that the model made.
    File {
        /// IANA media type.
        media_type: String,
        /// A URL, `data:` included.
        url: String,
    },
    /// The answer is complete.
    Finish {
        /// Why it ended.
        reason: FinishReason,
        /// The provider's own word for it.
        raw_reason: Option<String>,
        /// What it cost.
        usage: Usage,
        /// Anything else the provider tells.
        provider_metadata: Option<ProviderMetadata>,
    },
}
