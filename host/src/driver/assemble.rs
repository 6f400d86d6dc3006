//! What a turn begins with, and what it leaves in the store.

use uuid::Uuid;

use super::{Arrival, MessageQueue, TranscriptEvent, TurnDriver, TurnEvent};
use crate::session::RECENT_BYTES;
use crate::store::StoreError;
use crate::turn::{
    Assembly, ModelMessage, Outcome, Role, Taken, ToolCall, ToolDefinition, ToolPart, ToolRecord, ToolState,
    UiMessage, UiRole, truncate_older,
};

impl TurnDriver {
    /// Gathers what the turn works with (`think.md` §1.4). Asked a second time when approved calls have run.
    pub(super) async fn assemble(&mut self) -> Outcome {
        let arrival = std::mem::replace(&mut self.input.arrival, Arrival::Stored(Vec::new()));
        let mut new = match arrival {
            Arrival::Failed(error) => return Outcome::NotStored(error),
            Arrival::Stored(messages) => messages,
            Arrival::Now(messages) => {
                if let Err(error) = self.put_all(&messages).await {
                    return Outcome::NotStored(error.to_string());
                }
                messages
            }
        };
        self.persisted = true;
        let (store, session) = (&self.setup.store, &self.conversation.name);
        let read = match &self.input.parent {
            // Made again: what was said after the question is not part of it.
            Some(parent) => store.history(session, parent).await,
            None => store.recent(session, RECENT_BYTES).await,
        };
        let mut history = match read {
            Ok(history) => history,
            Err(error) => return Outcome::Failed(error.to_string()),
        };
        let approved = self.approved(&history);
        // Approved calls come first; whoever steers is heard after them.
        if approved.is_empty() {
            let taken = self.waiting_at_start(&history);
            if let Err(error) = self.put_all(&taken).await {
                return Outcome::NotStored(error.to_string());
            }
            for message in &taken {
                self.events.send(user_message(message));
            }
            history.extend(taken.iter().cloned());
            new.extend(taken);
        }
        truncate_older(&mut history);
        let mut messages: Vec<ModelMessage> = history.iter().flat_map(UiMessage::to_model).collect();
        if self.input.merge {
            merge_last_user_messages(&mut messages);
        }
        let system = match self.system().await {
            Ok(system) => system,
            Err(error) => return Outcome::Failed(format!("the system prompt cannot be made: {error}")),
        };
        let sequential = self.setup.sequential;
        let definitions = |definitions: Vec<ToolDefinition>| -> Vec<ToolDefinition> {
            definitions
                .into_iter()
                .map(|tool| ToolDefinition { sequential: tool.sequential || sequential, ..tool })
                .collect()
        };
        let mut tools = definitions(self.input.active.tools.definitions());
        tools.extend(self.input.client_tools.iter().cloned());
        let earlier = self.machine.assembly().new_messages.iter().cloned();
        Outcome::Assembled(Box::new(Assembly {
            model: self.setup.model.id().to_owned(),
            system,
            messages,
            new_messages: earlier.chain(new.iter().flat_map(UiMessage::to_model)).collect(),
            tools,
            reserve: definitions(self.setup.reserve.definitions()),
            approved,
        }))
    }

    async fn put_all(&self, messages: &[UiMessage]) -> Result<(), StoreError> {
        for message in messages {
            self.setup.store.put(&self.conversation.name, message, None).await?;
        }
        Ok(())
    }

    /// Calls of the last answer that were approved and have not run.
    fn approved(&self, history: &[UiMessage]) -> Vec<ToolCall> {
        if !self.input.start.continuation {
            return Vec::new();
        }
        let last = history.last().filter(|message| message.role == UiRole::Assistant);
        let approved = last.into_iter().flat_map(UiMessage::tools);
        approved.filter(|tool| tool.state == ToolState::ApprovalResponded).map(ToolPart::call).collect()
    }

    /// Messages that waited before the first request: those that steer; where nobody has said anything since the last
    /// answer, those that were to wait for its end will do (`or-agent.md` §1.6).
    fn waiting_at_start(&self, history: &[UiMessage]) -> Vec<UiMessage> {
        let steering = self.conversation.steering.take();
        let answered = || {
            history.last().is_some_and(|last| last.role == UiRole::Assistant && last.tools().next().is_none())
        };
        if steering.is_empty() && self.input.start.continuation && answered() {
            return self.conversation.follow_ups.take();
        }
        steering
    }

    /// Takes up what waits in a queue.
    pub(super) fn take(&self, queue: &MessageQueue) -> Option<Taken> {
        let messages = queue.take();
        for message in &messages {
            self.events.send(user_message(message));
        }
        (!messages.is_empty()).then(|| Taken { messages, message_id: Uuid::now_v7().to_string() })
    }

    pub(super) async fn store(&mut self) -> Outcome {
        let answers = &self.conversation.answers;
        let _tail = answers.tail.lock().await;
        let mut parent = self.input.parent.as_deref();
        for mut message in self.machine.stored_messages() {
            answers.apply_kept(&mut message);
            if let Err(error) = self.setup.store.put(&self.conversation.name, &message, parent).await {
                return Outcome::NotStored(error.to_string());
            }
            parent = None;
            if message.role == UiRole::Assistant {
                self.stored = Some(message);
            }
        }
        Outcome::Stored
    }

    /// Stores the results of approved calls in the message that made them.
    pub(super) async fn store_approved(&self, records: &[ToolRecord]) -> Outcome {
        let _tail = self.conversation.answers.tail.lock().await;
        let session = &self.conversation.name;
        let stored = async {
            let mut history = self.setup.store.messages(session).await?;
            let Some(message) = history.last_mut() else { return Ok(()) };
            for tool in message.tools_mut() {
                let record = records.iter().find(|record| record.call.tool_call_id == tool.tool_call_id);
                if let Some(record) = record.filter(|_| tool.state == ToolState::ApprovalResponded) {
                    tool.settle(&record.output);
                }
            }
            self.setup.store.put(session, message, None).await?;
            let message = message.clone();
            self.events.send(TurnEvent::Transcript(TranscriptEvent::MessageUpdated { message }));
            Ok::<_, StoreError>(())
        };
        match stored.await {
            Ok(()) => Outcome::Stored,
            Err(error) => Outcome::NotStored(error.to_string()),
        }
    }
}

fn user_message(message: &UiMessage) -> TurnEvent {
    TurnEvent::Transcript(TranscriptEvent::UserMessage { message: message.clone() })
}

/// Several messages of the user at the end become one.
fn merge_last_user_messages(messages: &mut Vec<ModelMessage>) {
    let first = messages.iter().rposition(|message| message.role != Role::User).map_or(0, |place| place + 1);
    let mut last = messages.drain(first..);
    let Some(mut merged) = last.next() else { return };
    merged.content.extend(last.flat_map(|message| message.content));
    messages.push(merged);
}
