//! Keeping a long conversation short: what was said long ago is shown to the model in part (`think.md` §1.4).

use super::{Json, ToolState, UiMessage, UiPart};

/// The last messages stay as they are.
const INTACT: usize = 4;

/// Characters that are left of a tool's output in an older message.
const OUTPUT: usize = 500;

/// Characters that are left of a text in an older message.
const TEXT: usize = 10_000;

/// Cuts long texts and tool outputs in all but the last messages. What is stored stays whole.
pub fn truncate_older(messages: &mut [UiMessage]) {
    let older = messages.len().saturating_sub(INTACT);
    for part in messages.iter_mut().take(older).flat_map(|message| &mut message.parts) {
        match part {
            UiPart::Text { text, .. } => cut(text, TEXT),
            UiPart::Tool(tool) => match &mut tool.state {
                ToolState::OutputAvailable(output) => cut_value(output),
                ToolState::OutputError(text) => cut(text, OUTPUT),
                _ => {}
            },
            _ => {}
        }
    }
}

fn cut_value(output: &mut Json) {
    if let Json::String(text) = output {
        return cut(text, OUTPUT);
    }
    let text = output.to_string();
    if text.chars().nth(OUTPUT).is_some() {
        *output = Json::String(text);
        cut_value(output);
    }
}

fn cut(text: &mut String, most: usize) {
    if let Some((end, _)) = text.char_indices().nth(most) {
        let left_out = text[end..].chars().count();
        text.truncate(end);
        text.push_str(&format!("… [{left_out} characters left out]"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(output: &Json, text: &str) -> UiMessage {
        serde_json::from_value(json!({"id": "m", "role": "assistant", "parts": [
            {"type": "tool-t", "toolCallId": "c", "state": "output-available", "input": {}, "output": output},
            {"type": "text", "text": text},
        ]}))
        .unwrap()
    }

    #[test]
    fn only_older_and_longer_ones_are_cut() {
        let long = "ä".repeat(10_001);
        let mut messages = vec![message(&json!({"list": "x".repeat(600)}), &long); 5];
        messages.push(message(&json!({"a": 1}), "short"));
        let before = messages.clone();
        truncate_older(&mut messages);
        assert_eq!(messages[2..], before[2..]);
        let tools: Vec<_> = messages[0].tools().map(|tool| tool.state.clone()).collect();
        let ToolState::OutputAvailable(Json::String(output)) = &tools[0] else { panic!("{tools:?}") };
        assert!(
            output.starts_with("{\"list\":\"xxx") && output.ends_with("[111 characters left out]"),
            "{output}"
        );
        assert!(messages[1].text().ends_with("ä… [1 characters left out]"));
        let mut short = vec![message(&json!({"a": 1}), "short"); 6];
        truncate_older(&mut short);
        assert_eq!(short, vec![message(&json!({"a": 1}), "short"); 6]);
    }
}
