//! Brings the two sides of a case into an order in which they can be compared.

use serde_json::{Map, Value, json};

use crate::case::Case;

/// Who is called when nothing else is said.
const BUILT_IN: &str = "built-in";

/// `loads`, `events` by receiver, `chunks` by receiver, and so on: what one side says, ready to be compared.
pub(crate) fn ready(case: &Case, side: &Value) -> Value {
    let list = |key: &str| side[key].as_array().cloned().unwrap_or_default();
    let mut events = by_receiver(case, list("events"));
    for chain in events.values_mut().filter_map(Value::as_array_mut) {
        by_call(case, chain, |event| {
            let tool = matches!(event["hook"].as_str(), Some("beforeToolCall" | "afterToolCall"));
            tool.then(|| event.get("snapshot").unwrap_or(event)["toolCallId"].as_str()).flatten()
        });
    }
    let loads = list("loads").into_iter().map(|mut load| {
        // That there is one counts, not its words.
        if load.get("error").is_some() {
            load["error"] = json!("<host text>");
        }
        load
    });
    json!({
        "loads": loads.collect::<Vec<_>>(),
        "events": events,
        "chunks": by_receiver(case, list("chunks")),
        "requests": list("requests").into_iter().map(without_nulls).collect::<Vec<_>>(),
        "turns": side["turns"],
        "messages": side["messages"],
    })
}

/// Results of one step in the order of its calls, in the stream and in what the model is told.
pub(crate) fn results_by_call(case: &Case, side: &mut Value) {
    for chain in
        side["chunks"].as_object_mut().into_iter().flat_map(Map::values_mut).filter_map(Value::as_array_mut)
    {
        let mut step = 0;
        while step < chain.len() {
            let end = chain[step..].iter().position(|chunk| chunk["type"] == "finish-step");
            let end = end.map_or(chain.len(), |length| step + length);
            let result = |chunk: &Value| matches!(chunk["type"].as_str(), Some("tool-result" | "tool-error"));
            chain[step..end].sort_by_key(|chunk| {
                if result(chunk) { 1 + place(case, chunk["toolCallId"].as_str()) } else { 0 }
            });
            step = end + 1;
        }
    }
    let requests = side["requests"].as_array_mut().into_iter().flatten();
    for message in requests.filter_map(|request| request["messages"].as_array_mut()).flatten() {
        if let Some(parts) = message["content"].as_array_mut() {
            by_call(case, parts, |part| {
                (part["type"] == "tool-result").then(|| part["toolCallId"].as_str())?
            });
        }
    }
}

/// Where the script first makes a call of that id.
fn place(case: &Case, id: Option<&str>) -> usize {
    case.calls().position(|(known, ..)| Some(known) == id).unwrap_or(usize::MAX - 1)
}

/// Sorts each unbroken run of entries that belong to calls by their calls; the entries of one call stay in order.
fn by_call(case: &Case, entries: &mut [Value], id: impl Fn(&Value) -> Option<&str>) {
    for run in entries.chunk_by_mut(|a, b| id(a).is_some() && id(b).is_some()) {
        run.sort_by_key(|entry| place(case, id(entry)));
    }
}

/// A setting that is null is not set.
fn without_nulls(mut request: Value) -> Value {
    if let Value::Object(fields) = &mut request {
        fields.retain(|_, field| !field.is_null());
    }
    request
}

/// One list for each receiver, also for one that was told nothing.
fn by_receiver(case: &Case, entries: Vec<Value>) -> Map<String, Value> {
    let names = case.extensions.iter().filter_map(|extension| extension["name"].as_str());
    let mut receivers: Map<String, Value> =
        names.chain([BUILT_IN]).map(|name| (name.to_owned(), json!([]))).collect();
    for mut entry in entries {
        let extension = entry.as_object_mut().and_then(|fields| fields.remove("extension"));
        let receiver = extension.as_ref().and_then(Value::as_str).unwrap_or(BUILT_IN);
        if let Some(list) = receivers.entry(receiver).or_insert_with(|| json!([])).as_array_mut() {
            list.push(entry);
        }
    }
    receivers
}
