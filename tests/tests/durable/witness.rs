//! Hooks that write down what they are told of interrupted turns, and answer as told.

use std::sync::Arc;

use async_trait::async_trait;
use lathe::hooks::{
    ChatErrorContext, ChatRecoveryContext, ChatRecoveryOptions, ExhaustedContext, HookResult, Hooks,
    SubmissionStatusContext, TurnContext,
};
use lathe::turn::{ErrorClass, ExhaustedReason, ToolPart, TurnConfig};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

/// What a hook was told, one call after the other.
type Told<T> = Arc<Mutex<Vec<T>>>;

/// What a hook does when it is asked.
#[derive(Clone, Copy, Default, PartialEq)]
pub(super) enum Mood {
    #[default]
    Yes,
    No,
    Fails,
    Panics,
}

impl Mood {
    #[allow(clippy::panic, reason = "that is what is tried")]
    fn answer(self) -> HookResult<bool> {
        match self {
            Self::Yes => Ok(true),
            Self::No => Ok(false),
            Self::Fails => Err("in a bad mood".into()),
            Self::Panics => panic!("in a very bad mood"),
        }
    }
}

/// Hooks of one agent. A clone is the same.
#[derive(Clone, Default)]
pub(super) struct Witness {
    /// Of `on_chat_recovery`, `should_keep_recovering` and `on_exhausted`.
    pub(super) recovery: Mood,
    pub(super) keep: Mood,
    pub(super) exhausted: Mood,
    /// Whether an error of the provider is one that may pass.
    pub(super) transient: bool,
    /// What an interrupted call becomes.
    pub(super) repaired: Option<Value>,
    /// When turns began.
    pub(super) begun: Told<Instant>,
    /// What `on_chat_recovery` was told: attempt, text, stash.
    pub(super) asked: Told<(u32, String, Option<Value>)>,
    /// How often `should_keep_recovering` was asked.
    pub(super) kept: Arc<Mutex<u32>>,
    /// What `on_exhausted` was told: reason, attempt, text, message.
    pub(super) given_up: Told<(ExhaustedReason, u32, String, String)>,
    /// What `on_chat_error` was told: class and text.
    pub(super) errors: Told<(Option<ErrorClass>, String)>,
    /// Of `on_submission_status`: the id and the status.
    pub(super) statuses: Told<String>,
}

#[async_trait]
impl Hooks for Witness {
    async fn before_turn(&self, turn: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
        self.begun.lock().push(Instant::now());
        turn.stash.set(json!({"for": "later"}));
        Ok(None)
    }

    fn classify_chat_error(&self, _: &ChatErrorContext<'_>) -> Option<ErrorClass> {
        self.transient.then_some(ErrorClass::Transient)
    }

    fn on_chat_error(&self, error: &ChatErrorContext<'_>) -> String {
        self.errors.lock().push((error.classification, error.message.to_owned()));
        error.message.to_owned()
    }

    async fn on_chat_recovery(
        &self,
        turn: &ChatRecoveryContext<'_>,
    ) -> HookResult<Option<ChatRecoveryOptions>> {
        let told = (turn.attempt, turn.partial_text.to_owned(), turn.recovery_data.cloned());
        self.asked.lock().push(told);
        self.recovery.answer().map(|go_on| Some(ChatRecoveryOptions { go_on, ..Default::default() }))
    }

    async fn should_keep_recovering(&self, _: &ChatRecoveryContext<'_>) -> HookResult<bool> {
        *self.kept.lock() += 1;
        self.keep.answer()
    }

    async fn on_exhausted(&self, turn: &ExhaustedContext<'_>) -> HookResult {
        let ExhaustedContext { recovery, reason, terminal_message } = turn;
        let told =
            (*reason, recovery.attempt, recovery.partial_text.to_owned(), (*terminal_message).to_owned());
        self.given_up.lock().push(told);
        self.exhausted.answer().map(drop)
    }

    fn repair_interrupted_tool_part(&self, part: &ToolPart) -> Option<ToolPart> {
        let output = self.repaired.clone()?;
        Some(ToolPart { state: lathe::turn::ToolState::OutputAvailable(output), ..part.clone() })
    }

    async fn on_submission_status(&self, submission: &SubmissionStatusContext<'_>) -> HookResult {
        self.statuses.lock().push(format!("{} {}", submission.submission_id, submission.status.name()));
        Ok(())
    }
}
