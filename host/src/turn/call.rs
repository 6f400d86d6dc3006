use serde::{Deserialize, Serialize};

use super::{Json, Part, ProviderMetadata, ResultOutput, ToolOverride};

/// A tool as a model is offered it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolDefinition {
    /// The full name, unique in the turn.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of the input, an object.
    pub input_schema: Json,
    /// What may happen to a call whose outcome is unknown.
    #[serde(default)]
    pub replay: Replay,
    /// True if it must not run beside another call of its step.
    #[serde(default)]
    pub sequential: bool,
    /// True if the host cannot run it: a client will.
    #[serde(default)]
    pub client: bool,
    /// True if a person must approve each call first.
    #[serde(default)]
    pub needs_approval: bool,
    /// True for a tool registered at run time, such as one of an MCP server.
    #[serde(default)]
    pub dynamic: bool,
}

/// Whether a call whose outcome is unknown may be made again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Replay {
    /// Never: the model is told that the outcome is unknown.
    #[default]
    Never,
    /// Running it twice is as good as once.
    Safe,
}

/// A tool call as the model made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// The host's id of the call, unique in the session.
    pub tool_call_id: String,
    /// The tool's full name, as the model wrote it.
    pub tool_name: String,
    /// The input as the model wrote it; a text where it was not JSON.
    pub input: Json,
    /// Set if the input was not JSON, or not an object: what is wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
    /// What the provider wants back with the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_metadata: Option<ProviderMetadata>,
}

/// An error of a tool call, as the model and the hooks see it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct ToolError {
    /// The error's class: `Error` for a tool's own, `InvalidInput`, `UnknownTool`, `Cancelled`, …
    pub name: String,
    /// What happened.
    pub message: String,
}

impl ToolError {
    /// A tool's own failure.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::named("Error", message)
    }

    /// A failure of that class.
    pub fn named(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self { name: name.into(), message: message.into() }
    }
}

/// Why an input does not fit its tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{0}")]
pub struct InvalidInput(pub String);

/// How a call came to its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallOutcome {
    /// The tool ran and answered.
    Executed,
    /// The tool, or a hook before it, failed.
    Failed,
    /// A hook did not let it run.
    Blocked,
    /// A hook answered in its place.
    Substituted,
    /// There is no such tool, or the input does not fit it.
    Invalid,
    /// The turn was cancelled first.
    Cancelled,
}

/// What the model is given for a call: an output or an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolOutput {
    /// Any JSON value.
    Output(Json),
    /// A failure.
    Error(ToolError),
}

impl ToolOutput {
    /// The form in which a model reads it.
    #[must_use]
    pub fn to_result(&self) -> ResultOutput {
        match self {
            Self::Output(value) => ResultOutput::from_value(value.clone()),
            Self::Error(error) => ResultOutput::ErrorText(error.message.clone()),
        }
    }
}

impl From<Result<Json, ToolError>> for ToolOutput {
    fn from(result: Result<Json, ToolError>) -> Self {
        result.map_or_else(Self::Error, Self::Output)
    }
}

/// A tool call with what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolRecord {
    /// As the model made it.
    pub call: ToolCall,
    /// The input as it ran, or would have: checked, and perhaps changed by a hook.
    pub input: Json,
    /// How it ended.
    pub outcome: CallOutcome,
    /// What the model is given.
    pub output: ToolOutput,
    /// How long the tool ran, in milliseconds; 0 if it did not.
    pub duration_ms: f64,
    /// Whether it asks to end the turn.
    #[serde(default)]
    pub terminate: bool,
    /// What the tool tells hooks and clients beyond its output; the model never sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Json>,
}

impl ToolRecord {
    /// Whether the model is given an output, not an error. A blocked call's reason is an output.
    #[must_use]
    pub fn success(&self) -> bool {
        matches!(self.output, ToolOutput::Output(_))
    }

    /// Takes over what a hook wants changed: the given fields replace what is there, whole.
    pub fn apply(&mut self, change: &ToolOverride) {
        self.terminate = change.terminate.unwrap_or(self.terminate);
        self.details = change.details.clone().or(self.details.take());
        let is_error = change.is_error.unwrap_or(!self.success());
        if change.output.is_none() && is_error != self.success() {
            return;
        }
        let value = match (&change.output, &self.output) {
            (Some(value), _) | (None, ToolOutput::Output(value)) => value.clone(),
            (None, ToolOutput::Error(error)) => Json::String(error.message.clone()),
        };
        self.output = match value {
            value if !is_error => ToolOutput::Output(value),
            Json::String(text) => ToolOutput::Error(ToolError::failed(text)),
            other => ToolOutput::Error(ToolError::failed(other.to_string())),
        };
    }

    /// The result as a model is sent it.
    #[must_use]
    pub fn to_part(&self) -> Part {
        Part::ToolResult {
            tool_call_id: self.call.tool_call_id.clone(),
            tool_name: self.call.tool_name.clone(),
            output: self.output.to_result(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_override_replaces_field_by_field() {
        let call = ToolCall {
            tool_call_id: "c".into(),
            tool_name: "t".into(),
            input: json!({}),
            malformed: None,
            provider_metadata: None,
        };
        let error = || ToolOutput::Error(ToolError::named("Odd", "old"));
        let output = ToolOutput::Output;
        for (now, value, is_error, then) in [
            (output(json!(1)), None, None, output(json!(1))),
            (output(json!(1)), Some(json!(2)), None, output(json!(2))),
            (output(json!("x")), None, Some(true), ToolOutput::Error(ToolError::failed("x"))),
            (error(), None, None, error()),
            (error(), None, Some(true), error()),
            (error(), None, Some(false), output(json!("old"))),
            (error(), Some(json!("new")), None, ToolOutput::Error(ToolError::failed("new"))),
        ] {
            let outcome = CallOutcome::Executed;
            let mut record = ToolRecord {
                call: call.clone(),
                input: json!({}),
                outcome,
                output: now,
                duration_ms: 0.0,
                terminate: true,
                details: Some(json!(7)),
            };
            record.apply(&ToolOverride { output: value, is_error, ..Default::default() });
            assert_eq!((&record.output, record.terminate, &record.details), (&then, true, &Some(json!(7))));
            record.apply(&ToolOverride {
                details: Some(json!(8)),
                terminate: Some(false),
                ..Default::default()
            });
            assert_eq!((record.output, record.terminate, record.details), (then, false, Some(json!(8))));
        }
    }
}
