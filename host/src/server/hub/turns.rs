//! What happens in turns, told to clients.

use serde_json::json;

use super::{Hub, text};
use crate::agent::{ChatEvent, SessionEvent, TranscriptEvent, TurnEvent};
use crate::server::chunks;
use crate::server::frames;
use crate::server::stream::{Request, Stream};
use crate::turn::{Chunk, Trigger, TurnStatus, UiMessage, UiRole};

impl Hub {
    pub(super) async fn event(&mut self, event: SessionEvent) {
        self.tally.count(&event);
        self.feed.note(&event);
        if matches!(event, SessionEvent::TurnStarted { .. } | SessionEvent::TurnEnded { .. }) {
            self.untold = false;
        }
        match event {
            SessionEvent::TurnStarted { request_id, trigger, continuation } => {
                if !self.requests.iter().any(|request| request.id == request_id) {
                    let automatic = trigger == Trigger::AutoContinuation;
                    let request = Request { id: request_id, continuation, automatic, ..Request::default() };
                    self.requests.push(request);
                }
            }
            SessionEvent::Turn { request_id, event } => match event {
                TurnEvent::Chunk(chunk) => self.chunk(&request_id, &chunk),
                TurnEvent::Transcript(event) => self.transcript(Some(&request_id), event).await,
                TurnEvent::Chat(event) => self.chat(event).await,
                event @ (TurnEvent::HookCall(_)
                | TurnEvent::ConfigChange(_)
                | TurnEvent::ToolCost(_)
                | TurnEvent::Health(_)
                | TurnEvent::Retry(_)) => self.observed(&request_id, &event),
            },
            SessionEvent::TurnEnded { request_id, status: TurnStatus::Skipped, .. } => {
                self.skipped(&request_id).await;
            }
            SessionEvent::TurnEnded { request_id, status, error } => {
                self.ended(&request_id, status, error).await;
            }
            SessionEvent::Chat { event } => self.chat(event).await,
            SessionEvent::Transcript { event } => self.transcript(None, event).await,
        }
    }

    async fn chat(&mut self, event: ChatEvent) {
        match event {
            // Told before the next turn begins, unlike the turn's end.
            ChatEvent::TurnFinish { request_id, status, error, .. } => {
                self.ended(&request_id, status, error).await;
            }
            ChatEvent::RecoveryScheduled(recovery) | ChatEvent::RecoveryAttempt(recovery) => {
                self.recovering(Some(recovery.recovery_root_request_id));
            }
            ChatEvent::RecoveryCompleted(_)
            | ChatEvent::RecoverySkipped { .. }
            | ChatEvent::RecoveryExhausted { .. }
            | ChatEvent::RecoveryFailed { .. } => self.recovering(None),
            ChatEvent::TurnStart { .. }
            | ChatEvent::StreamStalled { .. }
            | ChatEvent::TranscriptRepaired { .. }
            | ChatEvent::ContextCompacted { .. }
            | ChatEvent::RecoveryDetected(_)
            | ChatEvent::Submission { .. } => {}
        }
    }

    fn recovering(&mut self, root: Option<String>) {
        if self.recovering == root {
            return;
        }
        let id = root.as_ref().or(self.recovering.as_ref());
        let frame = frames::recovering(root.is_some(), id.map(String::as_str));
        self.tell_all(&frame);
        self.recovering = root;
    }

    async fn transcript(&mut self, turn: Option<&str>, event: TranscriptEvent) {
        let streaming = self.stream.as_ref().map(Stream::id);
        match event {
            // Before a turn shows anything it may change what was said before it, as a whole.
            TranscriptEvent::MessageUpdated { .. } if turn.is_some() && turn != streaming => {
                let mut stored = self.stored().await;
                if let Some(request) = self.requests.iter().find(|request| Some(&*request.id) == turn) {
                    request.without_answer(&mut stored);
                }
                self.tell_all(&frames::transcript(&stored, false));
            }
            TranscriptEvent::MessageUpdated { message } => {
                self.tell_all(&frames::message_updated(&message));
            }
            TranscriptEvent::UserMessage { .. } => {
                let stored = self.stored().await;
                self.tell_all(&frames::transcript(&stored, false));
            }
        }
    }

