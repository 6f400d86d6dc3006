//! From the contract's snapshots to Think's field names, and what the contract has beyond them. What Think leaves
//! undefined is left out.

use lathe_guest::bindings::exports::lathe::extension::hooks;
use lathe_guest::bindings::lathe::extension::types::{FinishReason, Usage};
use serde_json::{Map, Value, json};

/// JSON text of the host; as it stands where it is none.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn compact(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, field| !field.is_null());
    }
    value
}

/// A word of the contract (`ToolCalls`) in the cases' spelling (`tool-calls`).
fn word(word: impl std::fmt::Debug) -> String {
    let mut spelt = String::new();
    for letter in format!("{word:?}").rsplit("::").next().unwrap_or_default().chars() {
        if letter.is_ascii_uppercase() && !spelt.is_empty() {
            spelt.push('-');
        }
        spelt.push(letter.to_ascii_lowercase());
    }
    spelt
}

fn usage(usage: Usage) -> Value {
    compact(json!({
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "totalTokens": usage.total_tokens,
        "reasoningTokens": usage.reasoning_tokens,
        "cachedInputTokens": usage.cached_input_tokens,
    }))
}

pub(crate) fn turn(turn: &hooks::TurnSnapshot) -> Value {
    compact(json!({
        "system": turn.system,
        "toolNames": turn.tool_names,
        "messageCount": turn.message_count,
        "maxSteps": turn.max_steps,
        "continuation": turn.continuation,
        "body": turn.body.as_deref().map(parsed),
        "modelId": turn.model_id,
        "requestId": turn.request_id,
    }))
}

pub(crate) fn step(step: &hooks::StepSnapshot) -> Value {
    json!({
        "requestId": step.request_id,
        "stepNumber": step.step_number,
        "system": step.system,
        "toolNames": step.tool_names,
        "messageCount": step.message_count,
        "modelId": step.model_id,
        "totalUsage": usage(step.total_usage),
    })
}

pub(crate) fn call(call: &hooks::ToolCallSnapshot) -> Value {
    compact(json!({
        "toolName": call.tool_name,
        "toolCallId": call.tool_call_id,
        "input": parsed(&call.input),
        "stepNumber": call.step_number,
        "dynamic": call.dynamic.then_some(true),
    }))
}

pub(crate) fn result(call: hooks::ToolResultSnapshot) -> Value {
    let mut fields = Map::new();
    let mut add = |name: &str, value: Value| fields.insert(name.into(), value);
    add("toolName", call.tool_name.into());
    add("toolCallId", call.tool_call_id.into());
    add("input", parsed(&call.input));
    add("stepNumber", call.step_number.into());
    add("durationMs", call.duration_ms.into());
    add("outcome", word(call.outcome).into());
    add("success", call.result.is_ok().into());
    match call.result {
        Ok(output) => add("output", parsed(&output)),
        Err(error) => add("error", json!({"name": error.name, "message": error.message})),
    };
    if call.dynamic {
        add("dynamic", true.into());
    }
    fields.into()
}

pub(crate) fn step_finish(step: hooks::StepFinishSnapshot) -> Value {
    let reasoning = (!step.reasoning_text.is_empty()).then_some(step.reasoning_text);
    compact(json!({
        "stepNumber": step.step_number,
        "finishReason": finish(step.finish_reason),
        "text": step.text,
        "reasoningText": reasoning,
        "toolCallCount": step.tool_call_count,
        "toolResultCount": step.tool_result_count,
        "usage": usage(step.usage),
        "providerMetadata": step.provider_metadata.as_deref().map(parsed),
    }))
}

fn finish(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "stop",
        FinishReason::Length => "length",
        FinishReason::ContentFilter => "content-filter",
        FinishReason::ToolCalls => "tool-calls",
        FinishReason::Error => "error",
        FinishReason::Other => "other",
    }
}

pub(crate) fn chunk(chunk: &hooks::Chunk) -> Value {
    compact(json!({
        "type": word(chunk.type_),
        "text": chunk.text,
        "toolName": chunk.tool_name,
        "toolCallId": chunk.tool_call_id,
    }))
}

pub(crate) fn response(response: &hooks::ChatResponseSnapshot) -> Value {
    compact(json!({
        "requestId": response.request_id,
        "continuation": response.continuation,
        "status": word(response.status),
        "error": response.error,
        "text": response.text,
        "stepCount": response.step_count,
        "totalUsage": usage(response.total_usage),
    }))
}

pub(crate) fn error(error: &hooks::ChatErrorSnapshot) -> Value {
    compact(json!({
        "requestId": error.request_id,
        "stage": word(error.stage),
        "message": error.message,
        "classification": error.classification.map(word),
        "messagesPersisted": error.messages_persisted,
    }))
}
