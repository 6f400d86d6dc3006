use std::collections::VecDeque;

use parking_lot::Mutex;

use crate::turn::UiMessage;

/// How many of the messages that wait are taken up at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueMode {
    /// One; each gets an answer of its own.
    #[default]
    OneAtATime,
    /// All that wait; they are answered together.
    All,
}

/// Messages of the user that wait for the running turn, by their ids.
#[derive(Debug)]
pub(crate) struct MessageQueue {
    mode: QueueMode,
    waiting: Mutex<VecDeque<UiMessage>>,
}

impl MessageQueue {
    pub(crate) fn new(mode: QueueMode) -> Self {
        Self { mode, waiting: Mutex::default() }
    }

    pub(crate) fn push(&self, message: UiMessage) {
        self.waiting.lock().push_back(message);
    }

    /// Takes one back that waits; false if it was taken up, or never waited.
    pub(crate) fn remove(&self, id: &str) -> bool {
        let mut waiting = self.waiting.lock();
        let before = waiting.len();
        waiting.retain(|message| message.id != id);
        waiting.len() < before
    }

    /// The next to take up; empty if none waits.
    pub(super) fn take(&self) -> Vec<UiMessage> {
        let mut waiting = self.waiting.lock();
        let many = match self.mode {
            QueueMode::OneAtATime => waiting.len().min(1),
            QueueMode::All => waiting.len(),
        };
        waiting.drain(..many).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.lock().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_or_all_are_taken_and_a_waiting_one_can_be_taken_back() {
        for (mode, first) in [(QueueMode::OneAtATime, vec!["a"]), (QueueMode::All, vec!["a", "c"])] {
            let queue = MessageQueue::new(mode);
            for id in ["a", "b", "c"] {
                queue.push(UiMessage::user(id, id));
            }
            assert!(queue.remove("b") && !queue.remove("b"));
            let taken: Vec<String> = queue.take().into_iter().map(|message| message.id).collect();
            assert_eq!(taken, first);
            assert_eq!(queue.len(), 2 - first.len());
        }
    }
}