    fn chunk(&mut self, request_id: &str, chunk: &Chunk) {
        if self.stream.as_ref().is_none_or(|stream| stream.id() != request_id) {
            // A turn that shows nothing has no stream.
            if matches!(chunk, Chunk::Error { .. } | Chunk::Abort) {
                return;
            }
            self.open(request_id);
        }
        let Some(stream) = &mut self.stream else { return };
        match chunk {
            Chunk::Start { message_id } => stream.message_id = Some(message_id.clone()),
            Chunk::Error { error } => {
                stream.error = Some(error.clone());
                let frame = stream.failed(error, false);
                return self.tell_live(&frame);
            }
            _ => {}
        }
        if let Some(chunk) = chunks::ui(chunk, stream.request.continuation) {
            let frame = stream.push(&chunk);
            self.tell_live(&frame);
        }
    }

    /// Not kept: who comes later does not learn of it.
    fn observed(&mut self, request_id: &str, event: &TurnEvent) {
        if let Some(chunk) = chunks::observed(event) {
            let body = chunk.to_string();
            let frame = frames::response(json!({"id": request_id, "body": body, "done": false}));
            self.send(self.observers.clone(), &text(&frame));
        }
    }

    /// Tells those who wait, and who has had the conversation go on.
    fn open(&mut self, request_id: &str) {
        let request = self.take(request_id);
        let mut stream = Stream::new(request);
        self.excluded = std::mem::take(&mut self.waiting);
        if stream.request.automatic {
            stream.owner = self.answerer.take().filter(|owner| self.connections.contains_key(owner));
            self.excluded.extend(stream.owner);
        }
        let told: Vec<u64> = self.excluded.iter().copied().collect();
        let frame = frames::resuming(stream.id(), None);
        self.stream = Some(stream);
        for connection in told {
            self.tell(connection, &frame);
        }
    }

    fn take(&mut self, request_id: &str) -> Request {
        match self.requests.iter().position(|request| request.id == request_id) {
            Some(place) => self.requests.remove(place),
            None => Request { id: request_id.to_owned(), ..Request::default() },
        }
    }

    async fn ended(&mut self, request_id: &str, status: TurnStatus, error: Option<String>) {
        if self.last.as_ref().is_some_and(|last| last.id() == request_id) {
            return;
        }
        let cleared = self.cleared.remove(request_id);
        match self.stream.take_if(|stream| stream.id() == request_id) {
            Some(mut stream) => {
                if !cleared {
                    let stored = self.stored().await;
                    if stored.iter().any(|message| Some(&message.id) == stream.message_id.as_ref()) {
                        self.tell_all(&frames::transcript(&stored, false));
                    }
                }
                self.tell_all(&stream.done(status));
                self.excluded.clear();
                if stream.error.is_none() || cleared {
                    stream.forget();
                    stream.error = None;
                }
                self.last = Some(stream);
            }
            None => {
                let mut stream = Stream::new(self.take(request_id));
                match error {
                    Some(error) if !cleared => {
                        self.tell_all(&stream.failed(&error, true));
                        stream.error = Some(error);
                    }
                    _ => self.tell_all(&stream.done(status)),
                }
                self.last = Some(stream);
                for connection in std::mem::take(&mut self.waiting) {
                    self.tell(connection, &frames::resume_none(None, None));
                }
            }
        }
    }

    /// A request that never gets its turn: only who has asked is told.
    async fn skipped(&mut self, request_id: &str) {
        let cleared = self.cleared.remove(request_id);
        let stream = Stream::new(self.take(request_id));
        let Some(asker) = stream.request.asker else { return };
        if !cleared {
            let stored = self.stored().await;
            // The client shows a question that is not part of the conversation.
            if !stream.request.is_in(&stored) {
                self.tell(asker, &frames::transcript(&stored, false));
            }
        }
        self.tell(asker, &stream.done(TurnStatus::Skipped));
    }

    /// The conversation; nothing if it cannot be read.
    pub(super) async fn stored(&self) -> Vec<UiMessage> {
        match self.session.messages().await {
            Ok(messages) => messages,
            Err(error) => {
                tracing::error!(session = self.session.name(), "the conversation cannot be read: {error}");
                Vec::new()
            }
        }
    }
}

impl Request {
    /// Whether the messages that it brought are in a conversation.
    pub(super) fn is_in(&self, stored: &[UiMessage]) -> bool {
        self.message_ids.iter().all(|id| stored.iter().any(|message| message.id == *id))
    }

    /// Takes the answer off the end of a conversation: it may be stored by the time that its beginning is told.
    fn without_answer(&self, stored: &mut Vec<UiMessage>) {
        let Some(asked) = stored.iter().rposition(|message| self.message_ids.contains(&message.id)) else {
            return;
        };
        while stored.len() > asked + 1 && stored.last().is_some_and(|last| last.role == UiRole::Assistant) {
            stored.pop();
        }
    }
}
