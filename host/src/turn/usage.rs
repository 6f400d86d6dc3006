use serde::{Deserialize, Serialize};

/// Tokens of one model request or of several, where the provider tells them.
///
/// `input_tokens` includes cached ones and `output_tokens` reasoning ones, as in the AI SDK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Tokens read, cached ones included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens written, reasoning included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// As the provider counts; else the sum of the two above.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// The part of the output that was reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// The part of the input that came from the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
}

impl Usage {
    /// The sum, field by field; a field that only one side tells keeps that value.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        fn add(a: Option<u64>, b: Option<u64>) -> Option<u64> {
            match (a, b) {
                (Some(a), Some(b)) => Some(a.saturating_add(b)),
                (a, b) => a.or(b),
            }
        }
        Self {
            input_tokens: add(self.input_tokens, other.input_tokens),
            output_tokens: add(self.output_tokens, other.output_tokens),
            total_tokens: add(self.total_tokens, other.total_tokens),
            reasoning_tokens: add(self.reasoning_tokens, other.reasoning_tokens),
            cached_input_tokens: add(self.cached_input_tokens, other.cached_input_tokens),
        }
    }
}

/// Why a model stopped (AI SDK `FinishReason`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FinishReason {
    /// It said all it wanted.
    Stop,
    /// The output limit was reached; tool calls of such an answer may be cut off and are not run.
    Length,
    /// The provider's filter stepped in.
    ContentFilter,
    /// It waits for tool results.
    ToolCalls,
    /// It failed.
    Error,
    /// Something else, or nothing was said.
    #[default]
    Other,
}
