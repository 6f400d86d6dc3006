//! What a turn adds to the conversation: its answer, or several with the user's messages between them.

use super::{ModelMessage, TurnMachine, UiMessage, UiPart, UiRole};

impl TurnMachine {
    /// What this turn has added to the conversation: what it began with, and its steps as they were.
    #[must_use]
    pub fn new_messages(&self) -> Vec<ModelMessage> {
        let mut messages = self.assembly().new_messages.clone();
        for step in self.steps() {
            step.push_messages(&mut messages);
        }
        messages
    }

    /// What there is to store, in order: an answer, and after each time that waiting messages were taken up, these and
    /// the answer to them. An answer of which nothing has come is left out.
    #[must_use]
    pub fn stored_messages(&self) -> Vec<UiMessage> {
        let mut first = answer(&self.start().message_id);
        first.parts.clone_from(&self.assembly().parts);
        if !self.steps().is_empty() {
            first.parts.iter_mut().for_each(UiPart::close);
        }
        let mut messages = vec![first];
        for step in self.steps() {
            if let Some(taken) = &step.taken {
                messages.extend(taken.messages.iter().cloned());
                messages.push(answer(&taken.message_id));
            }
            if let Some(last) = messages.last_mut() {
                last.push_step(step);
            }
        }
        messages.extend(self.taken().into_iter().flat_map(|taken| taken.messages.iter().cloned()));
        messages.retain(|message| !message.parts.is_empty());
        messages
    }

    /// The last answer as it is stored; none while there is nothing to store.
    #[must_use]
    pub fn message(&self) -> Option<UiMessage> {
        self.stored_messages().into_iter().rev().find(|message| message.role == UiRole::Assistant)
    }
}

fn answer(id: &str) -> UiMessage {
    UiMessage { id: id.to_owned(), role: UiRole::Assistant, parts: Vec::new(), metadata: None }
}
