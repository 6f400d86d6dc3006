//! Messages as clients of Think know them.

use serde_json::json;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_parts_say_their_tools_name() {
        let part = json!({"type": "tool-add", "toolCallId": "c", "state": "input-available", "input": {}});
        let stored: UiMessage =
            serde_json::from_value(json!({"id": "m", "role": "assistant", "parts": [part]})).unwrap();
        assert_eq!(message(&stored)["parts"][0]["toolName"], "add");
        assert_eq!(message(&UiMessage::user("u", "hi")), json!(UiMessage::user("u", "hi")));
    }
}
