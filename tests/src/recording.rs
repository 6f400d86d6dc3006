//! What the formats of the recorded cases share.

use std::time::Duration;

use lathe::agent::Concurrency;
use lathe::turn::ToolDefinition;
use serde_json::{Map, Value, json};

/// The schema that a tool of a case stands for.
pub fn schema(tool: &Value) -> Value {
    let or = |key: &str, default: Value| tool.get(key).cloned().unwrap_or(default);
    json!({"type": "object", "properties": or("parameters", json!({})), "required": or("required", json!([]))})
}

/// How a tool of a case is offered.
///
/// # Errors
///
/// If the case says nothing that makes sense.
pub fn definition(name: &str, tool: &Value) -> serde_json::Result<ToolDefinition> {
    serde_json::from_value(json!({
        "name": name,
        "description": tool["description"].as_str().unwrap_or(name),
        "inputSchema": schema(tool),
        "client": tool["client"] == true,
        "needsApproval": tool["needsApproval"] == true,
    }))
}

/// An entry of a case's model in the words of the scripted model.
pub fn entry(entry: &Value) -> Value {
    let mut entry = entry.clone();
    let number = |key: &str, default: u64| entry["usage"][key].as_u64().unwrap_or(default);
    let (input, output) = (number("input", 10), number("output", 5));
    entry["usage"] = json!({
        "inputTokens": input,
        "outputTokens": output,
        "totalTokens": input + output,
        "reasoningTokens": number("reasoning", 0),
        "cachedInputTokens": number("cached", 0),
    });
    // An empty list is a part without deltas; without the key there is no part.
    for key in ["text", "reasoning"] {
        if entry[key].as_array().is_some_and(Vec::is_empty) {
            entry[key] = json!([{"holdMs": 0}]);
        }
    }
    if let Value::Object(fields) = &mut entry {
        fields.retain(|_, field| !field.is_null());
    }
    entry
}

/// The given fields, as far as they are there.
pub fn pick(from: &Value, keys: &[&str]) -> Map<String, Value> {
    keys.iter().filter_map(|key| Some(((*key).to_owned(), from.get(*key)?.clone()))).collect()
}

/// A message of a request, with what the recorder looked at.
pub fn pick_content(message: &Value) -> Value {
    let content = message["content"].as_array().into_iter().flatten();
    let parts = content.map(|part| {
        Value::Object(match part["type"].as_str() {
            Some("text" | "reasoning") => pick(part, &["type", "text"]),
            Some("tool-call") => pick(part, &["type", "toolCallId", "toolName", "input"]),
            Some("tool-result") => pick(part, &["type", "toolCallId", "toolName", "output"]),
            _ => pick(part, &["type"]),
        })
    });
    json!({"role": message["role"], "content": parts.collect::<Vec<_>>()})
}

/// What a case says of messages that overlap.
///
/// # Errors
///
/// If there is no such policy.
pub fn concurrency(said: &Value) -> anyhow::Result<Concurrency> {
    let strategy = said["strategy"].as_str().or(said.as_str());
    Ok(match strategy {
        None | Some("queue") => Concurrency::Queue,
        Some("latest") => Concurrency::Latest,
        Some("merge") => Concurrency::Merge,
        Some("drop") => Concurrency::Drop,
        Some("debounce") => {
            let pause = said["debounceMs"].as_u64().map(Duration::from_millis);
            Concurrency::Debounce(pause.unwrap_or(Concurrency::DEBOUNCE))
        }
        Some(other) => anyhow::bail!("there is no concurrency {other}"),
    })
}
