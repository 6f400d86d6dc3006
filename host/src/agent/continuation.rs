use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::live::{Admission, Live, Plan};
use super::stream::Skipped;
use super::{AnswerError, SessionEvent, TranscriptEvent};
use crate::driver::{Arrival, ClientAnswer};
use crate::turn::{ToolState, Trigger, UiMessage, UiRole};

/// How long answers that come one after the other are gathered before the turn goes on: 50 ms (`think.md` §1.6).
const GATHER: Duration = Duration::from_millis(50);

/// Whether the conversation is to go on by itself once a client has answered every call.
#[derive(Debug, Default)]
pub(super) struct Continuation {
    armed: AtomicBool,
}

impl Continuation {
    pub(super) fn is_armed(&self) -> bool {
        self.armed.load(Ordering::Acquire)
    }

    pub(super) fn disarm(&self) {
        self.armed.store(false, Ordering::Release);
    }
}

impl Live {
    /// Takes a client's answer to a tool call into the transcript. With `go_on` the conversation continues once every
    /// call of the answer has its result.
    pub(super) async fn answer(
        self: &Arc<Self>,
        tool_call_id: &str,
        answer: ClientAnswer,
        go_on: bool,
    ) -> Result<(), AnswerError> {
        let taken = self.take_answer(tool_call_id, answer).await;
        // Also where nobody waits for it: whoever answers wants the conversation to go on.
        if go_on && !matches!(taken, Err(AnswerError::Store(_))) {
            self.continuation.armed.store(true, Ordering::Release);
        }
        self.check_continuation();
        taken
    }

    async fn take_answer(&self, tool_call_id: &str, answer: ClientAnswer) -> Result<(), AnswerError> {
        let _tail = self.conversation.answers.tail.lock().await;
        let messages = self.messages().await?;
        let holds = |message: &UiMessage| message.tools().any(|tool| tool.tool_call_id == tool_call_id);
        // Ids are unique in an answer, not for ever: the last one is meant.
        match messages.into_iter().rev().find(holds) {
            Some(mut message) => {
                let taken = message
                    .tools_mut()
                    .filter(|tool| tool.tool_call_id == tool_call_id)
                    .any(|tool| answer.apply(tool));
                if !taken {
                    return Err(AnswerError::NotWaiting(tool_call_id.to_owned()));
                }
                self.put(&message, None).await?;
                self.tell(SessionEvent::Transcript { event: TranscriptEvent::MessageUpdated { message } });
            }
            None if self.turns.is_busy() => self.conversation.answers.keep(tool_call_id, answer),
            None => return Err(AnswerError::NotWaiting(tool_call_id.to_owned())),
        }
        Ok(())
    }

    /// Goes on shortly, if that was asked for and nothing stands against it then.
    pub(super) fn check_continuation(self: &Arc<Self>) {
        if !self.continuation.armed.load(Ordering::Acquire) {
            return;
        }
        let live = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(GATHER).await;
            // A turn that runs checks again at its end.
            if live.turns.is_busy() || !live.is_complete().await {
                return;
            }
            if live.continuation.armed.swap(false, Ordering::AcqRel) {
                let admission = Admission::continuing(Trigger::AutoContinuation);
                live.admit(admission, |live, admission| Box::pin(live.go_on(admission))).detach();
            }
        });
    }

    /// Whether no call of the last answer waits while others have their results.
    async fn is_complete(&self) -> bool {
        let _tail = self.conversation.answers.tail.lock().await;
        let messages = match self.messages().await {
            Ok(messages) => messages,
            Err(error) => {
                tracing::error!("the conversation cannot go on by itself: {error}");
                return false;
            }
        };
        let Some(last) = messages.last().filter(|last| last.role == UiRole::Assistant) else { return true };
        let answered = |state: &ToolState| state.is_settled() || *state == ToolState::ApprovalResponded;
        let open = last.tools().any(|tool| tool.state.is_open());
        !(open && last.tools().any(|tool| answered(&tool.state)))
    }

    /// A turn that goes on from the last answer; by itself, also where there is none.
    pub(super) async fn go_on(self: Arc<Self>, admission: Admission) -> Plan {
        let asked = admission.trigger != Trigger::AutoContinuation;
        let arrival = match self.messages().await {
            Err(error) => Arrival::Failed(error.to_string()),
            Ok(messages) if asked && messages.last().is_none_or(|last| last.role != UiRole::Assistant) => {
                return Plan::Skip(Skipped::Empty);
            }
            Ok(_) => Arrival::Stored(Vec::new()),
        };
        let last = self.last_request().await.unwrap_or_default();
        Plan::Run(Box::new(self.input(&admission, arrival, last)))
    }
}
