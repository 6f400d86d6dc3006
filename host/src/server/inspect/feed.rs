use std::collections::HashMap;

use axum::extract::ws::Utf8Bytes;
use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use super::memory::{Memory, Noted};
use crate::agent::{SessionEvent, TurnEvent};
use crate::server::outbox::Outbox;
use crate::turn::Chunk;

/// What a session's inspectors are told: what is remembered of its latest turns, then what happens.
pub(in crate::server) struct Feed {
    /// Part of each event's id: numbers begin anew with each feed.
    epoch: String,
    next: u64,
    memory: Memory,
    inspectors: HashMap<u64, Outbox>,
}

impl Feed {
    pub(in crate::server) fn new() -> Self {
        Self {
            epoch: Uuid::now_v7().simple().to_string(),
            next: 0,
            memory: Memory::default(),
            inspectors: HashMap::new(),
        }
    }

    /// Tells an inspector what is remembered, but for what it has seen: up to the event with the id `after`.
    pub(in crate::server) fn join(&mut self, inspector: u64, after: Option<&str>, outbox: Outbox) {
        let seen = after.and_then(|id| id.strip_prefix(&*self.epoch)?.strip_prefix('-')?.parse::<u64>().ok());
        let events = self.memory.events().into_iter();
        let missed = events.filter(|noted| seen.is_none_or(|seen| noted.number > seen));
        let mut told: String = missed.map(|noted| self.frame(noted)).collect();
        told.push_str(": from here on it is live\n\n");
        // In one piece: a single frame is never too much.
        if outbox.send(told.into()).is_ok() {
            self.inspectors.insert(inspector, outbox);
        }
    }

    pub(in crate::server) fn leave(&mut self, inspector: u64) {
        self.inspectors.remove(&inspector);
    }

    pub(in crate::server) fn is_watched(&self) -> bool {
        !self.inspectors.is_empty()
    }

    /// Whether there was never an event.
    pub(in crate::server) fn is_blank(&self) -> bool {
        self.next == 0
    }

    /// Remembers an event and tells it. Who reads too slowly is let go of, and may come back.
    pub(in crate::server) fn note(&mut self, event: &SessionEvent) {
        if is_delta(event) {
            return;
        }
        let noted = Noted { number: self.next, at: Timestamp::now().as_millisecond(), event: event.clone() };
        self.next += 1;
        if self.is_watched() {
            let frame = Utf8Bytes::from(self.frame(&noted));
            self.inspectors.retain(|_, outbox| outbox.send(frame.clone()).is_ok());
        }
        self.memory.push(noted);
    }

    fn frame(&self, noted: &Noted) -> String {
        #[derive(Serialize)]
        struct Data<'a> {
            at: i64,
            #[serde(flatten)]
            event: &'a SessionEvent,
        }
        let Noted { number, at, event } = noted;
        match serde_json::to_string(&Data { at: *at, event }) {
            Ok(data) => format!("id: {}-{number}\ndata: {data}\n\n", self.epoch),
            Err(error) => {
                tracing::error!("an event cannot be told to inspectors: {error}");
                String::new()
            }
        }
    }
}

/// One of the many: clients of the chat have them, whole parts come later.
fn is_delta(event: &SessionEvent) -> bool {
    let SessionEvent::Turn { event: TurnEvent::Chunk(chunk), .. } = event else { return false };
    matches!(chunk, Chunk::TextDelta { .. } | Chunk::ReasoningDelta { .. } | Chunk::ToolInputDelta { .. })
}
