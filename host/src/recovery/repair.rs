use crate::turn::{Json, JsonObject, ToolPart, ToolState, UiMessage};

/// What the model reads of a call that was cut off (Think's words).
pub const INTERRUPTED: &str = "The tool call was interrupted before a result was recorded.";

/// Makes a conversation fit for a model (`think.md` §4.6): every call that nobody will answer any more gets a result, and every
/// input becomes an object. `keep` says which open calls still wait for somebody; `instead` may put something else in the
/// place of the error. Returns the places of the messages that have changed.
pub fn repair(
    messages: &mut [UiMessage],
    keep: impl Fn(&ToolPart) -> bool,
    instead: impl Fn(&ToolPart) -> Option<ToolPart>,
) -> Vec<usize> {
    let mut changed = Vec::new();
    for (place, message) in messages.iter_mut().enumerate() {
        let mut touched = false;
        for tool in message.tools_mut() {
            touched |= repair_call(tool, &keep, &instead);
        }
        if touched {
            changed.push(place);
        }
    }
    changed
}

fn repair_call(
    tool: &mut ToolPart,
    keep: &impl Fn(&ToolPart) -> bool,
    instead: &impl Fn(&ToolPart) -> Option<ToolPart>,
) -> bool {
    let open = !tool.state.is_settled() && tool.state != ToolState::ApprovalResponded;
    let interrupted = open && !keep(tool);
    if interrupted {
        match instead(tool) {
            // One that is still open would be refused by the provider.
            Some(part) if part.state.is_settled() => *tool = part,
            _ => tool.state = ToolState::OutputError(INTERRUPTED.into()),
        }
    }
    // A failed call keeps what the model wrote: that is what is wrong with it.
    if interrupted && !tool.input.is_object() {
        tool.input = object(&tool.input);
    }
    interrupted
}

/// What an input that is no object stands for: the object that its text is, or an empty one.
fn object(input: &Json) -> Json {
    let parsed = input.as_str().and_then(|text| serde_json::from_str::<Json>(text).ok());
    parsed.filter(Json::is_object).unwrap_or_else(|| Json::Object(JsonObject::new()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(state: &str, input: &Json) -> UiMessage {
        serde_json::from_value(json!({"id": "m", "role": "assistant", "parts": [
            {"type": "tool-t", "toolCallId": "c", "state": state, "input": input}
        ]}))
        .unwrap()
    }

    #[test]
    fn calls_that_nobody_answers_fail_and_their_inputs_become_objects() {
        for (input, expected) in [
            (json!({"a": 1}), json!({"a": 1})),
            (json!("{\"a\": 1}"), json!({"a": 1})),
            (json!("[1]"), json!({})),
            (json!("{"), json!({})),
            (json!(null), json!({})),
        ] {
            let mut messages = [answer("input-available", &input)];
            assert_eq!(repair(&mut messages, |_| false, |_| None), [0]);
            let tool = messages[0].tools().next().unwrap();
            assert_eq!(tool.state, ToolState::OutputError(INTERRUPTED.into()));
            assert_eq!(tool.input, expected);
            assert_eq!(repair(&mut messages, |_| false, |_| None), [0; 0], "once is enough");
        }
    }

    #[test]
    fn what_is_settled_or_approved_or_still_waits_is_left_alone() {
        for (state, touched) in [
            ("output-error", false),
            ("output-denied", false),
            ("approval-responded", false),
            ("approval-requested", true),
            ("input-streaming", true),
        ] {
            let mut messages = [UiMessage::user("u", "hi"), answer(state, &json!({}))];
            assert_eq!(repair(&mut messages, |_| false, |_| None) == [1], touched, "{state}");
            assert_eq!(repair(&mut [answer(state, &json!({}))], |_| true, |_| None), [0; 0], "{state}");
        }
    }

    #[test]
    fn a_hook_may_say_what_became_of_it() {
        let done = |part: &ToolPart| {
            Some(ToolPart { state: ToolState::OutputAvailable(json!("paid")), ..part.clone() })
        };
        let mut messages = [answer("input-available", &json!({}))];
        repair(&mut messages, |_| false, done);
        assert_eq!(messages[0].tools().next().unwrap().state, ToolState::OutputAvailable(json!("paid")));
        let mut messages = [answer("input-available", &json!({}))];
        repair(&mut messages, |_| false, |part| Some(part.clone()));
        assert!(messages[0].tools().next().unwrap().state.is_settled());
    }
}
