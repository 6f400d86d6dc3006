use serde_json::Value;

use crate::turn::{ToolPart, ToolState, UiMessage, UiPart};

/// Counts the tokens of messages, in place of [`estimate_tokens`].
pub type TokenCounter = dyn Fn(&[UiMessage]) -> u64 + Send + Sync;

/// What a message costs beside what it says: its role and the marks around it.
const PER_MESSAGE: u64 = 4;

/// About how many tokens a model reads of messages: of each text the larger of a quarter of its characters and 1.3 times
/// its words, and 4 for each message (`think.md` §5). What is too long ago to be shown whole counts whole.
#[must_use]
pub fn estimate_tokens(messages: &[UiMessage]) -> u64 {
    messages.iter().map(message).sum()
}

/// The same of one text.
#[must_use]
pub fn estimate_text(text: &str) -> u64 {
    let characters = (text.chars().count() as u64).div_ceil(4);
    let words = (text.split_whitespace().count() as u64).saturating_mul(13).div_ceil(10);
    characters.max(words)
}

fn message(message: &UiMessage) -> u64 {
    PER_MESSAGE + message.parts.iter().map(part).sum::<u64>()
}

fn part(part: &UiPart) -> u64 {
    match part {
        UiPart::Text { text, .. } | UiPart::Reasoning { text, .. } => estimate_text(text),
        UiPart::Tool(tool) => call(tool),
        // Files and the host's own data: no model reads them as text.
        UiPart::StepStart | UiPart::Other(_) => 0,
    }
}

fn call(tool: &ToolPart) -> u64 {
    let result = match &tool.state {
        ToolState::OutputAvailable(output) => json(output),
        ToolState::OutputError(text) => estimate_text(text),
        _ => 0,
    };
    estimate_text(&tool.tool_name) + json(&tool.input) + result
}

fn json(value: &Value) -> u64 {
    match value {
        Value::String(text) => estimate_text(text),
        other => estimate_text(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_larger_of_characters_and_words_counts() {
        assert_eq!(estimate_text(""), 0);
        assert_eq!(estimate_text("abcdefgh"), 2);
        assert_eq!(estimate_text("a b c d e f g h i j"), 13);
        assert_eq!(estimate_text(&"ä".repeat(40)), 10, "characters, not bytes");
        assert_eq!(estimate_tokens(&[UiMessage::user("1", "abcdefgh"), UiMessage::user("2", "")]), 10);
    }

    #[test]
    fn calls_count_with_their_results() {
        let message: UiMessage = serde_json::from_value(json!({"id": "m", "role": "assistant", "parts": [
            {"type": "step-start"},
            {"type": "tool-find", "toolCallId": "c", "state": "output-available", "input": {}, "output": "x".repeat(400)},
        ]}))
        .unwrap();
        assert_eq!(estimate_tokens(&[message]), 4 + 2 + 2 + 100);
    }
}
