//! Brings what was seen into the form of the recordings.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::play::{AGENT, SESSION};

/// Keys under which ids stand.
const IDS: [&str; 7] = ["id", "messageId", "messageIds", "requestId", "approvalId", "probeId", "toolCallId"];

/// With placeholders for what the case does not spell out.
pub(crate) fn normal(case: &Value, got: &Value) -> Value {
    // What it spells out is in its input: `expect` has the placeholders.
    let mut input = case.clone();
    if let Some(input) = input.as_object_mut() {
        input.remove("expect");
    }
    let mut said = Vec::new();
    texts(&input, &mut said);
    Normal { said, ids: BTreeMap::new(), count: 0 }.value(None, got)
}

/// All texts in a value; those that are JSON are taken apart as well.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            found.push(text.clone());
            if let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(text) {
                texts(&inner, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| texts(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

struct Normal {
    said: Vec<String>,
    ids: BTreeMap<String, String>,
    count: usize,
}

impl Normal {
    fn value(&mut self, key: Option<&str>, value: &Value) -> Value {
        match value {
            Value::Array(list) => list.iter().map(|value| self.value(key, value)).collect(),
            Value::Object(fields) => {
                // Models use the ids of parts again.
                let part = fields.get("type").and_then(Value::as_str);
                if matches!(part, Some("text-start" | "reasoning-start"))
                    && let Some(id) = fields.get("id").and_then(Value::as_str)
                {
                    self.ids.remove(id);
                }
                let agent = part == Some("cf_agent_identity");
                let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
                sorted.sort_by_key(|(key, _)| *key);
                let fields = sorted.into_iter().map(|(key, value)| {
                    if agent && key == "agent" && value == AGENT {
                        return (key.clone(), json!("<agent>"));
                    }
                    (key.clone(), self.value(Some(key), value))
                });
                Value::Object(fields.collect())
            }
            Value::String(text) => self.text(key.unwrap_or_default(), text).into(),
            Value::Number(number) if number.as_f64().is_some_and(|number| number > 1e12) => "<time>".into(),
            other => other.clone(),
        }
    }

    fn text(&mut self, key: &str, text: &str) -> String {
        let said = self.said.iter().any(|said| said == text);
        if text == SESSION {
            "<session>".to_owned()
        } else if (IDS.contains(&key) || is_uuid(text)) && !said {
            let count = &mut self.count;
            let placeholder = self.ids.entry(text.to_owned()).or_insert_with(|| {
                *count += 1;
                format!("<id{count}>")
            });
            placeholder.clone()
        } else if ["error", "errorText", "body"].contains(&key) && !text.is_empty() && !said {
            "<host text>".to_owned()
        } else {
            text.to_owned()
        }
    }
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    groups == [8, 4, 4, 4, 12] && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}
