//! What a session tells, as the frames that Think's clients get: as far as cases wait for them.

use serde_json::{Value, json};

/// The frames that stand for an event.
pub(crate) fn frames(event: &Value) -> Option<Value> {
    let id = &event["requestId"];
    match event["type"].as_str()? {
        "turn-started" => Some(json!({"type": "cf_agent_stream_resuming", "id": id})),
        "turn-ended" => {
            let error = event["status"] == "error";
            Some(json!({"type": RESPONSE, "id": id, "done": true, "error": error, "status": event["status"]}))
        }
        "turn" => of_turn(id, &event["event"]),
        _ => Some(json!({"type": "other", "event": event})),
    }
}

/// Of a turn's stream, and of its end.
pub(crate) const RESPONSE: &str = "cf_agent_use_chat_response";

fn of_turn(id: &Value, event: &Value) -> Option<Value> {
    let recovering = |is: bool| json!({"type": "cf_agent_chat_recovering", "recovering": is, "id": id});
    let mut body = event.clone();
    let kind = match event["type"].as_str()? {
        "chat:recovery:scheduled" | "chat:recovery:attempt" => return Some(recovering(true)),
        "chat:recovery:completed"
        | "chat:recovery:skipped"
        | "chat:recovery:exhausted"
        | "chat:recovery:failed" => return Some(recovering(false)),
        "text-delta" | "reasoning-delta" => {
            body["delta"] = event["text"].clone();
            return Some(json!({"type": RESPONSE, "id": id, "body": body}));
        }
        "tool-call" => "tool-input-available",
        "tool-result" => "tool-output-available",
        "tool-error" => "tool-output-error",
        same => same,
    };
    body["type"] = json!(kind);
    Some(json!({"type": RESPONSE, "id": id, "body": body}))
}
