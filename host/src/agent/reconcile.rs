//! Bringing a client's copy of the conversation together with the stored one (`think.md` §1.3).

use serde_json::json;

use crate::turn::{Json, ToolPart, ToolState, UiMessage, UiRole};

/// Metadata that only the host writes.
const RESERVED: [&str; 2] = ["channel", "turnMetadata"];

/// What is to be stored of a client's messages. The user's own are taken as they come. Of an answer that is stored
/// already only the calls that wait for the client are taken over: a copy may be older than what is stored, and a client
/// does not rewrite what the model said. Messages that speak as the host are left out. `channel` is where they come from.
pub(super) fn reconcile(
    stored: &[UiMessage],
    incoming: Vec<UiMessage>,
    channel: Option<&str>,
) -> Vec<UiMessage> {
    incoming
        .into_iter()
        .filter_map(|mut message| {
            strip(&mut message);
            let known = match message.role {
                UiRole::System => return None,
                UiRole::User => {
                    if let Some(channel) = channel {
                        stamp(&mut message, channel);
                    }
                    stored.iter().find(|known| known.id == message.id)
                }
                UiRole::Assistant => {
                    let known = matching(stored, &message);
                    if let Some(known) = known {
                        message = answered(known, &message);
                    }
                    known
                }
            };
            (known != Some(&message)).then_some(message)
        })
        .collect()
}

fn strip(message: &mut UiMessage) {
    let Some(Json::Object(metadata)) = &mut message.metadata else { return };
    metadata.retain(|key, _| !RESERVED.contains(&&**key));
    if metadata.is_empty() {
        message.metadata = None;
    }
}

/// Notes where a message comes from; metadata that is no object gives way.
fn stamp(message: &mut UiMessage, channel: &str) {
    match &mut message.metadata {
        Some(Json::Object(metadata)) => drop(metadata.insert("channel".into(), channel.into())),
        metadata => *metadata = Some(json!({"channel": channel})),
    }
}

/// The stored answer that a client's copy is of: by its id, by what it says, or by a call in it.
fn matching<'a>(stored: &'a [UiMessage], message: &UiMessage) -> Option<&'a UiMessage> {
    let answers = || stored.iter().filter(|known| known.role == UiRole::Assistant);
    let calls = |known: &UiMessage| {
        known.tools().any(|tool| message.tools().any(|own| own.tool_call_id == tool.tool_call_id))
    };
    answers()
        .find(|known| known.id == message.id)
        .or_else(|| answers().find(|known| known.parts == message.parts))
        .or_else(|| answers().find(|known| calls(known)))
}

/// The stored answer, with what the copy says to calls that wait.
fn answered(known: &UiMessage, copy: &UiMessage) -> UiMessage {
    let mut merged = known.clone();
    for tool in merged.tools_mut().filter(|tool| tool.state.is_open()) {
        let theirs = copy.tools().find(|theirs| theirs.tool_call_id == tool.tool_call_id);
        if let Some(theirs) = theirs.filter(|theirs| answers(tool, theirs)) {
            tool.state = theirs.state.clone();
            if let (Some(approval), Some(said)) = (&mut tool.approval, &theirs.approval) {
                approval.approved = said.approved;
                approval.reason.clone_from(&said.reason);
            }
        }
    }
    merged
}

/// Whether the client's copy of a call says what the stored one waits for.
fn answers(stored: &ToolPart, copy: &ToolPart) -> bool {
    match (&stored.state, &copy.state) {
        (ToolState::InputAvailable, state) => {
            matches!(state, ToolState::OutputAvailable(_) | ToolState::OutputError(_))
        }
        (ToolState::ApprovalRequested, ToolState::ApprovalResponded) => {
            copy.approval.as_ref().is_some_and(|approval| approval.approved == Some(true))
        }
        (ToolState::ApprovalRequested, state) => *state == ToolState::OutputDenied,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(id: &str, tool: &Json) -> UiMessage {
        let mut tool = tool.clone();
        tool["type"] = json!("tool-t");
        tool["input"] = json!({});
        let message = json!({"id": id, "role": "assistant", "parts": [{"type": "text", "text": "so"}, tool]});
        serde_json::from_value(message).unwrap()
    }

    #[test]
    fn an_older_copy_does_not_undo_what_is_stored() {
        let stored = answer("a", &json!({"toolCallId": "c", "state": "output-available", "output": 3}));
        let older = answer("a", &json!({"toolCallId": "c", "state": "input-available"}));
        let forged = answer("a", &json!({"toolCallId": "c", "state": "output-available", "output": 4}));
        assert_eq!(reconcile(&[stored], vec![older, forged], None), []);
    }

    #[test]
    fn a_call_that_waits_takes_the_clients_answer_whatever_id_the_copy_has() {
        let waits = answer("a", &json!({"toolCallId": "c", "state": "input-available"}));
        let done =
            answer("client-made", &json!({"toolCallId": "c", "state": "output-available", "output": 3}));
        let expected = answer("a", &json!({"toolCallId": "c", "state": "output-available", "output": 3}));
        assert_eq!(reconcile(&[waits], vec![done], None), [expected]);
    }

    #[test]
    fn only_a_yes_approves() {
        let part = |state: &str, approved: Json| json!({"toolCallId": "c", "state": state, "approval": {"id": "x", "approved": approved}});
        let mut waits = answer("a", &part("approval-requested", Json::Null));
        waits.tools_mut().for_each(|tool| tool.approval.as_mut().unwrap().approved = None);
        for (state, approved, taken) in [
            ("approval-responded", json!(true), true),
            ("approval-responded", json!(false), false),
            ("output-denied", json!(false), true),
            ("output-available", json!(true), false),
        ] {
            let copy = answer("a", &part(state, approved));
            assert_eq!(reconcile(&[waits.clone()], vec![copy], None).len(), usize::from(taken), "{state}");
        }
    }

    #[test]
    fn users_may_edit_nobody_speaks_as_the_host_and_reserved_metadata_is_dropped() {
        let mut edited = UiMessage::user("u", "edited");
        edited.metadata = Some(json!({"channel": "admin", "own": 1}));
        let mut system = UiMessage::user("s", "obey");
        system.role = UiRole::System;
        let stored = [UiMessage::user("u", "hi"), UiMessage::user("same", "same")];
        let taken = reconcile(&stored, vec![edited, system, UiMessage::user("same", "same")], None);
        assert_eq!(taken.len(), 1);
        assert_eq!((taken[0].text(), taken[0].metadata.clone()), ("edited".into(), Some(json!({"own": 1}))));
    }
    #[test]
    fn the_host_says_where_a_message_comes_from() {
        let mut sent = UiMessage::user("u", "hi");
        sent.metadata = Some(json!({"channel": "admin"}));
        let stored = reconcile(&[], vec![sent.clone()], Some("web"));
        assert_eq!(stored[0].metadata, Some(json!({"channel": "web"})));
        assert_eq!(
            reconcile(&stored, vec![sent], Some("web")),
            [],
            "sent again, it is the one that is stored"
        );
    }
}
