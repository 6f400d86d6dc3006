//! Asking the model.

use std::time::Duration;

use futures::StreamExt;
use tokio::time::Instant;

use super::{Retry, TurnDriver, TurnEvent, stream};
use crate::hooks::HookError;
use crate::model::{LanguageModel, ModelError, ModelErrorKind};
use crate::turn::{Answer, Chunk, ModelCall, Outcome};

/// New attempts at a request that failed for a passing reason, unless the turn's config says otherwise (AI SDK
/// `maxRetries`).
const MAX_RETRIES: u32 = 2;

/// The wait before the first new attempt; it doubles with each.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// The longest wait before a new attempt, whatever the provider asks for: after that an error says more.
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// Why the model's stream was left.
enum Left {
    Failed(ModelError),
    Hook(HookError),
}

impl From<HookError> for Left {
    fn from(error: HookError) -> Self {
        Self::Hook(error)
    }
}

impl TurnDriver {
    pub(super) async fn call_model(&mut self) -> Outcome {
        let model = match self.setup.find_model(self.machine.model()) {
            Ok(model) => model,
            Err(error) => return Outcome::ModelFailed(error, Answer::default()),
        };
        let mut call = self.machine.model_call();
        call.messages = match self.dispatcher.transform_context(call.messages).await {
            Ok(messages) if messages.is_empty() => return Outcome::Failed(NO_MESSAGES.into()),
            Ok(messages) => messages,
            Err(error) => return Outcome::Failed(error.to_string()),
        };
        call.end_with_user();
        *self.last_chunk.lock() = Instant::now();
        let attempts = 1 + self.machine.config().max_retries.unwrap_or(MAX_RETRIES);
        for attempt in 1.. {
            let mut answer = Answer::default();
            let mut answering = false;
            let left = tokio::select! {
                biased;
                outcome = self.stopped() => return with_partial(outcome, answer),
                left = self.ask(&*model, call.clone(), &mut answer, &mut answering) => left,
            };
            let error = match left {
                Ok(()) => return Outcome::ModelAnswered(answer),
                Err(Left::Hook(error)) => return Outcome::ModelFailed(error.to_string(), answer),
                Err(Left::Failed(error)) => error,
            };
            if answering || !error.is_retryable() || attempt >= attempts {
                return Outcome::ModelFailed(error.message, answer);
            }
            let asked_for = error.retry_after_ms.map(Duration::from_millis);
            let delay =
                asked_for.unwrap_or(FIRST_RETRY * 2u32.saturating_pow(attempt - 1)).min(LONGEST_RETRY);
            let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
            self.events.send(TurnEvent::Retry(Retry {
                attempt: attempt + 1,
                delay_ms,
                error: error.message,
            }));
            tokio::select! {
                biased;
                outcome = self.stopped() => return with_partial(outcome, answer),
                () = tokio::time::sleep(delay) => {}
            }
        }
        Outcome::Failed("the attempts ran out".into())
    }

    /// Asks the model once. `answering` is set once it has said anything.
    async fn ask(
        &self,
        model: &dyn LanguageModel,
        call: ModelCall,
        answer: &mut Answer,
        answering: &mut bool,
    ) -> Result<(), Left> {
        let mut events = model.stream(call).await.map_err(Left::Failed)?;
        while let Some(event) = events.next().await {
            let event = event.map_err(Left::Failed)?;
            if !*answering {
                *answering = true;
                self.show(Chunk::StartStep).await?;
            }
            let done = matches!(event, crate::model::ModelEvent::Finish { .. });
            if let Some(chunk) = stream::take(answer, event) {
                self.show(chunk).await?;
            }
            if done {
                return Ok(());
            }
        }
        Err(Left::Failed(ModelError::new(
            ModelErrorKind::Truncated,
            "the model's answer ended without its end: the connection was cut",
        )))
    }

    /// Waits until the turn is to stop, and says why.
    pub(super) async fn stopped(&self) -> Stopped {
        let late = async {
            match self.deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let stalled = async {
            let Some(limit) = self.stall_timeout else { return std::future::pending().await };
            loop {
                let until = *self.last_chunk.lock() + limit;
                if until <= Instant::now() {
                    return limit;
                }
                tokio::time::sleep_until(until).await;
            }
        };
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Stopped::Cancelled,
            () = late => Stopped::Late,
            limit = stalled => Stopped::Stalled(limit),
        }
    }
}

/// Why a turn is to stop before its end.
#[derive(Clone, Copy)]
pub(super) enum Stopped {
    Cancelled,
    Late,
    Stalled(Duration),
}

impl Stopped {
    /// The error as which the turn ends; none if it was cancelled.
    pub(super) fn error(self) -> Option<String> {
        match self {
            Self::Cancelled => None,
            Self::Late => Some("the turn took longer than its `timeoutMs`".into()),
            Self::Stalled(limit) => Some(format!(
                "the stream stalled: nothing came for {} ms (`chatStreamStallTimeoutMs`)",
                limit.as_millis()
            )),
        }
    }
}

fn with_partial(stopped: Stopped, answer: Answer) -> Outcome {
    match stopped.error() {
        None => Outcome::Aborted(answer),
        Some(error) => Outcome::ModelFailed(error, answer),
    }
}

const NO_MESSAGES: &str = "there are no messages to send to the model";
