use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::output;
use super::recover::Over;
use crate::driver::{Ended, TurnEvent};
use crate::turn::{ChatStage, Json, TurnStatus, UiMessage, Usage};

/// A turn that runs, or waits for those before it. Dropping it cancels the turn; what was said by then is stored.
#[derive(Debug)]
pub struct TurnStream {
    pub(super) request_id: String,
    pub(super) events: mpsc::UnboundedReceiver<TurnEvent>,
    pub(super) result: oneshot::Receiver<TurnResult>,
    pub(super) cancel: DropGuard,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnResult {
    /// The host's id of the turn.
    pub request_id: String,
    /// In one word.
    pub status: TurnStatus,
    /// What happened, with [`TurnStatus::Error`].
    pub error: Option<String>,
    /// Where it failed, if that was outside the model's stream.
    pub stage: Option<ChatStage>,
    /// Why it never began, with [`TurnStatus::Skipped`].
    pub skipped: Option<Skipped>,
    /// The last answer as stored; none if there is none.
    pub message: Option<UiMessage>,
    /// Its text.
    pub text: String,
    /// What the text says as JSON, if the turn asked for `output`: or why it is not what was asked for.
    pub output: Option<Result<Json, String>>,
    /// Of all steps together.
    pub usage: Usage,
    /// How many steps it took.
    pub steps: usize,
}

/// Why a turn never began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// There was nothing to say, or no answer to continue.
    Empty,
    /// Another turn ran, and the policy is to refuse.
    Dropped,
    /// A newer message took its place.
    Superseded,
    /// The session was reset while it waited.
    Reset,
}

impl TurnStream {
    /// The host's id of the turn.
    #[must_use]
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// The next event; none once the turn is over.
    pub async fn next(&mut self) -> Option<TurnEvent> {
        self.events.recv().await
    }

    /// Cancels the turn. It still ends properly: read on, or [`finish`](Self::finish).
    pub fn cancel(&self) {
        self.cancel.token().cancel();
    }

    /// Lets the turn run by itself.
    pub fn detach(self) {
        self.cancel.disarm();
    }

    /// Waits for the end. Events that were not read are lost.
    pub async fn finish(self) -> TurnResult {
        // Kept until the turn is over: dropping it cancels.
        let _cancel = self.cancel;
        self.result.await.unwrap_or_else(|_| TurnResult {
            status: TurnStatus::Error,
            error: Some(
                "the turn broke off: the host is shutting down, or has a bug that its log tells".into(),
            ),
            ..TurnResult::empty(self.request_id)
        })
    }

    /// One that has never begun.
    pub(super) fn skipped(request_id: String, why: Skipped) -> Self {
        let (done, result) = oneshot::channel();
        let _ = done.send(TurnResult::skipped(request_id.clone(), why));
        let (_, events) = mpsc::unbounded_channel();
        Self { request_id, events, result, cancel: CancellationToken::new().drop_guard() }
    }
}

impl TurnResult {
    fn empty(request_id: String) -> Self {
        Self {
            request_id,
            status: TurnStatus::Completed,
            error: None,
            stage: None,
            skipped: None,
            message: None,
            text: String::new(),
            output: None,
            usage: Usage::default(),
            steps: 0,
        }
    }

    /// One that has ended without another turn.
    pub(super) fn over(request_id: String, over: Over) -> Self {
        let Over { status, error, message } = over;
        let text = message.as_ref().map(UiMessage::text).unwrap_or_default();
        Self { status, error, message, text, ..Self::empty(request_id) }
    }

    pub(super) fn skipped(request_id: String, why: Skipped) -> Self {
        Self { status: TurnStatus::Skipped, skipped: Some(why), ..Self::empty(request_id) }
    }

    pub(super) fn of(ended: &Ended) -> Self {
        let text = ended.message.as_ref().map(UiMessage::text).unwrap_or_default();
        let machine = &ended.machine;
        let asked_for = machine.config().settings.output.as_ref();
        Self {
            status: ended.end.status,
            error: ended.end.error.clone(),
            stage: ended.end.stage,
            output: asked_for
                .filter(|_| ended.end.status == TurnStatus::Completed)
                .map(|schema| output::read(machine, schema)),
            text,
            message: ended.message.clone(),
            usage: machine.total_usage(),
            steps: machine.steps().len(),
            ..Self::empty(machine.start().request_id.clone())
        }
    }
}
