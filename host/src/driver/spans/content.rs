//! What was said, as the conventions write it: messages with parts.

use serde_json::json;

use crate::turn::{Answer, Json, ModelMessage};

pub(super) fn system(text: &str) -> Json {
    json!([{"type": "text", "content": text}])
}

pub(super) fn messages(messages: &[ModelMessage]) -> Json {
    messages
        .iter()
        .map(|message| json!({"role": message.role, "parts": parts(&json!(message.content))}))
        .collect()
}

pub(super) fn answer(answer: &Answer) -> Json {
    let parts = parts(&json!(answer.parts));
    json!([{"role": "assistant", "parts": parts, "finish_reason": answer.finish_reason}])
}

fn parts(parts: &Json) -> Json {
    parts.as_array().into_iter().flatten().map(part).collect()
}

/// A part whose kind the conventions do not know stays as it is.
fn part(part: &Json) -> Json {
    match part["type"].as_str() {
        Some(kind @ ("text" | "reasoning")) => json!({"type": kind, "content": part["text"]}),
        Some("tool-call") => json!({
            "type": "tool_call",
            "id": part["toolCallId"],
            "name": part["toolName"],
            "arguments": part["input"],
        }),
        Some("tool-result") => {
            json!({"type": "tool_call_response", "id": part["toolCallId"], "response": part["output"]})
        }
        _ => part.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::Role;

    #[test]
    fn messages_have_parts_with_contents() {
        let said = messages(&[ModelMessage::text(Role::User, "hi")]);
        assert_eq!(said, json!([{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]));
        let call = json!({"type": "tool-call", "toolCallId": "c", "toolName": "add", "input": {"a": 1}});
        let expected = json!({"type": "tool_call", "id": "c", "name": "add", "arguments": {"a": 1}});
        assert_eq!(part(&call), expected);
        let other = json!({"type": "file", "url": "data:,"});
        assert_eq!(part(&other), other);
    }
}
