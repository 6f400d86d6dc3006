use std::collections::HashMap;

use parking_lot::Mutex;

use crate::turn::{ToolOutput, ToolPart, ToolState, UiMessage};

/// What a client says to a tool call that waits for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ClientAnswer {
    /// The client has run the tool.
    Result(ToolOutput),
    /// A person has been asked.
    Approval { approved: bool, reason: Option<String> },
}

impl ClientAnswer {
    /// Takes it into the call. False if the call does not wait for such an answer.
    pub(crate) fn apply(&self, tool: &mut ToolPart) -> bool {
        match (self, &tool.state) {
            (Self::Result(output), ToolState::InputAvailable) => {
                tool.settle(output);
                true
            }
            (Self::Approval { approved, reason }, ToolState::ApprovalRequested) => {
                if let Some(approval) = &mut tool.approval {
                    approval.approved = Some(*approved);
                    approval.reason.clone_from(reason);
                }
                tool.state = if *approved { ToolState::ApprovalResponded } else { ToolState::OutputDenied };
                true
            }
            _ => false,
        }
    }
}

/// Answers of clients on their way into the transcript.
#[derive(Default)]
pub(crate) struct ClientAnswers {
    /// One at a time changes stored messages, so that answers that come together do not overwrite each other
    /// (`think.md` §1.6).
    pub(crate) tail: tokio::sync::Mutex<()>,
    /// Those that came before the message with their call was stored, by the call's id.
    early: Mutex<HashMap<String, ClientAnswer>>,
}

impl ClientAnswers {
    /// Keeps an answer for a message that is still being written.
    pub(crate) fn keep(&self, tool_call_id: &str, answer: ClientAnswer) {
        self.early.lock().insert(tool_call_id.to_owned(), answer);
    }

    /// Takes kept answers into a message that is about to be stored.
    pub(super) fn apply_kept(&self, message: &mut UiMessage) {
        let mut early = self.early.lock();
        for tool in message.tools_mut() {
            if let Some(answer) = early.remove(&tool.tool_call_id) {
                answer.apply(tool);
            }
        }
    }

    /// Forgets what no message took.
    pub(crate) fn clear(&self) {
        self.early.lock().clear();
    }
}
