use serde::{Deserialize, Serialize};

use super::{CallSettings, ModelMessage, ToolChoice, ToolDefinition};

/// One request to a model (AI SDK `LanguageModelV3CallOptions`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelCall {
    /// The system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The conversation.
    pub messages: Vec<ModelMessage>,
    /// The tools on offer.
    pub tools: Vec<ToolDefinition>,
    /// How the model may use them.
    pub tool_choice: ToolChoice,
    /// The settings of the turn.
    #[serde(flatten)]
    pub settings: CallSettings,
}
