//! Messages as clients of Think know them.

use serde_json::json;

use super::limits::PARTS;
use crate::turn::{Json, UiMessage};

/// A message; its tool parts say their tool's name, too.
pub(super) fn message(message: &UiMessage) -> Json {
    let mut value = json!(message);
    for part in value["parts"].as_array_mut().into_iter().flatten().filter_map(Json::as_object_mut) {
        let name = part.get("type").and_then(Json::as_str).and_then(|kind| kind.strip_prefix("tool-"));
        if let Some(name) = name.map(str::to_owned) {
            part.insert("toolName".into(), name.into());
        }
    }
    value
}

/// A transcript.
pub(super) fn messages(messages: &[UiMessage]) -> Json {
    messages.iter().map(message).collect()
}

/// Refuses a request with more in it than any conversation has.
pub(super) fn checked(messages: Vec<UiMessage>) -> Result<Vec<UiMessage>, String> {
    let parts: usize = messages.iter().map(|message| message.parts.len().max(1)).sum();
    if parts > PARTS {
        return Err(format!("the request has {parts} parts of messages; it may have {PARTS}"));
    }
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_so_many_parts_and_no_more() {
        let empty = UiMessage { parts: Vec::new(), ..UiMessage::user("u", "") };
        let mut many = vec![empty; PARTS - 2];
        let mut twice = UiMessage::user("v", "a");
        twice.parts.extend(twice.parts.clone());
        many.push(twice);
        assert_eq!(checked(many.clone()).map(|messages| messages.len()), Ok(PARTS - 1));
        many.push(UiMessage::user("w", "one more"));
        assert!(checked(many).unwrap_err().contains("10001 parts"));
    }

    #[test]
    fn tool_parts_say_their_tools_name() {
        let part = json!({"type": "tool-add", "toolCallId": "c", "state": "input-available", "input": {}});
        let stored: UiMessage =
            serde_json::from_value(json!({"id": "m", "role": "assistant", "parts": [part]})).unwrap();
        assert_eq!(message(&stored)["parts"][0]["toolName"], "add");
        assert_eq!(message(&UiMessage::user("u", "hi")), json!(UiMessage::user("u", "hi")));
    }
}
