//! What a turn begins with, and what it leaves in the store.

use uuid::Uuid;

use super::{Arrival, ChatEvent, MessageQueue, TranscriptEvent, TurnDriver, TurnEvent, TurnInput};
use crate::recovery;
use crate::session::RECENT_BYTES;
use crate::store::{JournalChange, StoreError, TurnRecord};
use crate::turn::{
    Assembly, ModelMessage, Outcome, Replay, Role, SubmissionStatus, Taken, ToolCall, ToolDefinition,
    ToolPart, ToolRecord, ToolState, Trigger, TurnEnd, TurnStatus, UiMessage, UiPart, UiRole, truncate_older,
};

impl TurnDriver {
    /// Gathers what the turn works with (`think.md` §1.4). Asked a second time when approved calls have run.
    pub(super) async fn assemble(&mut self) -> Outcome {
        let arrival = std::mem::replace(&mut self.input.arrival, Arrival::Stored(Vec::new()));
        let (mut new, to_store) = match arrival {
            Arrival::Failed(error) => return Outcome::NotStored(error),
            Arrival::Stored(messages) => (messages, Vec::new()),
            Arrival::Now(messages) => (messages.clone(), messages),
        };
        let arrived = to_store.clone();
        // The store works in order: what is read is what is there once the turn is noted.
        let begin = JournalChange::Begin(Box::new(self.record()));
        let session = &self.conversation.name;
        let takes_up = std::mem::replace(&mut self.input.takes_up, self.input.start.request_id.clone());
        let store = &self.setup.store;
        let (begun, history) = tokio::join!(store.commit(session, &takes_up, to_store, None, begin), async {
            match &self.input.parent {
                // Made again: what was said after the question is not part of it.
                Some(parent) => store.history(session, parent).await,
                None => store.recent(session, RECENT_BYTES).await,
            }
        });
        if let Err(error) = begun {
            return Outcome::NotStored(error.to_string());
        }
        self.persisted = true;
        if !arrived.is_empty() {
            self.events.send(TurnEvent::Transcript(TranscriptEvent::Arrived { messages: arrived }));
        }
        let mut history = match history {
            Ok(history) => history,
            Err(error) => return Outcome::Failed(error.to_string()),
        };
        if let Err(error) = self.repair(&mut history).await {
            return Outcome::NotStored(error.to_string());
        }
        let own = history.iter().rposition(|message| message.id == self.input.start.message_id);
        if let Some(own) = own {
            // The turn goes on in a stored answer: what was said after it is for the turns that come.
            history.truncate(own + 1);
        }
        let parts = own.and(history.last()).map(|message| message.parts.clone()).unwrap_or_default();
        let approved = self.approved(&history);
        // Approved calls come first; whoever steers is heard after them.
        if approved.is_empty() && own.is_none() {
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
        if messages.is_empty() {
            return Outcome::Failed("there is nothing to answer: the conversation is empty".into());
        }
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
            parts,
            reserve: definitions(self.setup.reserve.definitions()),
            approved,
            ran: self.input.ran.clone(),
        }))
    }

    /// What the journal says of the turn.
    pub(super) fn record(&self) -> TurnRecord {
        let TurnInput {
            start,
            root_request_id,
            message_ids,
            parent,
            merge,
            client_tools,
            base_parts,
            ran,
            ..
        } = &self.input;
        let mut record = TurnRecord {
            start: start.clone(),
            root_request_id: root_request_id.clone(),
            message_ids: message_ids.clone(),
            parent: parent.clone(),
            merge: *merge,
            client_tools: client_tools.clone(),
            base_parts: *base_parts,
            ran: ran.clone(),
            stash: self.stash.get(),
        };
        // Messages were taken up: what comes now is the answer to them.
        if let Some(taken) = self.machine.taken().or(self.last_taken()) {
            record.start.message_id.clone_from(&taken.message_id);
            record.parent = None;
            record.base_parts = 0;
            record.ran.clear();
        }
        record
    }

    fn last_taken(&self) -> Option<&Taken> {
        self.machine.steps().iter().rev().find_map(|step| step.taken.as_ref())
    }

    /// Gives every call of the conversation a result that nobody else will (`think.md` §4.6).
    async fn repair(&self, history: &mut [UiMessage]) -> Result<(), StoreError> {
        let runs_again = |tool: &ToolPart| self.runs_again(tool);
        let places = recovery::repair(history, runs_again, |part| self.dispatcher.repair(part));
        for message in places.iter().filter_map(|place| history.get(*place)) {
            self.setup.store.put(&self.conversation.name, message, None).await?;
            let message = message.clone();
            self.events.send(TurnEvent::Transcript(TranscriptEvent::MessageUpdated { message }));
        }
        if !places.is_empty() {
            let request_id = self.input.start.request_id.clone();
            self.events.chat(ChatEvent::TranscriptRepaired { request_id, messages: places.len() });
        }
        Ok(())
    }

    /// Whether the turn takes up an interrupted one and may make the call once more, or knows what came of it.
    fn runs_again(&self, tool: &ToolPart) -> bool {
        let known = self.input.ran.iter().any(|call| call.tool_call_id == tool.tool_call_id);
        let safe = || {
            let tool = self.input.active.all_tools.get(&tool.tool_name);
            tool.is_some_and(|tool| tool.definition().replay == Replay::Safe)
        };
        self.input.start.trigger == Trigger::RecoveryContinue
            && tool.state == ToolState::InputAvailable
            && (known || safe())
    }

    async fn put_all(&self, messages: &[UiMessage]) -> Result<(), StoreError> {
        for message in messages {
            self.setup.store.put(&self.conversation.name, message, None).await?;
        }
        Ok(())
    }

    /// Calls of the last answer that were approved and have not run, and those of an interrupted turn that may run again.
    fn approved(&self, history: &[UiMessage]) -> Vec<ToolCall> {
        if !self.input.start.continuation {
            return Vec::new();
        }
        let last = history.last().filter(|message| message.role == UiRole::Assistant);
        let approved = last.into_iter().flat_map(UiMessage::tools);
        let due = |tool: &&ToolPart| tool.state == ToolState::ApprovalResponded || self.runs_again(tool);
        approved.filter(due).map(ToolPart::call).collect()
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
        let mut messages = self.machine.stored_messages();
        messages.iter_mut().for_each(|message| answers.apply_kept(message));
        if self.machine.config().send_reasoning == Some(false) {
            messages.iter_mut().for_each(|message| self.hide_reasoning(message));
        }
        let change = match self.machine.ending() {
            Some(end) => JournalChange::End { status: submission_status(end), error: end.error.clone() },
            None => JournalChange::Begin(Box::new(self.record())),
        };
        let last = messages.iter().rev().find(|message| message.role == UiRole::Assistant).cloned();
        let parent = self.input.parent.as_deref();
        if let Err(error) = self.journal.commit(messages, parent, change).await {
            return Outcome::NotStored(error.to_string());
        }
        self.stored = last.or(self.stored.take());
        Outcome::Stored
    }

    /// What clients are not to see is not stored, since they are shown what is.
    fn hide_reasoning(&self, message: &mut UiMessage) {
        let own = message.id == self.input.start.message_id;
        let earlier = if own { self.input.base_parts } else { 0 };
        let mut number = 0;
        message.parts.retain(|part| {
            number += 1;
            number <= earlier || !matches!(part, UiPart::Reasoning { .. })
        });
    }

    /// Stores the results of approved calls in the message that made them, and shows them.
    pub(super) async fn store_approved(&self, records: &[ToolRecord]) -> Outcome {
        let _tail = self.conversation.answers.tail.lock().await;
        let session = &self.conversation.name;
        let stored = async {
            let mut history = self.setup.store.messages(session).await?;
            let Some(message) = history.last_mut() else { return Ok(()) };
            for tool in message.tools_mut() {
                let record = records.iter().find(|record| record.call.tool_call_id == tool.tool_call_id);
                if let Some(record) = record.filter(|_| !tool.state.is_settled()) {
                    tool.settle(&record.output);
                }
            }
            self.setup.store.put(session, message, None).await?;
            let message = message.clone();
            self.events.send(TurnEvent::Transcript(TranscriptEvent::MessageUpdated { message }));
            Ok::<_, StoreError>(())
        };
        if let Err(error) = stored.await {
            return Outcome::NotStored(error.to_string());
        }
        for record in records {
            if let Err(error) = self.show_result(record.clone()).await {
                return Outcome::Failed(error.to_string());
            }
        }
        Outcome::Stored
    }
}

/// How a submission ends with its turn.
fn submission_status(end: &TurnEnd) -> SubmissionStatus {
    match end.status {
        TurnStatus::Completed => SubmissionStatus::Completed,
        TurnStatus::Aborted => SubmissionStatus::Aborted,
        TurnStatus::Skipped => SubmissionStatus::Skipped,
        TurnStatus::Error | TurnStatus::Interrupted => SubmissionStatus::Error,
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
