use std::sync::Arc;

use tokio::sync::oneshot;
use uuid::Uuid;

use super::concurrency::Concurrency;
use super::live::{Admission, Live, Plan};
use super::reconcile::reconcile;
use super::stream::{Skipped, TurnResult, TurnStream};
use super::{AnswerError, ChatRequest, EntryError, Watcher};
use crate::driver::{Arrival, ClientAnswer};
use crate::store::{Incoming, LastRequest, Received, Store};
use crate::turn::{Json, ToolError, ToolOutput, Trigger, UiMessage, UiRole};

/// One conversation. Clones, and sessions of one agent opened under one name, are the same. What waits to be taken up
/// waits as long as somebody holds the session.
///
/// Every way to start a turn waits for the turns before it. None may be called from a tool or hook of a turn of the same
/// session, which would wait for itself: that is an [`EntryError::InsideTurn`]. From there use
/// [`steer`](Self::steer), [`follow_up`](Self::follow_up) or [`add_messages`](Self::add_messages).
#[derive(Clone)]
pub struct Session {
    pub(super) live: Arc<Live>,
}

impl Session {
    pub(super) fn new(live: Arc<Live>) -> Self {
        Self { live }
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.live.setup.store
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.live.conversation.name
    }

    /// The conversation, oldest first.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn messages(&self) -> Result<Vec<UiMessage>, EntryError> {
        Ok(self.live.messages().await?)
    }

    /// Shortens the conversation, as [`AgentBuilder::compaction`](super::AgentBuilder::compaction) says; true if it got
    /// shorter. A turn that runs goes on with what it began with.
    ///
    /// # Errors
    ///
    /// If the summary cannot be written, or the store fails.
    pub async fn compact(&self) -> Result<bool, EntryError> {
        Ok(self.live.compact().await?)
    }

    /// What happens in the session from now on, in all its turns, as long as somebody holds it. Whoever asks first also
    /// gets what has happened since it was opened, if an earlier process has left turns in it: they go on at once. Whoever
    /// reads too slowly is left behind.
    #[must_use]
    pub fn watch(&self) -> Watcher {
        self.live.unseen.lock().take().unwrap_or_else(|| self.live.watchers.watch())
    }

    /// Starts a turn with a user's message, which is stored at once, also if the turn has to wait. The turn runs whether
    /// or not its stream is read. If one runs already, the agent's [`Concurrency`] decides.
    ///
    /// # Errors
    ///
    /// If it is called from inside a turn of this session.
    pub async fn send(&self, request: impl Into<ChatRequest>) -> Result<TurnStream, EntryError> {
        let live = &self.live;
        live.outside_turns()?;
        let request: ChatRequest = request.into();
        let message_ids = request.message_ids();
        let ChatRequest { request_id, messages, body, client_tools, trigger, channel, regenerate } = request;
        let mut admission = Admission::new(trigger);
        admission.request_id = request_id.unwrap_or(admission.request_id);
        let overlapping = live.turns.is_busy();
        let policy = if regenerate { Concurrency::Queue } else { live.concurrency };
        if overlapping && policy == Concurrency::Drop {
            return Ok(live.refuse(admission.request_id, Skipped::Dropped));
        }
        // A client may ask without a new message.
        if trigger != Trigger::WsChat && messages.iter().all(|message| message.parts.is_empty()) {
            return Ok(live.refuse(admission.request_id, Skipped::Empty));
        }
        let parent = messages.last().filter(|_| regenerate).map(|message| message.id.clone());
        let mut turn = live.noted(&admission.request_id, trigger);
        turn.parent.clone_from(&parent);
        turn.message_ids.clone_from(&message_ids);
        let number = live.submissions.next();
        // In the queue before it is stored: whoever sends meanwhile finds the session busy.
        let (stored, arrived) = oneshot::channel();
        let stream = live.admit(admission, move |live, admission| {
            Box::pin(async move {
                // Whoever sent it went away before it was stored.
                let Ok((arrival, last)) = arrived.await else { return Plan::Skip(Skipped::Empty) };
                if !live.submissions.is_due(number, overlapping, policy).await {
                    return Plan::Skip(Skipped::Superseded);
                }
                let mut input = live.input(&admission, arrival, last);
                input.merge = policy == Concurrency::Merge;
                input.parent = parent;
                input.message_ids = message_ids;
                Plan::Run(Box::new(input))
            })
        });
        // An answer of the client's is looked for by more than its id.
        let only = match &messages[..] {
            [message] if message.role == UiRole::User => Some(message.id.clone()),
            _ => None,
        };
        let reconcile =
            Box::new(move |history: &[UiMessage]| reconcile(history, messages, channel.as_deref()));
        let incoming = Incoming { reconcile, only, turn, body, client_tools };
        let arrival = match live.setup.store.receive(self.name(), incoming).await {
            Ok(Received { stored, last }) => {
                let new = stored.into_iter().filter(|message| message.role == UiRole::User).collect();
                (Arrival::Stored(new), last)
            }
            Err(error) => (Arrival::Failed(error.to_string()), LastRequest::default()),
        };
        // The turn is there as long as its stream is.
        let _ = stored.send(arrival);
        Ok(stream)
    }

    /// Adds messages and answers them, and waits for the answer. `messages` makes them from the conversation when the
    /// turn is due; with none of them there is no turn.
    ///
    /// # Errors
    ///
    /// If it is called from inside a turn of this session.
    pub async fn save_messages(
        &self,
        messages: impl FnOnce(&[UiMessage]) -> Vec<UiMessage> + Send + 'static,
    ) -> Result<TurnResult, EntryError> {
        Ok(self.begin(Trigger::Programmatic, messages)?.finish().await)
    }

    /// Adds messages and answers them, and waits for the answer (Think's `runTurn` in the mode `wait`). Without messages
    /// there is no turn.
    ///
    /// # Errors
    ///
    /// If it is called from inside a turn of this session.
    pub async fn run_turn(&self, messages: Vec<UiMessage>) -> Result<TurnResult, EntryError> {
        self.save_messages(|_| messages).await
    }

    /// As [`run_turn`](Self::run_turn), with the stream (Think's `runTurn` in the mode `stream`).
    ///
    /// # Errors
    ///
    /// If it is called from inside a turn of this session.
    pub fn stream_turn(&self, messages: Vec<UiMessage>) -> Result<TurnStream, EntryError> {
        self.begin(Trigger::Rpc, |_| messages)
    }

    fn begin(
        &self,
        trigger: Trigger,
        messages: impl FnOnce(&[UiMessage]) -> Vec<UiMessage> + Send + 'static,
    ) -> Result<TurnStream, EntryError> {
        self.live.outside_turns()?;
        Ok(self.live.admit(Admission::new(trigger), move |live, admission| {
            Box::pin(async move {
                let arrival = match live.messages().await {
                    Ok(history) => Arrival::Now(messages(&history)),
                    Err(error) => Arrival::Failed(error.to_string()),
                };
                if matches!(&arrival, Arrival::Now(messages) if messages.is_empty()) {
                    return Plan::Skip(Skipped::Empty);
                }
                let last = live.last_request().await.unwrap_or_default();
                Plan::Run(Box::new(live.input(&admission, arrival, last)))
            })
        }))
    }

    /// Goes on from the last answer, in a new message. Without an answer there is no turn. `body` replaces the custom
    /// fields of the last request.
    ///
    /// # Errors
    ///
    /// If it is called from inside a turn of this session.
    pub fn continue_last_turn(&self, body: Option<Json>) -> Result<TurnStream, EntryError> {
        self.live.outside_turns()?;
        Ok(self.live.admit(Admission::continuing(Trigger::Programmatic), |live, admission| {
            Box::pin(async move {
                let mut plan = live.go_on(admission).await;
                if let (Plan::Run(input), Some(body)) = (&mut plan, body) {
                    input.start.body = Some(body);
                }
                plan
            })
        }))
    }

    /// Answers a user's message once more: the one with that id, or the last one. The new answer becomes a sibling of
    /// the old one, and the conversation goes on from it; nothing is lost.
    ///
    /// # Errors
    ///
    /// If it is called from inside a turn of this session.
    pub fn regenerate(&self, message_id: Option<&str>) -> Result<TurnStream, EntryError> {
        self.live.outside_turns()?;
        let wanted = message_id.map(str::to_owned);
        Ok(self.live.admit(Admission::new(Trigger::Programmatic), |live, admission| {
            Box::pin(async move {
                let last = live.last_request().await.unwrap_or_default();
                let mut input = live.input(&admission, Arrival::Stored(Vec::new()), last);
                // A question that a summary stands for can be answered again too.
                match live.setup.store.path(&live.conversation.name).await {
                    Err(error) => input.arrival = Arrival::Failed(error.to_string()),
                    Ok(messages) => {
                        let meant = |message: &&UiMessage| match &wanted {
                            Some(id) => message.id == *id,
                            None => message.role == UiRole::User,
                        };
                        let Some(parent) = messages.iter().rev().find(meant) else {
                            return Plan::Skip(Skipped::Empty);
                        };
                        input.parent = Some(parent.id.clone());
                    }
                }
                Plan::Run(Box::new(input))
            })
        }))
    }

    /// Adds messages without a turn, as answers to the message with the id `parent` or to the last one; a message with
    /// an id that is there already replaces that one. May be called from inside a turn.
    ///
    /// # Errors
    ///
    /// If there is no message with the id `parent`, or the store fails.
    pub async fn add_messages(&self, messages: &[UiMessage], parent: Option<&str>) -> Result<(), EntryError> {
        let mut parent = parent;
        for message in messages {
            self.live.put(message, parent).await?;
            parent = None;
        }
        Ok(())
    }

    /// Has a message taken up by the turn that runs, after its running step; by the next turn if none runs. Returns the
    /// message's id.
    pub fn steer(&self, text: impl Into<String>) -> String {
        let message = UiMessage::user(Uuid::now_v7().to_string(), text);
        let id = message.id.clone();
        self.live.conversation.steering.push(message);
        id
    }

    /// Has a message answered when the turn that runs would end. Returns the message's id.
    pub fn follow_up(&self, text: impl Into<String>) -> String {
        let message = UiMessage::user(Uuid::now_v7().to_string(), text);
        let id = message.id.clone();
        self.live.conversation.follow_ups.push(message);
        id
    }

    /// Takes back a message that waits; false if it has been taken up.
    #[must_use]
    pub fn withdraw(&self, message_id: &str) -> bool {
        let conversation = &self.live.conversation;
        conversation.steering.remove(message_id) || conversation.follow_ups.remove(message_id)
    }

    /// How many messages wait to be taken up.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.live.conversation.steering.len() + self.live.conversation.follow_ups.len()
    }

    /// Whether a turn runs or waits.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.live.turns.is_busy()
    }

    /// Gives the result of a tool call that a client has run. With `go_on` the conversation continues by itself, in a
    /// turn of its own, once every call of the answer has its result.
    ///
    /// # Errors
    ///
    /// If no such call waits for a result, or the store fails. In the first case the conversation goes on all the same,
    /// if that is asked for.
    pub async fn tool_result(
        &self,
        tool_call_id: &str,
        result: Result<Json, ToolError>,
        go_on: bool,
    ) -> Result<(), AnswerError> {
        let answer = ClientAnswer::Result(ToolOutput::from(result));
        self.live.answer(tool_call_id, answer, go_on).await
    }

    /// Says whether a tool call may run that waits for a person's approval. An approved one runs when the conversation
    /// continues, a refused one never. `go_on` as in [`tool_result`](Self::tool_result).
    ///
    /// # Errors
    ///
    /// If no such call waits for an approval, or the store fails.
    pub async fn approve(
        &self,
        tool_call_id: &str,
        approved: bool,
        reason: Option<String>,
        go_on: bool,
    ) -> Result<(), AnswerError> {
        self.live.answer(tool_call_id, ClientAnswer::Approval { approved, reason }, go_on).await
    }

    /// The turn that takes up one that an earlier process has begun: to be seen, once. It runs whether or not this is
    /// called; dropping the stream cancels it.
    #[must_use]
    pub fn recovery(&self) -> Option<TurnStream> {
        self.live.recovery.lock().take()
    }

    /// Cancels the turn with that id, whether it runs or waits; false if there is none.
    #[must_use]
    pub fn cancel(&self, request_id: &str) -> bool {
        self.live.cancel(request_id)
    }

    /// Turns that wait never begin, and nothing goes on by itself. The turn that runs goes on.
    pub fn reset(&self) {
        self.live.turns.reset();
        self.live.continuation.disarm();
    }

    /// As [`reset`](Self::reset), and cancels the turn that runs.
    pub fn stop(&self) {
        self.reset();
        self.live.cancel_all();
    }
}
