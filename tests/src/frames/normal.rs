//! Brings what was seen into the form of the recordings.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{AGENT, SESSION};

/// Keys under which ids stand.
const IDS: [&str; 10] = [
    "id",
    "messageId",
    "messageIds",
    "requestId",
    "approvalId",
    "probeId",
    "toolCallId",
    "incidentId",
    "recoveryRootRequestId",
    "submissionId",
];

/// With placeholders for what the case does not spell out. What has placeholders already gets its numbers anew.
pub fn normal(case: &Value, got: &Value) -> Value {
    // What it spells out is in its input: `expect` has the placeholders.
    let mut input = case.clone();
    if let Some(input) = input.as_object_mut() {
        input.remove("expect");
    }
    let mut said = Vec::new();
    texts(&input, &mut said);
    Normal { said, ids: BTreeMap::new(), count: 0 }.value(None, got)
}

/// All texts in a value.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
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
        } else if is_time(text) {
            "<time>".to_owned()
        } else if (IDS.contains(&key) || is_uuid(text) || is_placeholder(text)) && !said {
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

/// Whether it is a time such as `2026-01-31T12:00:00.000Z`.
fn is_time(text: &str) -> bool {
    text.len() == 24
        && text.ends_with('Z')
        && text.bytes().zip(*b"0000-00-00T00:00:00.000Z").all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            _ => byte == form,
        })
}

fn is_placeholder(text: &str) -> bool {
    let number = text.strip_prefix("<id").and_then(|text| text.strip_suffix('>'));
    number.is_some_and(|number| number.parse::<usize>().is_ok())
}
