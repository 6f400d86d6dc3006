use serde::{Deserialize, Serialize};

use super::Json;

/// A hook's answer before a tool runs (`think.md` §2.3). No answer means no opinion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum ToolDecision {
    /// Run it.
    Allow {
        /// With this input in place of the model's; it must fit the tool's schema.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Json>,
    },
    /// Do not run it; the model reads the reason as the tool's output.
    Block {
        /// A fixed text naming the tool if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Do not run it; the model reads this as the tool's output.
    Substitute {
        /// Any JSON value.
        output: Json,
    },
}

impl ToolDecision {
    /// Run it as it is.
    pub const ALLOW: Self = Self::Allow { input: None };
}

/// A hook's change to a tool result, field by field; an absent field keeps what is there (`or-agent.md` §1.2).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolOverride {
    /// The output, or the error's text, replaced whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// Whether the model reads it as an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// End the turn after this step, if every call of the step says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminate: Option<bool>,
    /// What hooks and clients are told beyond the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Json>,
}

impl ToolOverride {
    /// An error in place of what is there.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self { output: Some(Json::String(text.into())), is_error: Some(true), ..Self::default() }
    }

    /// Takes over what `from` sets.
    pub fn merge(&mut self, from: Self) {
        let Self { output, is_error, terminate, details } = from;
        self.output = output.or(self.output.take());
        self.is_error = is_error.or(self.is_error);
        self.terminate = terminate.or(self.terminate);
        self.details = details.or(self.details.take());
    }
}
