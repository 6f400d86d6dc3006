//! Conversations that are too long for the model (`think.md` §4.7).

use uuid::Uuid;

use super::{ChatEvent, TurnDriver, compact};
use crate::turn::{Outcome, UiMessage, truncate_older};

impl TurnDriver {
    /// The provider has refused a request as too long: the conversation is shortened and the request made again, as long
    /// as that helps.
    pub(super) async fn overflowed(&mut self, error: String) -> Outcome {
        if self.overflows >= self.setup.overflow.max_retries {
            return Outcome::Overflowed(error);
        }
        self.overflows += 1;
        match self.compacted("overflow").await {
            Some(outcome) => {
                // A turn that begins again opens its stream again.
                self.started &= !self.machine.steps().is_empty();
                if !self.started && self.input.base_parts == 0 {
                    let message_id = Uuid::now_v7().to_string();
                    self.input.start.message_id.clone_from(&message_id);
                    self.machine.answer_as(message_id);
                }
                outcome
            }
            None => Outcome::Overflowed(error),
        }
    }

    /// Shortens the conversation if the last step was nearly as large as the model takes.
    pub(super) async fn compact_ahead(&mut self) -> Option<Outcome> {
        let proactive = self.setup.overflow.proactive.as_ref()?;
        let usage = self.machine.steps().last()?.answer.usage;
        let tokens = usage.input_tokens.or(usage.total_tokens)?;
        let step = self.machine.step_number();
        // What the last step used says nothing of a conversation that was shortened since.
        if self.compactions >= proactive.max_compactions
            || self.compacted_before == Some(step)
            || !proactive.is_reached(tokens)
        {
            return None;
        }
        // One that shortens nothing counts too: it would be as useless before the next step.
        self.compactions += 1;
        self.compacted("proactive").await
    }

    /// Shortens the conversation; none if it did not get shorter.
    async fn compacted(&mut self, reason: &'static str) -> Option<Outcome> {
        self.compacted_before = Some(self.machine.step_number());
        let session = &self.conversation.name;
        let shortened = match compact(&self.setup, session).await {
            Ok(shortened) => shortened,
            Err(error) => {
                tracing::warn!(session, "a conversation could not be shortened: {error}");
                false
            }
        };
        let request_id = &self.machine.start().request_id;
        self.events.chat(ChatEvent::ContextCompacted { reason, shortened, request_id: request_id.clone() });
        if !shortened {
            return None;
        }
        let mut history = match self.setup.store.messages(session).await {
            Ok(history) => history,
            Err(error) => return Some(Outcome::Failed(error.to_string())),
        };
        truncate_older(&mut history);
        Some(Outcome::Compacted(history.iter().flat_map(UiMessage::to_model).collect()))
    }
}
