//! Brings the two sides of a case of the Go library into a form in which they can be compared.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::case::Case;

use super::script::{Answer, Script};

/// What the library makes up itself, and this host in other words.
const HOST_TEXT: &str = "<host text>";

/// What one side says, ready to be compared: hooks with requests and what the user did, then what is told of the turn.
pub(crate) fn ready(case: &Case, side: &Value) -> Value {
    let list = |key: &str| side[key].as_array().cloned().unwrap_or_default();
    let Some(script) = &case.library else { return Value::Null };
    let texts = Texts::of(script, &case.expect);
    let (mut hooks, mut events) = (Vec::new(), Vec::new());
    for mut entry in list("events") {
        if entry.get("event").is_some() {
            if is_told(&entry) {
                texts.mark_failure(&mut entry);
                events.push(shown(entry));
            }
            continue;
        }
        if entry.get("request").is_some() {
            events.push(entry.clone());
        }
        if entry.get("queue").is_some() {
            mark(&mut entry, "error");
        }
        texts.mark_failure(&mut entry);
        hooks.push(entry);
    }
    let mut requests = list("requests");
    for request in &mut requests {
        texts.mark_results(&mut request["messages"]);
        if let Some(tools) = request["tools"].as_array_mut() {
            tools.sort_by_key(Value::to_string);
        }
    }
    let mut messages = Value::Array(list("messages"));
    texts.mark_results(&mut messages);
    let mut executions = list("executions");
    for beside in executions.iter_mut().filter_map(|execution| execution["beside"].as_array_mut()) {
        beside.sort_by_key(Value::to_string);
    }
    for execution in &mut executions {
        if let Value::Object(fields) = execution {
            fields.retain(|_, field| !field.is_null());
        }
    }
    let turns = list("turns").into_iter().map(|mut turn| {
        mark(&mut turn, "error");
        turn
    });
    json!({
        "hooks": hooks,
        "events": events,
        "requests": requests,
        "executions": executions,
        "turns": turns.collect::<Vec<_>>(),
        "messages": messages,
    })
}

/// Whether this host tells of it. It tells of a step when the model begins to answer and when the step is over, of a
/// message of the user when it is taken up, and of a tool call when it is made and when it has its result, which are the
/// message's beginning and end at once; a step that broke off ends with its turn.
fn is_told(event: &Value) -> bool {
    let role = event["role"].as_str().or(event["message"]["role"].as_str());
    match event["event"].as_str() {
        Some("turn_start" | "tool_execution_start") => false,
        Some("message_start") => role == Some("assistant"),
        Some("message_end") => role == Some("user"),
        Some("turn_end") => !matches!(event["finishReason"].as_str(), Some("error" | "aborted")),
        _ => true,
    }
}

/// Without what hooks are shown of the same, and clients are not.
fn shown(mut event: Value) -> Value {
    let key = match event["event"].as_str() {
        Some("agent_end") => "messages",
        Some("tool_execution_update") => "args",
        Some("tool_execution_end") => "terminate",
        _ => return event,
    };
    if let Value::Object(fields) = &mut event {
        fields.remove(key);
    }
    event
}

/// That there is such a text counts, not its words.
fn mark(entry: &mut Value, key: &str) {
    if let Some(text) = entry.get_mut(key).filter(|text| text.as_str().is_some_and(|text| !text.is_empty())) {
        *text = HOST_TEXT.into();
    }
}

/// Which texts are the script's, and are to be the same.
struct Texts<'a> {
    /// Calls whose text is, by their ids: those that ran, and those that were blocked with a reason.
    calls: BTreeSet<&'a str>,
    of_hooks: Vec<&'a str>,
    broken: Vec<&'a str>,
}

