//! What built-in hooks are shown of a turn that was interrupted, and of submissions.

use std::sync::Arc;

use super::panic::caught;
use super::{HookResult, Hooks};
use crate::turn::{ExhaustedReason, Json, RecoveryKind, SubmissionStatus, ToolDefinition, UiMessage, UiPart};
use parking_lot::Mutex;

/// What a turn keeps for its recovery: set from `before_turn`, shown to `on_chat_recovery` (Think's `stash`).
#[derive(Clone, Debug, Default)]
pub struct Stash(Arc<Mutex<Option<Json>>>);

impl Stash {
    /// Keeps a value, in place of what was there. It is stored before the model is asked.
    pub fn set(&self, value: Json) {
        *self.0.lock() = Some(value);
    }

    /// What is kept.
    #[must_use]
    pub fn get(&self) -> Option<Json> {
        self.0.lock().clone()
    }
}

/// Of `on_chat_recovery` and `should_keep_recovering` (`think.md` §4.4).
#[derive(Clone, Copy, Debug)]
pub struct ChatRecoveryContext<'a> {
    /// The session.
    pub session: &'a str,
    /// The same for all attempts at one turn.
    pub incident_id: &'a str,
    /// The turn that was interrupted.
    pub request_id: &'a str,
    /// The turn with which it began.
    pub recovery_root_request_id: &'a str,
    /// How it is to be taken up.
    pub recovery_kind: RecoveryKind,
    /// The attempt that would begin, from 1; from 1 again after each that brought something.
    pub attempt: u32,
    /// How many there may be in a row.
    pub max_attempts: u32,
    /// The text of what is there of the answer.
    pub partial_text: &'a str,
    /// What is there of the answer.
    pub partial_parts: &'a [UiPart],
    /// What the turn has stashed.
    pub recovery_data: Option<&'a Json>,
    /// The conversation as it is stored: of the answer, what earlier attempts have brought.
    pub messages: &'a [UiMessage],
    /// Custom fields of the turn's request, an object.
    pub last_body: Option<&'a Json>,
    /// Tools that its client runs.
    pub last_client_tools: &'a [ToolDefinition],
    /// When the turn began, in milliseconds since 1970.
    pub created_at: u64,
}

/// What `on_chat_recovery` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatRecoveryOptions {
    /// Whether what is there of the answer is kept. What holds a tool's result is kept in any case. Without it the user's
    /// message is asked again.
    pub persist: bool,
    /// Whether the turn is taken up at all (Think's `continue`).
    pub go_on: bool,
}

impl Default for ChatRecoveryOptions {
    fn default() -> Self {
        Self { persist: true, go_on: true }
    }
}

/// Of `on_exhausted`.
#[derive(Clone, Copy, Debug)]
pub struct ExhaustedContext<'a> {
    /// The turn, and what is there of it.
    pub recovery: ChatRecoveryContext<'a>,
    /// Why it is given up.
    pub reason: ExhaustedReason,
    /// What the user is told.
    pub terminal_message: &'a str,
}

/// Of `on_submission_status`.
#[derive(Clone, Copy, Debug)]
pub struct SubmissionStatusContext<'a> {
    /// The session.
    pub session: &'a str,
    /// Which.
    pub submission_id: &'a str,
    /// How far it is now.
    pub status: SubmissionStatus,
    /// What happened, with status error.
    pub error: Option<&'a str>,
}

/// The built-in hooks that are asked about interrupted turns and told of submissions.
#[derive(Clone)]
pub(crate) struct RecoveryHooks(pub(crate) Arc<[Arc<dyn Hooks>]>);

impl RecoveryHooks {
    /// What is to be done with an interrupted turn.
    pub(crate) async fn options(&self, turn: &ChatRecoveryContext<'_>) -> HookResult<ChatRecoveryOptions> {
        let mut options = ChatRecoveryOptions::default();
        for hooks in self.0.iter() {
            options = caught(hooks.on_chat_recovery(turn)).await?.unwrap_or(options);
        }
        Ok(options)
    }

    /// Whether all think that it is worth another attempt.
    pub(crate) async fn keep_recovering(&self, turn: &ChatRecoveryContext<'_>) -> bool {
        for hooks in self.0.iter() {
            match caught(hooks.should_keep_recovering(turn)).await {
                Ok(true) => {}
                Ok(false) => return false,
                Err(error) => {
                    tracing::warn!(hook = "shouldKeepRecovering", "a built-in hook failed: {error}");
                }
            }
        }
        true
    }

    /// Tells that a turn is given up.
    pub(crate) async fn exhausted(&self, turn: &ExhaustedContext<'_>) {
        for hooks in self.0.iter() {
            if let Err(error) = caught(hooks.on_exhausted(turn)).await {
                tracing::warn!(hook = "onExhausted", "a built-in hook failed: {error}");
            }
        }
    }

    /// Tells how far a submission is.
    pub(crate) async fn submission(&self, submission: &SubmissionStatusContext<'_>) {
        for hooks in self.0.iter() {
            if let Err(error) = caught(hooks.on_submission_status(submission)).await {
                tracing::warn!(hook = "onSubmissionStatus", "a built-in hook failed: {error}");
            }
        }
    }
}
