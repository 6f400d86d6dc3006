//! What people decide, where a client says it in its copy of the conversation (the AI SDK's `addToolApprovalResponse`).

use crate::turn::{ToolState, UiMessage, UiRole};

/// Whether a call may run that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) tool_call_id: String,
    pub(super) approved: bool,
    pub(super) reason: Option<String>,
}

/// What the last message of a client's copy says to the calls that wait.
pub(super) fn decisions(stored: &[UiMessage], copy: &[UiMessage]) -> Vec<Decision> {
    let waiting: Vec<&str> = stored
        .iter()
        .flat_map(UiMessage::tools)
        .filter(|tool| tool.state == ToolState::ApprovalRequested)
        .map(|tool| &*tool.tool_call_id)
        .collect();
    let last = copy.last().filter(|message| message.role == UiRole::Assistant);
    let tools = last.into_iter().flat_map(UiMessage::tools);
    tools
        .filter(|tool| waiting.contains(&&*tool.tool_call_id))
        .filter(|tool| matches!(tool.state, ToolState::ApprovalResponded | ToolState::OutputDenied))
        .filter_map(|tool| {
            let approval = tool.approval.as_ref()?;
            Some(Decision {
                tool_call_id: tool.tool_call_id.clone(),
                approved: approval.approved? && tool.state != ToolState::OutputDenied,
                reason: approval.reason.clone(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::turn::Json;

    fn answer(state: &str, approval: &Json) -> Vec<UiMessage> {
        let part =
            json!({"type": "tool-t", "toolCallId": "c", "state": state, "input": {}, "approval": approval});
        vec![serde_json::from_value(json!({"id": "a", "role": "assistant", "parts": [part]})).unwrap()]
    }

    #[test]
    fn only_what_is_asked_and_answered_is_a_decision() {
        let stored = answer("approval-requested", &json!({"id": "x"}));
        for (state, approval, decided) in [
            ("approval-responded", json!({"id": "x", "approved": true}), Some(true)),
            ("approval-responded", json!({"id": "x", "approved": false, "reason": "no"}), Some(false)),
            ("output-denied", json!({"id": "x", "approved": false}), Some(false)),
            ("approval-requested", json!({"id": "x"}), None),
        ] {
            let found = decisions(&stored, &answer(state, &approval));
            let approved = found.iter().map(|decision| decision.approved);
            assert_eq!(approved.collect::<Vec<_>>(), Vec::from_iter(decided), "{state}");
        }
        let yes = answer("approval-responded", &json!({"id": "x", "approved": true}));
        assert!(decisions(&yes, &yes).is_empty(), "it is known already");
        let mut later = yes;
        later.push(UiMessage::user("u", "and now?"));
        assert!(decisions(&stored, &later).is_empty(), "something else is asked");
    }
}
