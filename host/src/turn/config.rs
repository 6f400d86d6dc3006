use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Json, JsonObject, ModelMessage, StopCondition, ToolChoice};

/// What a `before_turn` hook may change (`think.md` §1.5). Every field is optional; absent leaves it as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TurnConfig {
    /// `provider:name` of another model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The system prompt; wins over `system`. Not for extensions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// The system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The conversation as the model should see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<ModelMessage>>,
    /// Tools to offer beside the agent's, by name, out of those that it holds in reserve. Not for extensions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// The only tools on offer. Names that do not exist are passed over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_tools: Option<Vec<String>>,
    /// How the model may use tools; default `auto`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// The most steps; at least 1. Default: the agent's, 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// Conditions that end the turn after a step; one is enough. Not for extensions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_when: Option<Vec<StopCondition>>,
    /// Whether clients are sent reasoning; default true. What they are not sent is not stored either.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_reasoning: Option<bool>,
    /// New attempts after a request that failed for a passing reason; default 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retries: Option<u32>,
    /// For the whole turn, in milliseconds; default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The longest time between two parts of the stream, in milliseconds, time in tools included; 0 for no limit.
    /// Default: the agent's, none. Not for extensions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat_stream_stall_timeout_ms: Option<u64>,
    /// What stands in the turn's trace. Not for extensions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<Telemetry>,
    /// What goes to the model unchanged.
    #[serde(flatten)]
    pub settings: CallSettings,
}

/// What a turn's trace says beyond the defaults (AI SDK `TelemetrySettings`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Telemetry {
    /// A name for what the turn is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function_id: Option<String>,
    /// More about it.
    #[serde(skip_serializing_if = "JsonObject::is_empty")]
    pub metadata: JsonObject,
}

/// Settings of a model request that the host passes on unchanged. What a provider does not know is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CallSettings {
    /// The most tokens to write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    /// 0 and up; the provider's default when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Only the k most likely tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// Usually -2 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// Usually -2 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// Texts that end the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    /// For providers that sample reproducibly.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// `low`, `medium`, `high` or what the provider knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// A JSON Schema that the answer's text must follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// Extra HTTP headers. Merged: a name that is there already gets the new value.
    #[serde(skip_serializing_if = "JsonObject::is_empty")]
    pub headers: JsonObject,
    /// Options by provider. Merged by provider: a later object for one replaces the earlier whole.
    #[serde(skip_serializing_if = "JsonObject::is_empty")]
    pub provider_options: JsonObject,
}

/// What a `before_step` hook may change, for that step alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StepConfig {
    /// `provider:name` of another model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The conversation as the model should see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<ModelMessage>>,
    /// The only tools on offer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_tools: Option<Vec<String>>,
    /// How the model may use tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
}

impl StepConfig {
    /// Takes over what `from` sets.
    pub fn merge(&mut self, from: Self) {
        let Self { model, system, messages, active_tools, tool_choice } = from;
        self.model = model.or(self.model.take());
        self.system = system.or(self.system.take());
        self.messages = messages.or(self.messages.take());
        self.active_tools = active_tools.or(self.active_tools.take());
        self.tool_choice = tool_choice.or(self.tool_choice.take());
    }
}

/// What a `prepare_next_step` hook may change, for the rest of the turn (`or-agent.md` §1.2, `TurnUpdate`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StepUpdate {
    /// `provider:name` of another model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How hard the model should think: `low`, `medium`, `high` or what the provider knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// Another system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The conversation as the model should see it from now on, what was said in this turn included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<ModelMessage>>,
}

impl StepUpdate {
    /// Takes over what `from` sets.
    pub fn merge(&mut self, from: Self) {
        let Self { model, reasoning_effort, system, messages } = from;
        self.model = model.or(self.model.take());
        self.reasoning_effort = reasoning_effort.or(self.reasoning_effort.take());
        self.system = system.or(self.system.take());
        self.messages = messages.or(self.messages.take());
    }
}

/// Who set each field of a turn's config last.
pub type Provenance = BTreeMap<ConfigField, String>;

/// A field of the turn's config that somebody set or put back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigChange {
    /// Which.
    pub field: ConfigField,
    /// Its value now; null if it was put back to the default.
    pub value: Json,
}

