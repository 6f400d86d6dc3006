use serde::{Deserialize, Serialize};

use super::{Json, JsonObject};

/// Metadata or options by provider: `{"anthropic": {…}}`.
pub type ProviderMetadata = JsonObject;

/// Who speaks in a [`ModelMessage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions in mid-conversation; the system prompt itself travels beside the messages.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// Results of tool calls.
    Tool,
}

/// A message as a model is asked with it (AI SDK `ModelMessage`).
///
/// Read from JSON, `content` may be a text or a list of parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelMessage {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    #[serde(deserialize_with = "text_or_parts")]
    pub content: Vec<Part>,
}

impl ModelMessage {
    /// A message of one text.
    #[must_use]
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self { role, content: vec![Part::Text { text: text.into(), provider_options: None }] }
    }
}

/// A piece of a [`ModelMessage`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Part {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// What the provider wants back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_options: Option<ProviderMetadata>,
    },
    /// The model's own reasoning, sent back to it.
    Reasoning {
        /// The text; may be empty where the provider only hands out a signature.
        text: String,
        /// What the provider wants back with it, such as a signature.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_options: Option<ProviderMetadata>,
    },
    /// A file or image.
    File {
        /// IANA media type.
        media_type: String,
        /// A URL, `data:` included.
        url: String,
        /// A name to show.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
    },
    /// A tool call that the model made.
    ToolCall {
        /// The host's id of the call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// The input as the model wrote it.
        input: Json,
        /// What the provider wants back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_options: Option<ProviderMetadata>,
    },
    /// The result of a tool call.
    ToolResult {
        /// The host's id of the call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// What came of it.
        output: ResultOutput,
    },
}

/// What a model is told of a tool call's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "value", rename_all = "kebab-case")]
pub enum ResultOutput {
    /// Text.
    Text(String),
    /// Any JSON value but a text.
    Json(Json),
    /// The text of a failure.
    ErrorText(String),
}

impl ResultOutput {
    /// A tool's output: text as text, everything else as JSON.
    #[must_use]
    pub fn from_value(value: Json) -> Self {
        match value {
            Json::String(text) => Self::Text(text),
            other => Self::Json(other),
        }
    }
}

/// How the model may use tools (AI SDK `ToolChoice`).
///
/// Read from JSON: `"auto"`, `"none"`, `"required"`, or `{"type": "tool", "toolName": …}`; the long form
/// `{"type": "auto"}` is what is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase", from = "ToolChoiceInput")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tool may be called.
    None,
    /// Some tool must be called.
    Required,
    /// This tool must be called.
    Tool {
        /// Its name.
        tool_name: String,
    },
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ToolChoiceInput {
    Word(ToolChoiceWord),
    Tagged(ToolChoiceTagged),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ToolChoiceWord {
    Auto,
    None,
    Required,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum ToolChoiceTagged {
    Auto,
    None,
    Required,
    Tool { tool_name: String },
}

impl From<ToolChoiceInput> for ToolChoice {
    fn from(input: ToolChoiceInput) -> Self {
        match input {
            ToolChoiceInput::Word(ToolChoiceWord::Auto) | ToolChoiceInput::Tagged(ToolChoiceTagged::Auto) => {
                Self::Auto
            }
            ToolChoiceInput::Word(ToolChoiceWord::None) | ToolChoiceInput::Tagged(ToolChoiceTagged::None) => {
                Self::None
            }
            ToolChoiceInput::Word(ToolChoiceWord::Required)
            | ToolChoiceInput::Tagged(ToolChoiceTagged::Required) => Self::Required,
            ToolChoiceInput::Tagged(ToolChoiceTagged::Tool { tool_name }) => Self::Tool { tool_name },
        }
    }
}

fn text_or_parts<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<Part>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Content {
        Text(String),
        Parts(Vec<Part>),
    }
    Ok(match Content::deserialize(deserializer)? {
        Content::Text(text) => vec![Part::Text { text, provider_options: None }],
        Content::Parts(parts) => parts,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn content_may_be_text() {
        let message: ModelMessage = serde_json::from_value(json!({"role": "user", "content": "hi"})).unwrap();
        assert_eq!(message, ModelMessage::text(Role::User, "hi"));
        assert_eq!(
            serde_json::to_value(&message).unwrap(),
            json!({"role": "user", "content": [{"type": "text", "text": "hi"}]})
        );
    }

    #[test]
    fn tool_choice_reads_both_forms_and_writes_the_long_one() {
        for (input, expected) in [
            (json!("required"), json!({"type": "required"})),
            (json!({"type": "auto"}), json!({"type": "auto"})),
            (json!({"type": "tool", "toolName": "add"}), json!({"type": "tool", "toolName": "add"})),
        ] {
            let choice: ToolChoice = serde_json::from_value(input).unwrap();
            assert_eq!(serde_json::to_value(&choice).unwrap(), expected);
        }
        assert!(serde_json::from_value::<ToolChoice>(json!("sometimes")).is_err());
    }

    #[test]
    fn text_results_are_text_and_the_rest_is_json() {
        assert_eq!(ResultOutput::from_value(json!("a")), ResultOutput::Text("a".into()));
        assert_eq!(
            serde_json::to_value(ResultOutput::from_value(json!({"a": 1}))).unwrap(),
            json!({"type": "json", "value": {"a": 1}})
        );
    }
}
