//! What happens in turns, told to clients.

use serde_json::json;

use super::{Client, Hub, text};
use crate::agent::{ChatEvent, SessionEvent, TranscriptEvent, TurnEvent};
use crate::server::stream::{Request, Stream};
use crate::server::{chunks, frames};
use crate::turn::{Chunk, ExhaustedReason, Trigger, TurnStatus, UiMessage, UiRole};

impl Hub {
    pub(super) async fn event(&mut self, event: SessionEvent) {
        self.tally.count(&event);
        self.feed.note(&event);
        match event {
            SessionEvent::TurnStarted { request_id, trigger, continuation, message_ids } => {
                if !self.requests.iter().any(|request| request.id == request_id) {
                    let automatic = trigger == Trigger::AutoContinuation;
                    let request = Request {
                        id: request_id,
                        message_ids,
                        continuation,
                        automatic,
                        ..Request::default()
                    };
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
            SessionEvent::TurnEnded { status: TurnStatus::Interrupted, .. } => {}
            SessionEvent::TurnEnded { request_id, status: TurnStatus::Skipped, .. } => {
                self.skipped(&request_id).await;
            }
            SessionEvent::TurnEnded { request_id, status, error } => {
                if !self.finished.remove(&request_id) {
                    self.given_up(&request_id, status, error).await;
                }
            }
            SessionEvent::Chat { event } => self.chat(event).await,
            SessionEvent::Transcript { event } => self.transcript(None, event).await,
        }
    }

    async fn chat(&mut self, event: ChatEvent) {
        match event {
            // What becomes of it is told before its end.
            ChatEvent::TurnFinish { request_id, status: TurnStatus::Interrupted, .. } => {
                if self.stream.as_ref().is_none_or(|stream| stream.id() != request_id) {
                    self.stream = Some(Stream::new(self.taken(&request_id)));
                }
                if let Some(stream) = &mut self.stream {
                    stream.interrupted = true;
                }
            }
            // Told before the next turn begins, unlike the turn's end.
            ChatEvent::TurnFinish { request_id, status, error, stage, .. } => {
                self.finished.insert(request_id.clone());
                if let Some(stream) = &mut self.stream {
                    stream.refused = stage.is_some();
                }
                self.ended(&request_id, status, error).await;
            }
            ChatEvent::RecoveryScheduled(recovery) | ChatEvent::RecoveryAttempt(recovery) => {
                self.goes_on(recovery.recovery_root_request_id);
            }
            // Told after the turn's end.
            ChatEvent::RecoveryExhausted { reason, .. } => {
                self.exhausted = reason != ExhaustedReason::RecoveryError;
            }
            // It is taken up, but for the client's answer.
            ChatEvent::RecoverySkipped { recovery, reason: "awaiting_client_interaction" } => {
                self.goes_on(recovery.recovery_root_request_id);
                self.recovered();
            }
            ChatEvent::RecoveryCompleted(_)
            | ChatEvent::RecoverySkipped { .. }
            | ChatEvent::RecoveryFailed { .. } => self.recovered(),
            ChatEvent::TurnStart { .. }
            | ChatEvent::StreamStalled { .. }
            | ChatEvent::TranscriptRepaired { .. }
            | ChatEvent::ContextCompacted { .. }
            | ChatEvent::RecoveryDetected(_)
            | ChatEvent::Submission { .. } => {}
        }
    }

    /// A turn that was cut off is taken up.
    fn goes_on(&mut self, root: String) {
        self.held &= self.due;
        self.left = None;
        let mut cut_off = self.stream.take_if(|stream| stream.interrupted || stream.orphan);
        if cut_off.as_ref().is_some_and(|stream| stream.orphan) {
            self.excluded.clear();
        }
        if self.recovering.is_none() {
            self.tell_live(&frames::recovering(true, Some(&root)));
            self.recovering = Some(root);
        }
        if let Some(stream) = &mut cut_off {
            let status = if stream.orphan { TurnStatus::Aborted } else { TurnStatus::Interrupted };
            if stream.interrupted {
                self.tell_live(&stream.done(status));
                self.excluded.clear();
            }
            stream.close(status);
        }
        if let Some(stream) = cut_off {
            self.keep(stream);
        }
    }

    fn recovered(&mut self) {
        if let Some(root) = self.recovering.take() {
            self.tell_live(&frames::recovering(false, Some(&root)));
            self.nothing_comes();
        }
    }

    async fn transcript(&mut self, turn: Option<&str>, event: TranscriptEvent) {
        let cut_off = self.stream.as_ref().is_some_and(|stream| stream.orphan || stream.interrupted);
        let streaming = self.stream.as_ref().map(Stream::id).filter(|_| !cut_off);
        match event {
            // Before a turn shows anything it may change what was said before it, as a whole; and once it is cut off.
            TranscriptEvent::MessageUpdated { message } if turn.is_some() && turn != streaming => {
                let mut stored = self.stored_up_to(&message.id).await;
                if let Some(request) = self.requests.iter().find(|request| Some(&*request.id) == turn) {
                    request.without_answer(&mut stored);
                }
                if let Some(there) = stored.iter_mut().find(|there| there.id == message.id) {
                    *there = message;
                }
                self.tell_all(&frames::transcript(&stored, false));
            }
            TranscriptEvent::MessageUpdated { message } => {
                self.tell_all(&frames::message_updated(&message));
            }
            TranscriptEvent::UserMessage { message } => {
                let stored = self.stored_up_to(&message.id).await;
                self.tell_all(&frames::transcript(&stored, false));
            }
            TranscriptEvent::Arrived { messages } => {
                let last = messages.last().map(|message| &*message.id);
                let stored = self.stored_up_to(last.unwrap_or_default()).await;
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
            // Told with the turn's end, which says what kind of failure it is.
            Chunk::Error { error } => stream.error = Some(error.clone()),
            _ => {}
        }
        if let Some(frame) = stream.push(chunk) {
            self.tell_live(&frame);
        }
    }

    /// Not kept: who comes later does not learn of it.
    fn observed(&mut self, request_id: &str, event: &TurnEvent) {
        if let Some(chunk) = chunks::observed(event) {
            let body = chunk.to_string();
            let frame = frames::response(json!({"id": request_id, "body": body, "done": false}));
            let observers = self
                .connections
                .iter()
                .filter(|(_, connection)| connection.client == Client::Posted { observes: true });
            self.send(observers.map(|(id, _)| *id).collect::<Vec<_>>(), &text(&frame));
        }
    }

    /// Tells those who wait, and who has had the conversation go on.
    fn open(&mut self, request_id: &str) {
        self.held = false;
        self.closed.iter_mut().for_each(Stream::forget);
        let request = self.taken(request_id);
        let mut stream = Stream::new(request);
        let mut told: Vec<u64> = self.waiting.drain().collect();
        if stream.request.automatic
            && let Some(answers) = self.answers.take()
        {
            stream.owner = answers.owner;
            told.extend(answers.awaiting);
        }
        let frame = frames::resuming(stream.id(), None);
        self.stream = Some(stream);
        for connection in told {
            self.excluded.insert(connection);
            self.tell(connection, &frame);
        }
    }

    fn take(&mut self, request_id: &str) -> Option<Request> {
        let place = self.requests.iter().position(|request| request.id == request_id)?;
        Some(self.requests.remove(place))
    }

    /// As above; of a turn that nobody has heard of its id alone.
    fn taken(&mut self, request_id: &str) -> Request {
        let unknown = || Request { id: request_id.to_owned(), ..Request::default() };
        self.take(request_id).unwrap_or_else(unknown)
    }

    /// A turn ends that was cut off, or has never begun.
    async fn given_up(&mut self, request_id: &str, status: TurnStatus, error: Option<String>) {
        self.held = false;
        let spent = std::mem::take(&mut self.exhausted);
        let cut_off = self.stream.take_if(|stream| stream.orphan || stream.interrupted);
        let Some(mut stream) = cut_off.or(self.left.take().map(Stream::new)) else {
            return self.ended(request_id, status, error).await;
        };
        // Who awaits the replay of what an earlier process has shown still gets it, and is told when it asks again.
        let awaited = stream.orphan && spent;
        if stream.orphan && !spent {
            self.excluded.clear();
        }
        match error {
            Some(error) => {
                self.tell_live(&stream.given_up(&error));
                self.fail(stream.request.clone(), &error).await;
                stream.error = Some(error).filter(|_| stream.interrupted);
            }
            None if stream.interrupted => self.tell_live(&stream.done(status)),
            None => {}
        }
        self.recovered();
        self.nothing_comes();
        if awaited {
            self.stream = Some(stream);
            return;
        }
        self.excluded.clear();
        stream.close(TurnStatus::Aborted);
        self.keep(stream);
    }

    async fn ended(&mut self, request_id: &str, status: TurnStatus, error: Option<String>) {
        let cleared = self.cleared.remove(request_id);
        let Some(mut stream) = self.stream.take_if(|stream| stream.id() == request_id) else {
            return self.ended_unseen(request_id, status, error.filter(|_| !cleared)).await;
        };
        if cleared {
            self.tell_live(&stream.done(status));
            return;
        }
        if let Some(error) = stream.error.as_ref().filter(|_| !stream.refused) {
            self.tell_live(&stream.failed(error, false));
        }
        let answer = stream.message_id.as_deref().unwrap_or_default();
        let mut stored = self.stored_up_to(answer).await;
        let ends = |stored: &[UiMessage]| stored.iter().any(|message| message.id == answer);
        if !ends(&stored)
            && let Ok(before) = self.session.history(answer).await
        {
            // The turn after it has begun to answer anew: this is the conversation as this one has left it.
            stored = before;
        }
        let kept = ends(&stored);
        if kept {
            self.tell_all(&frames::transcript(&stored, false));
        }
        self.excluded.clear();
        match stream.error.as_ref().filter(|_| stream.refused) {
            Some(error) => self.tell_live(&stream.failed(error, true)),
            None => self.tell_live(&stream.done(status)),
        }
        if let Some(error) = stream.error.clone() {
            self.fail(stream.request.clone(), &error).await;
        } else if kept {
            stream.forget();
        }
        stream.close(status);
        self.keep(stream);
    }

    /// A turn has ended that has shown nothing.
    async fn ended_unseen(&mut self, request_id: &str, status: TurnStatus, error: Option<String>) {
        let Some(request) = self.take(request_id) else { return };
        let stream = Stream::new(request);
        let automatic = stream.request.automatic;
        match error {
            Some(error) => {
                self.tell_live(&stream.failed(&error, true));
                self.fail(stream.request, &error).await;
            }
            None => self.tell_live(&stream.done(status)),
        }
        let awaiting = if automatic { self.answers.take().map(|answers| answers.awaiting) } else { None };
        for connection in awaiting.into_iter().flatten() {
            self.tell(connection, &frames::resume_none(None, None));
        }
        self.nothing_comes();
    }

    /// Tells those who wait for a stream that none begins, if so.
    fn nothing_comes(&mut self) {
        if self.stream.is_some() || self.requests.iter().any(|request| request.asked) {
            return;
        }
        for connection in std::mem::take(&mut self.waiting) {
            self.tell(connection, &frames::resume_none(None, None));
        }
    }

    /// A request that never gets its turn: only who has asked is told, unless the conversation is cleared.
    async fn skipped(&mut self, request_id: &str) {
        let Some(request) = self.take(request_id) else { return };
        let stream = Stream::new(request);
        let done = stream.done(TurnStatus::Skipped);
        if self.cleared.remove(request_id) {
            return self.tell_live(&done);
        }
        let Some(asker) = stream.request.asker else { return };
        let stored = self.stored().await;
        // The client shows a question that is not part of the conversation.
        if !stream.request.is_in(&stored) {
            self.tell(asker, &frames::transcript(&stored, false));
        }
        self.tell(asker, &done);
    }

    /// The conversation without the answers after a message, if it is there: they may be stored by the time that it is told.
    async fn stored_up_to(&self, message_id: &str) -> Vec<UiMessage> {
        let mut stored = self.stored().await;
        if let Some(place) = stored.iter().position(|message| message.id == message_id) {
            let mut number = 0;
            stored.retain(|message| {
                number += 1;
                number <= place + 1 || message.role != UiRole::Assistant
            });
        }
        stored
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
        if self.continuation {
            return;
        }
        let Some(asked) = stored.iter().rposition(|message| self.message_ids.contains(&message.id)) else {
            return;
        };
        while stored.len() > asked + 1 && stored.last().is_some_and(|last| last.role == UiRole::Assistant) {
            stored.pop();
        }
    }
}