/// Lists the fields of [`TurnConfig`] once, for all that goes over them.
macro_rules! config_fields {
    ($($(#[$doc:meta])* $variant:ident = $($path:ident).+),+ $(,)?) => {
        /// A field of [`TurnConfig`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        #[allow(missing_docs, reason = "named as the fields that they stand for")]
        pub enum ConfigField { $($variant,)+ Headers, ProviderOptions }

        impl TurnConfig {
            /// Takes over what `from` sets: the last write wins, field by field; headers are merged by name,
            /// provider options by provider.
            pub fn merge(&mut self, from: Self) -> Vec<ConfigField> {
                let mut changed = Vec::new();
                $(if from.$($path).+.is_some() {
                    self.$($path).+ = from.$($path).+;
                    changed.push(ConfigField::$variant);
                })+
                if !from.settings.headers.is_empty() {
                    self.settings.headers.extend(from.settings.headers);
                    changed.push(ConfigField::Headers);
                }
                if !from.settings.provider_options.is_empty() {
                    self.settings.provider_options.extend(from.settings.provider_options);
                    changed.push(ConfigField::ProviderOptions);
                }
                changed
            }

            /// Puts a field back to the default.
            pub fn reset(&mut self, field: ConfigField) {
                match field {
                    $(ConfigField::$variant => self.$($path).+ = None,)+
                    ConfigField::Headers => self.settings.headers.clear(),
                    ConfigField::ProviderOptions => self.settings.provider_options.clear(),
                }
            }

            /// A field's value, null if it is not set.
            #[must_use]
            pub fn get(&self, field: ConfigField) -> Json {
                let value = match field {
                    $(ConfigField::$variant => serde_json::to_value(&self.$($path).+),)+
                    ConfigField::Headers => serde_json::to_value(&self.settings.headers),
                    ConfigField::ProviderOptions => serde_json::to_value(&self.settings.provider_options),
                };
                value.unwrap_or_default()
            }
        }
    };
}

config_fields! {
    Model = model,
    Instructions = instructions,
    System = system,
    Messages = messages,
    Tools = tools,
    ActiveTools = active_tools,
    ToolChoice = tool_choice,
    MaxSteps = max_steps,
    StopWhen = stop_when,
    SendReasoning = send_reasoning,
    MaxRetries = max_retries,
    TimeoutMs = timeout_ms,
    ChatStreamStallTimeoutMs = chat_stream_stall_timeout_ms,
    Telemetry = telemetry,
    MaxOutputTokens = settings.max_output_tokens,
    Temperature = settings.temperature,
    TopP = settings.top_p,
    TopK = settings.top_k,
    PresencePenalty = settings.presence_penalty,
    FrequencyPenalty = settings.frequency_penalty,
    StopSequences = settings.stop_sequences,
    Seed = settings.seed,
    ReasoningEffort = settings.reasoning_effort,
    Output = settings.output,
}

impl ConfigField {
    /// The field of that camelCase name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        serde_json::from_value(Json::from(name)).ok()
    }
}

impl TurnConfig {
    /// Drops what is out of range and says which fields these were and why; the others stay.
    pub fn drop_invalid(&mut self) -> Vec<(ConfigField, &'static str)> {
        let mut dropped = Vec::new();
        let mut check = |field, bad: bool, reason| {
            if bad {
                dropped.push((field, reason));
            }
        };
        let not_finite = |value: Option<f64>| value.is_some_and(|value| !value.is_finite());
        let settings = &self.settings;
        check(ConfigField::MaxSteps, self.max_steps == Some(0), "must be at least 1");
        check(ConfigField::MaxOutputTokens, settings.max_output_tokens == Some(0), "must be at least 1");
        check(
            ConfigField::Temperature,
            settings.temperature.is_some_and(|value| !value.is_finite() || value < 0.0),
            "must be a number of at least 0",
        );
        check(
            ConfigField::TopP,
            settings.top_p.is_some_and(|value| !(0.0..=1.0).contains(&value)),
            "must be a number from 0 to 1",
        );
        check(ConfigField::PresencePenalty, not_finite(settings.presence_penalty), "must be a finite number");
        check(
            ConfigField::FrequencyPenalty,
            not_finite(settings.frequency_penalty),
            "must be a finite number",
        );
        check(
            ConfigField::Messages,
            self.messages.as_ref().is_some_and(Vec::is_empty),
            "must hold at least one message",
        );
        for (field, _) in &dropped {
            self.reset(*field);
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config(value: Json) -> TurnConfig {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn the_last_write_wins_and_maps_are_merged_one_level_deep() {
        let mut merged = config(json!({"temperature": 0.1, "topK": 3, "headers": {"x-a": "1", "x-b": "1"},
            "providerOptions": {"x": {"a": 1}, "y": {"b": 1}}}));
        let changed = merged
            .merge(config(json!({"temperature": 0.9, "system": "S", "headers": {"x-b": "2"},
            "providerOptions": {"x": {"c": 1}}})));
        assert_eq!(
            changed,
            [
                ConfigField::System,
                ConfigField::Temperature,
                ConfigField::Headers,
                ConfigField::ProviderOptions
            ]
        );
        assert_eq!(
            serde_json::to_value(&merged).unwrap(),
            json!({"system": "S", "temperature": 0.9, "topK": 3, "headers": {"x-a": "1", "x-b": "2"},
                "providerOptions": {"x": {"c": 1}, "y": {"b": 1}}})
        );
    }

    #[test]
    fn a_reset_field_is_as_if_never_set() {
        let mut merged = config(json!({"system": "S", "headers": {"x": "1"}}));
        for name in ["system", "headers"] {
            merged.reset(ConfigField::from_name(name).unwrap());
        }
        assert_eq!(merged, TurnConfig::default());
        assert_eq!(ConfigField::from_name("colour"), None);
    }

    #[test]
    fn values_out_of_range_are_dropped_and_the_good_ones_stay() {
        let mut config = TurnConfig {
            max_steps: Some(0),
            settings: CallSettings {
                temperature: Some(f64::NAN),
                top_p: Some(1.5),
                top_k: Some(4),
                presence_penalty: Some(f64::INFINITY),
                ..Default::default()
            },
            ..Default::default()
        };
        let dropped: Vec<ConfigField> = config.drop_invalid().into_iter().map(|(field, _)| field).collect();
        assert_eq!(
            dropped,
            [
                ConfigField::MaxSteps,
                ConfigField::Temperature,
                ConfigField::TopP,
                ConfigField::PresencePenalty
            ]
        );
        assert_eq!(serde_json::to_value(&config).unwrap(), json!({"topK": 4}));
    }
}
