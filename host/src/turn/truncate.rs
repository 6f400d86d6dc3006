//! Keeping a long conversation short: what was said long ago is shown to the model in part (`think.md` §1.4).

use serde_json::json;

use super::{Json, JsonObject, ToolState, UiMessage, UiPart};

/// The last messages stay as they are.
const INTACT: usize = 4;

/// Characters that are left of a tool's output in an older message, as JSON.
const OUTPUT: usize = 500;

/// Characters that are left of a text in an older message.
const TEXT: usize = 10_000;

/// Values deeper than this are left out of an output that is cut.
const DEPTH: usize = 8;

/// What each of many values in an output may at least keep, in characters.
const SHARE: usize = 80;

/// Cuts long texts and tool outputs in all but the last messages. What is stored stays whole. A cut output keeps its
/// shape as far as it can: a model that is shown a list goes on calling it a list.
pub fn truncate_older(messages: &mut [UiMessage]) {
    let older = messages.len().saturating_sub(INTACT);
    for part in messages.iter_mut().take(older).flat_map(|message| &mut message.parts) {
        match part {
            UiPart::Text { text, .. } => {
                let length = text.chars().count();
                if length > TEXT {
                    *text = format!("{}{}", head(text, TEXT), suffix(length));
                }
            }
            UiPart::Tool(tool) => {
                if let ToolState::OutputAvailable(output) = &mut tool.state
                    && length(output) > OUTPUT
                {
                    *output = shorten(output, OUTPUT, 0);
                }
            }
            _ => {}
        }
    }
}

fn suffix(length: usize) -> String {
    format!("... [truncated {length} chars]")
}

fn head(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| text.get(..end).unwrap_or_default())
}

/// In characters, as text or as JSON.
fn length(value: &Json) -> usize {
    match value {
        Json::String(text) => text.chars().count(),
        other => other.to_string().chars().count(),
    }
}

fn shorten(value: &Json, most: usize, depth: usize) -> Json {
    let whole = length(value);
    match value {
        Json::String(text) => Json::String(shorten_text(text, whole, most)),
        Json::Array(_) | Json::Object(_) if depth >= DEPTH => {
            Json::String(format!("[Nested output omitted {}]", suffix(whole)))
        }
        Json::Array(items) => shorten_list(items, whole, most, depth),
        Json::Object(fields) => shorten_object(fields, whole, most, depth),
        other => other.clone(),
    }
}

fn shorten_text(text: &str, whole: usize, most: usize) -> String {
    if whole <= most {
        return text.to_owned();
    }
    let suffix = suffix(whole);
    match most.checked_sub(suffix.len()) {
        None | Some(0) => head(&suffix, most).to_owned(),
        Some(left) => format!("{}{suffix}", head(text, left)),
    }
}

/// What each of so many values may keep.
fn share(most: usize, many: usize) -> usize {
    if many <= 1 { most } else { (most / many.min(10)).max(SHARE) }
}

fn shorten_list(items: &[Json], whole: usize, most: usize, depth: usize) -> Json {
    let share = share(most, items.len());
    let mut kept: Vec<Json> = items.iter().map(|item| shorten(item, share, depth + 1)).collect();
    while kept.len() > 1 && length(&json!(kept)) > most {
        kept.pop();
    }
    if kept.len() < items.len() {
        kept.push(Json::String(format!("Array output truncated {}", suffix(whole))));
    }
    let kept = Json::Array(kept);
    if length(&kept) > most { json!([marker(whole)]) } else { kept }
}

fn shorten_object(fields: &JsonObject, whole: usize, most: usize, depth: usize) -> Json {
    let share = share(most, fields.len());
    let kept = fields.iter().map(|(name, field)| (name.clone(), shorten(field, share, depth + 1)));
    let kept = Json::Object(kept.collect());
    if length(&kept) > most { marker(whole) } else { kept }
}

/// What stands for an output that cannot be cut and keep its shape.
fn marker(whole: usize) -> Json {
    json!({
        "__truncated": true,
        "__truncatedChars": whole,
        "note": "Tool output omitted because it was too large to preserve structurally.",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(output: &Json, text: &str) -> UiMessage {
        serde_json::from_value(json!({"id": "m", "role": "assistant", "parts": [
            {"type": "tool-t", "toolCallId": "c", "state": "output-available", "input": {}, "output": output},
            {"type": "text", "text": text},
        ]}))
        .unwrap()
    }

    fn shown(output: &Json) -> Json {
        let mut messages = vec![message(output, "")];
        messages.extend(vec![message(&json!(1), "later"); INTACT]);
        truncate_older(&mut messages);
        match &messages[0].tools().next().unwrap().state {
            ToolState::OutputAvailable(output) => output.clone(),
            other => json!(format!("{other:?}")),
        }
    }

    #[test]
    fn only_older_and_longer_ones_are_cut() {
        let long = "ä".repeat(10_001);
        let mut messages = vec![message(&json!("x".repeat(600)), &long); 5];
        messages.push(message(&json!({"a": 1}), "short"));
        let before = messages.clone();
        truncate_older(&mut messages);
        assert_eq!(messages[2..], before[2..]);
        assert!(messages[1].text().ends_with("ä... [truncated 10001 chars]"));
        assert_eq!(messages[1].text().chars().count(), 10_000 + "... [truncated 10001 chars]".len());
        let short = vec![message(&json!({"a": 1}), "short"); 6];
        let mut same = short.clone();
        truncate_older(&mut same);
        assert_eq!(same, short);
    }

    #[test]
    fn a_cut_text_has_the_length_that_is_left() {
        let cut = shown(&json!("x".repeat(600)));
        let cut = cut.as_str().unwrap();
        assert_eq!(cut.len(), OUTPUT);
        assert!(cut.ends_with("x... [truncated 600 chars]"), "{cut}");
        assert_eq!(shown(&json!("x".repeat(500))), json!("x".repeat(500)));
    }

    #[test]
    fn a_cut_output_keeps_its_shape() {
        let object = shown(&json!({"id": 7, "body": "x".repeat(600)}));
        assert_eq!(object["id"], 7);
        assert!(object["body"].as_str().unwrap().ends_with("[truncated 600 chars]"), "{object}");
        let list = shown(&json!(vec!["y".repeat(60); 20]));
        let items = list.as_array().unwrap();
        assert_eq!(items[0], json!("y".repeat(60)));
        assert!(items.last().unwrap().as_str().unwrap().starts_with("Array output truncated"), "{list}");
        let numbers: JsonObject = (0..200).map(|n| (format!("field{n}"), json!(n))).collect();
        assert_eq!(shown(&Json::Object(numbers))["__truncated"], true);
        let deep = (0..20).fold(json!("z".repeat(600)), |inner, _| json!([inner]));
        assert!(shown(&deep).to_string().contains("Nested output omitted"));
        for output in [object, list] {
            assert!(length(&output) <= OUTPUT, "{output}");
        }
    }
}
