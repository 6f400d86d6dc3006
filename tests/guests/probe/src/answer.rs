//! From an answer in Think's form to the contract's. What has the wrong type, or no place in the contract, is left out;
//! an explicit null puts a field back to the default.

use lathe_guest::{StepConfig, ToolChoice, ToolDecision, ToolOverride, TurnConfig};
use serde_json::Value;

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn small(value: &Value) -> Option<u32> {
    value.as_u64()?.try_into().ok()
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(text).collect()
}

fn of_kind(value: &Value, fits: impl FnOnce(&Value) -> bool) -> Option<Value> {
    fits(value).then(|| value.clone())
}

fn choice(value: &Value) -> Option<ToolChoice> {
    match value.as_str().or(value["type"].as_str())? {
        "auto" => Some(ToolChoice::Auto),
        "none" => Some(ToolChoice::None),
        "required" => Some(ToolChoice::Required),
        "tool" => text(&value["toolName"]).map(ToolChoice::Tool),
        _ => None,
    }
}

pub(crate) fn turn_config(answer: &Value) -> Option<TurnConfig> {
    let fields = answer.as_object()?;
    let headers = answer["headers"].as_object().into_iter().flatten();
    Some(TurnConfig {
        system: text(&answer["system"]),
        messages: of_kind(&answer["messages"], Value::is_array),
        active_tools: texts(&answer["activeTools"]),
        tool_choice: choice(&answer["toolChoice"]),
        max_steps: small(&answer["maxSteps"]),
        send_reasoning: answer["sendReasoning"].as_bool(),
        max_output_tokens: small(&answer["maxOutputTokens"]),
        temperature: answer["temperature"].as_f64(),
        top_p: answer["topP"].as_f64(),
        top_k: small(&answer["topK"]),
        presence_penalty: answer["presencePenalty"].as_f64(),
        frequency_penalty: answer["frequencyPenalty"].as_f64(),
        stop_sequences: texts(&answer["stopSequences"]),
        seed: answer["seed"].as_i64(),
        max_retries: small(&answer["maxRetries"]),
        timeout_ms: answer["timeout"].as_u64().or(answer["timeout"]["totalMs"].as_u64()),
        headers: headers.filter_map(|(name, value)| Some((name.clone(), text(value)?))).collect(),
        provider_options: of_kind(&answer["providerOptions"], Value::is_object),
        model: text(&answer["model"]),
        reset: fields
            .iter()
            .filter(|(_, value)| value.is_null())
            .map(|(name, _)| if name == "timeout" { "timeoutMs".into() } else { name.clone() })
            .collect(),
    })
}

pub(crate) fn step_config(answer: &Value) -> Option<StepConfig> {
    answer.as_object()?;
    Some(StepConfig {
        system: text(&answer["system"]),
        messages: of_kind(&answer["messages"], Value::is_array),
        active_tools: texts(&answer["activeTools"]),
        tool_choice: choice(&answer["toolChoice"]),
        model: text(&answer["model"]),
    })
}

pub(crate) fn decision(answer: &Value) -> Option<ToolDecision> {
    match answer["action"].as_str()? {
        "allow" => Some(ToolDecision::Allow(answer.get("input").cloned())),
        "block" => Some(ToolDecision::Block(text(&answer["reason"]))),
        "substitute" => Some(ToolDecision::Substitute(answer["output"].clone())),
        _ => None,
    }
}

pub(crate) fn change(answer: &Value) -> Option<ToolOverride> {
    answer.as_object()?;
    Some(ToolOverride {
        output: answer.get("output").cloned(),
        is_error: answer["isError"].as_bool(),
        terminate: answer["terminate"].as_bool(),
    })
}