impl<'a> Texts<'a> {
    fn of(script: &'a Script, expected: &'a Value) -> Self {
        let list = |key: &str| expected[key].as_array().into_iter().flatten();
        let name = |entry: &'a Value| entry["toolName"].as_str().unwrap_or_default();
        let ran = list("executions").filter(|ran| script.answers(name(ran)));
        let asked = list("events").filter(|event| event["hook"] == "beforeToolCall");
        let has_run = |call: &Value| list("executions").any(|ran| ran["toolCallId"] == call["toolCallId"]);
        let asked = asked.filter(|asked| script.gives_reasons(name(asked)) && !has_run(asked));
        let errors = |answer: &'a Answer| answer.stream_error.iter().chain(&answer.error);
        Self {
            calls: ran.chain(asked).filter_map(|call| call["toolCallId"].as_str()).collect(),
            of_hooks: script.hook_texts(),
            broken: script.model.iter().flat_map(errors).map(|error| &**error).collect(),
        }
    }

    fn is_ours(&self, call: &Value, text: &Value) -> bool {
        let one_of = |text: &Value, list: &[&str]| text.as_str().is_some_and(|text| list.contains(&text));
        call.as_str().is_some_and(|id| self.calls.contains(id)) || one_of(text, &self.of_hooks)
    }

    /// The output of a failed call.
    fn mark_failure(&self, entry: &mut Value) {
        if entry["isError"] == true && !self.is_ours(&entry["toolCallId"], &entry["output"]) {
            mark(entry, "output");
        }
    }

    fn mark_results(&self, messages: &mut Value) {
        for message in messages.as_array_mut().into_iter().flatten() {
            if !message["error"].as_str().is_some_and(|text| self.broken.contains(&text)) {
                mark(message, "error");
            }
            for part in message["content"].as_array_mut().into_iter().flatten() {
                let failed = part["output"]["type"] == "error-text";
                if failed && !self.is_ours(&part["toolCallId"], &part["output"]["value"]) {
                    mark(&mut part["output"], "value");
                }
            }
        }
    }
}

/// Without answers of which nothing had come: in the transcript, in requests, in what hooks are shown, and in what is
/// told.
pub(crate) fn without_empty_answers(side: &mut Value) {
    let is_empty = |message: &Value| {
        message["role"] == "assistant" && message["content"].as_array().is_some_and(Vec::is_empty)
    };
    let transcript = side["messages"].as_array().cloned().unwrap_or_default();
    let empty: Vec<usize> = (0..transcript.len()).filter(|at| is_empty(&transcript[*at])).collect();
    if empty.is_empty() {
        return;
    }
    for hook in side["hooks"].as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        without_places(hook, &transcript, &empty);
    }
    for request in side["requests"].as_array_mut().into_iter().flatten() {
        if let Some(messages) = request["messages"].as_array_mut() {
            messages.retain(|message| !is_empty(message));
        }
    }
    if let Some(events) = side["events"].as_array_mut() {
        let starts = |event: &Value| event["event"] == "message_start";
        // One that begins and has nothing to follow it but the end.
        let mut at = 0;
        while at < events.len() {
            let ends = events.get(at + 1).is_none_or(|next| next["event"] == "agent_end");
            if starts(&events[at]) && ends && !(at > 0 && events[at - 1]["event"] == "message_update") {
                events.remove(at);
            } else {
                at += 1;
            }
        }
    }
    if let Some(messages) = side["messages"].as_array_mut() {
        messages.retain(|message| !is_empty(message));
    }
}

/// A list of roles that is the beginning of the transcript, without those at `empty`; and the run's own, its end.
fn without_places(hook: &mut Map<String, Value>, transcript: &[Value], empty: &[usize]) {
    let roles = |key: &str| hook.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let (messages, new) = (roles("messages"), roles("newMessages"));
    let is_beginning = messages.len() <= transcript.len()
        && messages.iter().zip(transcript).all(|(role, message)| *role == message["role"]);
    if !is_beginning {
        return;
    }
    let kept = |list: &[Value], from: usize| -> Value {
        let roles = list.iter().enumerate().filter(|(at, _)| !empty.contains(&(at + from)));
        roles.map(|(_, role)| role.clone()).collect()
    };
    let from = messages.len().saturating_sub(new.len());
    if hook.contains_key("newMessages") {
        hook.insert("newMessages".into(), kept(&new, from));
    }
    if hook.contains_key("messages") {
        hook.insert("messages".into(), kept(&messages, 0));
    }
}
