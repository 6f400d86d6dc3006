use std::collections::VecDeque;

use super::weight::weight;
use crate::agent::SessionEvent;

/// Turns of a session that are remembered. 16: what somebody who comes to look wants to see.
const TURNS: usize = 16;

/// Bytes that they may take up together, about. 1 MiB: a thousand sessions with inspectors are a gigabyte at worst.
const BYTES: usize = 1 << 20;

/// An event of a session.
pub(super) struct Noted {
    pub(super) number: u64,
    /// When, in milliseconds since 1970.
    pub(super) at: i64,
    pub(super) event: SessionEvent,
}

/// The events of the latest turns.
#[derive(Default)]
pub(super) struct Memory {
    turns: VecDeque<Turn>,
    bytes: usize,
}

/// A turn, and what happened outside of turns until the next one.
#[derive(Default)]
struct Turn {
    /// None of what happened before the first.
    request_id: Option<String>,
    events: VecDeque<Noted>,
    bytes: usize,
}

impl Memory {
    /// All of it, in order.
    pub(super) fn events(&self) -> Vec<&Noted> {
        let mut events: Vec<&Noted> = self.turns.iter().flat_map(|turn| &turn.events).collect();
        // The end of a turn may be told when the next one has begun.
        events.sort_by_key(|noted| noted.number);
        events
    }

    /// Adds an event. What is then too much is forgotten: the oldest turns, and of a single one its beginning.
    pub(super) fn push(&mut self, noted: Noted) {
        let bytes = weight(&noted.event);
        self.turn(&noted.event).push(noted, bytes);
        self.bytes += bytes;
        while self.turns.len() > TURNS || (self.bytes > BYTES && self.turns.len() > 1) {
            let forgotten = self.turns.pop_front();
            self.bytes -= forgotten.map_or(0, |turn| turn.bytes);
        }
        while self.bytes > BYTES
            && let Some(forgotten) = self.turns.front_mut().and_then(Turn::forget_first)
        {
            self.bytes -= forgotten;
        }
    }

    /// The turn that an event belongs to.
    fn turn(&mut self, event: &SessionEvent) -> &mut Turn {
        let request_id = match event {
            SessionEvent::TurnStarted { request_id, .. }
            | SessionEvent::Turn { request_id, .. }
            | SessionEvent::TurnEnded { request_id, .. } => Some(request_id),
            SessionEvent::Chat { .. } | SessionEvent::Transcript { .. } => None,
        };
        let known = self.turns.iter().rposition(|turn| turn.request_id.as_ref() == request_id);
        let place = match (known, request_id) {
            (Some(place), Some(_)) => place,
            (None, Some(id)) => {
                self.turns.push_back(Turn { request_id: Some(id.clone()), ..Turn::default() });
                self.turns.len() - 1
            }
            (_, None) => self.turns.len().saturating_sub(1),
        };
        if self.turns.is_empty() {
            self.turns.push_back(Turn::default());
        }
        &mut self.turns[place]
    }
}

impl Turn {
    fn push(&mut self, noted: Noted, bytes: usize) {
        self.events.push_back(noted);
        self.bytes += bytes;
    }

    fn forget_first(&mut self) -> Option<usize> {
        let bytes = weight(&self.events.pop_front()?.event);
        self.bytes -= bytes;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::TranscriptEvent;
    use crate::turn::{Trigger, TurnStatus, UiMessage};

    fn started(id: &str) -> SessionEvent {
        let trigger = Trigger::default();
        SessionEvent::TurnStarted { request_id: id.into(), trigger, continuation: false, message_ids: vec![] }
    }

    fn ended(id: &str) -> SessionEvent {
        SessionEvent::TurnEnded { request_id: id.into(), status: TurnStatus::Completed, error: None }
    }

    fn says(bytes: usize) -> SessionEvent {
        let message = UiMessage::user("u", "x".repeat(bytes));
        SessionEvent::Transcript { event: TranscriptEvent::UserMessage { message } }
    }

    fn remembered(events: Vec<SessionEvent>) -> Vec<u64> {
        let mut memory = Memory::default();
        for (number, event) in (0..).zip(events) {
            memory.push(Noted { number, at: 0, event });
        }
        assert_eq!(memory.bytes, memory.events().iter().map(|noted| weight(&noted.event)).sum::<usize>());
        memory.events().iter().map(|noted| noted.number).collect()
    }

    #[test]
    fn the_latest_turns_are_remembered_whole() {
        let ids: Vec<String> = (0..18).map(|number| number.to_string()).collect();
        let events = ids.iter().flat_map(|id| [started(id), ended(id)]).collect();
        assert_eq!(remembered(events), (4..36).collect::<Vec<_>>());
        let late = vec![started("a"), started("b"), ended("a"), says(BYTES / 2), says(BYTES / 2)];
        assert_eq!(remembered(late), [4], "the end of a turn goes with it");
    }

    #[test]
    fn no_turn_is_larger_than_the_memory() {
        assert_eq!(remembered(vec![started("a"), says(BYTES / 2), says(BYTES / 4)]), [0, 1, 2]);
        assert_eq!(remembered(vec![started("a"), says(BYTES / 2), says(BYTES / 3), says(BYTES / 3)]), [2, 3]);
        assert_eq!(remembered(vec![says(BYTES + 1)]), [0; 0]);
        assert_eq!(remembered(vec![started("a"), says(BYTES - 600), started("b"), ended("b")]), [2, 3]);
    }
}
