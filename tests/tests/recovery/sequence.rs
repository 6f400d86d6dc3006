//! Brings what was recorded and what happened into one form.

use std::collections::BTreeMap;

use lathe_tests::recording::pick;
use serde_json::{Map, Value, json};

/// Keys whose values are made up by the host.
const IDS: [&str; 8] = [
    "id",
    "messageId",
    "requestId",
    "approvalId",
    "toolCallId",
    "incidentId",
    "recoveryRootRequestId",
    "submissionId",
];

/// What cases show of a hook; all of others.
fn shown(hook: &str) -> Option<&'static [&'static str]> {
    Some(match hook {
        "beforeTurn" => &["hook", "messages", "continuation"],
        "beforeStep" => &["hook", "stepNumber", "messages"],
        "beforeToolCall" => &["hook", "toolName", "toolCallId", "input"],
        "afterToolCall" => &["hook", "toolName", "toolCallId", "success", "output", "error"],
        "onStepFinish" => &["hook", "stepNumber", "finishReason", "text", "toolCalls", "toolResults"],
        "onChatResponse" => &["hook", "status", "error", "continuation", "parts"],
        "onChatError" => &["hook", "error", "stage", "messagesPersisted", "classification"],
        _ => return None,
    })
}

/// One side of a case, ready to be compared. Lists by process become objects, so that they are compared place by place.
pub(crate) fn ready(case: &Value, side: &Value) -> Value {
    let mut ready = json!({
        "transcripts": side["transcripts"],
        "hooks": by_process(&side["hooks"]),
        "requests": by_process(&side["requests"]),
        "toolExecutions": side["toolExecutions"],
        "submissions": side["submissions"],
    });
    for message in lists(&mut ready["transcripts"]) {
        without_what_servers_add(message);
    }
    for process in ready["hooks"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        let events = process.as_array().into_iter().flatten().map(|event| {
            let shown = event["hook"].as_str().and_then(shown);
            shown.map_or_else(|| event.clone(), |shown| Value::Object(pick(event, shown)))
        });
        let mut events: Vec<Value> = events.collect();
        // The events of calls that run side by side.
        for run in events.chunk_by_mut(|a, b| a.get("toolCallId").is_some() && b.get("toolCallId").is_some())
        {
            run.sort_by_key(|event| event["toolCallId"].as_str().unwrap_or_default().to_owned());
        }
        // The next turn may begin while the hooks hear of the end of the one before.
        for place in 1..events.len() {
            let mut at = place;
            while at > 0 && events[at]["hook"] == "onChatResponse" && begins(&events[at - 1]) {
                events.swap(at - 1, at);
                at -= 1;
            }
        }
        *process = events.into();
    }
    // That there is a refusal counts, not its words.
    for answer in ready["submissions"].as_array_mut().into_iter().flatten() {
        if answer.get("rejected").is_some() {
            answer["rejected"] = json!("<host text>");
        }
    }
    let known = [&case["model"], &case["script"], &case["host"]].map(Value::to_string).concat();
    for part in ["transcripts", "hooks", "requests", "submissions"] {
        let mut names = BTreeMap::new();
        rename(&mut ready[part], "", &known, &mut names);
    }
    ready
}

/// Whether an event is of a turn of which nothing has come yet.
fn begins(event: &Value) -> bool {
    event["hook"] == "beforeTurn" || event["hook"] == "beforeStep"
}

fn by_process(list: &Value) -> Value {
    let list = list.as_array().into_iter().flatten().enumerate();
    Value::Object(list.map(|(place, entries)| ((place + 1).to_string(), entries.clone())).collect())
}

/// The messages of all transcripts.
fn lists(transcripts: &mut Value) -> impl Iterator<Item = &mut Value> {
    let lists = transcripts.as_object_mut().into_iter().flat_map(Map::values_mut);
    lists.filter_map(Value::as_array_mut).flatten()
}

/// Notes that a server makes for its clients: where a message came from, and what the type of a tool part says already.
fn without_what_servers_add(message: &mut Value) {
    if message["metadata"] == json!({"channel": "web"})
        && let Some(fields) = message.as_object_mut()
    {
        fields.remove("metadata");
    }
    for part in message["parts"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        part.remove("toolName");
        if part.get("preliminary") == Some(&json!(false)) {
            part.remove("preliminary");
        }
    }
}

/// Gives made-up ids names in order of their first appearance, for each key of its own: one more message does not change
/// what the submissions look like.
fn rename(value: &mut Value, key: &str, known: &str, names: &mut BTreeMap<(String, String), String>) {
    match value {
        Value::String(id) if IDS.contains(&key) && !known.contains(&format!("\"{id}\"")) => {
            let count = names.keys().filter(|(own, _)| own == key).count();
            let name =
                names.entry((key.to_owned(), id.clone())).or_insert_with(|| format!("<{key} {}>", count + 1));
            id.clone_from(name);
        }
        Value::Array(list) => list.iter_mut().for_each(|value| rename(value, key, known, names)),
        Value::Object(fields) => {
            let mut keys: Vec<String> = fields.keys().cloned().collect();
            keys.sort();
            for key in keys {
                if let Some(value) = fields.get_mut(&key) {
                    rename(value, &key, known, names);
                }
            }
        }
        _ => {}
    }
}
