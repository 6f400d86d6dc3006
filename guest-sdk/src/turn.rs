//! Before a turn: what it starts with, and what an extension may change of it.

use serde_json::Value;

use crate::bindings::exports::lathe::extension::hooks;
use crate::error::{Error, Result};
use crate::json;

pub use crate::bindings::exports::lathe::extension::hooks::Trigger;
pub use crate::bindings::lathe::extension::types::ToolChoice;

/// A turn that is about to start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnSnapshot {
    /// The system text as it stands now: the built-in hooks and the extensions before this one have spoken.
    pub system: String,
    /// The tools on offer, or the active ones once somebody chose.
    pub tool_names: Vec<String>,
    /// How many messages the model is going to see.
    pub message_count: u32,
    /// The most steps that the turn may take, as it stands now.
    pub max_steps: u32,
    /// True if the turn goes on without a new user message.
    pub continuation: bool,
    /// Custom fields of the client's request, an object.
    pub body: Option<Value>,
    /// The model of the turn.
    pub model_id: String,
    /// The host's id of the turn.
    pub request_id: String,
    /// What made the turn start.
    pub trigger: Trigger,
}

impl TryFrom<hooks::TurnSnapshot> for TurnSnapshot {
    type Error = Error;

    fn try_from(turn: hooks::TurnSnapshot) -> Result<Self> {
        Ok(Self {
            system: turn.system,
            tool_names: turn.tool_names,
            message_count: turn.message_count,
            max_steps: turn.max_steps,
            continuation: turn.continuation,
            body: json::parse_optional("body", turn.body.as_deref())?,
            model_id: turn.model_id,
            request_id: turn.request_id,
            trigger: turn.trigger,
        })
    }
}

/// What to change of a turn.
///
/// Every field is optional, the last extension to set one wins. A value out of range is dropped and reported; the
/// others count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnConfig {
    /// The whole system text.
    pub system: Option<String>,
    /// The whole conversation as the model should see it: an array of model messages (`role`, `content`).
    pub messages: Option<Value>,
    /// The only tools on offer in this turn.
    pub active_tools: Option<Vec<String>>,
    /// How the model may use tools.
    pub tool_choice: Option<ToolChoice>,
    /// At least 1.
    pub max_steps: Option<u32>,
    /// Whether clients see the model's reasoning.
    pub send_reasoning: Option<bool>,
    /// Per model request.
    pub max_output_tokens: Option<u32>,
    /// 0 or more.
    pub temperature: Option<f64>,
    /// 0 to 1.
    pub top_p: Option<f64>,
    /// The model picks among so many tokens.
    pub top_k: Option<u32>,
    /// Against words that were there already.
    pub presence_penalty: Option<f64>,
    /// Against words that were there often.
    pub frequency_penalty: Option<f64>,
    /// Texts at which the model stops.
    pub stop_sequences: Option<Vec<String>>,
    /// For models that can repeat themselves.
    pub seed: Option<i64>,
    /// New attempts after a request that failed for a passing reason.
    pub max_retries: Option<u32>,
    /// For the whole turn, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Added to the request; a name that is there already gets the new value.
    pub headers: Vec<(String, String)>,
    /// An object of objects by provider; a later one replaces a provider's object whole.
    pub provider_options: Option<Value>,
    /// `provider:name`. Counts with the permission `model`.
    pub model: Option<String>,
    /// Fields to put back to the host's default, whoever set them, in camelCase: `system`, `maxSteps`, …
    pub reset: Vec<String>,
}

impl From<TurnConfig> for hooks::TurnConfig {
    fn from(config: TurnConfig) -> Self {
        Self {
            system: config.system,
            messages: json::text(config.messages),
            active_tools: config.active_tools,
            tool_choice: config.tool_choice,
            max_steps: config.max_steps,
            send_reasoning: config.send_reasoning,
            max_output_tokens: config.max_output_tokens,
            temperature: config.temperature,
            top_p: config.top_p,
            top_k: config.top_k,
            presence_penalty: config.presence_penalty,
            frequency_penalty: config.frequency_penalty,
            stop_sequences: config.stop_sequences,
            seed: config.seed,
            max_retries: config.max_retries,
            timeout_ms: config.timeout_ms,
            headers: config.headers,
            provider_options: json::text(config.provider_options),
            model: config.model,
            reset: config.reset,
        }
    }
}
