//! Asking the model.

use std::collections::HashMap;
use std::time::Duration;

use futures::StreamExt;
use tokio::time::Instant;
use tracing::Instrument;

use super::{ChatEvent, Retry, TurnDriver, TurnEvent, spans, stream};
use crate::hooks::{ChatErrorContext, HookError, StepFinishContext};
use crate::model::{LanguageModel, ModelError, ModelErrorKind};
use crate::recovery::{Interruption, is_context_overflow};
use crate::turn::{Answer, ChatStage, Chunk, ErrorClass, FinishReason, ModelCall, Outcome, StepRecord};

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

impl Left {
    /// In one word.
    fn kind(&self) -> String {
        match self {
            Self::Failed(error) => spans::kind(error),
            Self::Hook(_) => "hook".into(),
        }
    }
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
            let content = self.setup.trace_content;
            let span = spans::chat(model.id(), &call, self.machine.step_number(), attempt, content);
            let asking =
                self.ask(&*model, call.clone(), &mut answer, &mut answering).instrument(span.clone());
            let left = tokio::select! {
                biased;
                stopped = self.stopped() => Err(stopped),
                left = asking => Ok(left),
            };
            let left = match left {
                Ok(left) => left,
                Err(stopped) => {
                    spans::chatted(&span, &answer, Some(stopped.kind()), content);
                    return self.cut_off(stopped, answer);
                }
            };
            spans::chatted(&span, &answer, left.as_ref().err().map(Left::kind).as_deref(), content);
            drop(span);
            let error = match left {
                Ok(()) => return Outcome::ModelAnswered(answer),
                Err(Left::Hook(error)) => return Outcome::ModelFailed(error.to_string(), answer),
                Err(Left::Failed(error)) => error,
            };
            if answering || !error.is_retryable() || attempt >= attempts {
                return self.model_failed(error, answer).await;
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
                stopped = self.stopped() => return self.cut_off(stopped, answer),
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
        let offered: HashMap<String, bool> =
            call.tools.iter().map(|tool| (tool.name.clone(), tool.needs_approval)).collect();
        let mut events = model.stream(call).await.map_err(Left::Failed)?;
        while let Some(event) = events.next().await {
            let event = event.map_err(Left::Failed)?;
            if !*answering {
                *answering = true;
                self.show(Chunk::StartStep).await?;
            }
            let done = matches!(event, crate::model::ModelEvent::Finish { .. });
            if let Some(mut chunk) = stream::take(answer, event) {
                let waits = self.judge(&mut chunk, &offered);
                self.show(chunk).await?;
                if let Some((tool_call_id, tool_name)) = waits {
                    self.request_approval(&tool_call_id, &tool_name).await?;
                    self.requested.lock().push(tool_call_id);
                }
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

    /// Marks a call of a tool that was not `offered`. The call's id and its tool's name, if a person is asked before it runs.
    fn judge(&self, chunk: &mut Chunk, offered: &HashMap<String, bool>) -> Option<(String, String)> {
        let Chunk::ToolCall { tool_call_id, tool_name, input, malformed, .. } = chunk else { return None };
        let Some(needs_approval) = offered.get(tool_name) else {
            malformed.get_or_insert_with(|| format!("there is no tool \"{tool_name}\""));
            return None;
        };
        let fits =
            || malformed.is_none() && self.input.active.all_tools.check(tool_name, input.clone()).is_ok();
        (*needs_approval && fits()).then(|| (tool_call_id.clone(), tool_name.clone()))
    }

    /// The model has given up, and asking again at once would not help.
    async fn model_failed(&mut self, error: ModelError, mut partial: Answer) -> Outcome {
        if !partial.parts.is_empty() {
            partial.finish_reason = FinishReason::Error;
            let step = StepRecord { answer: partial.clone(), ..StepRecord::default() };
            let request_id = &self.machine.start().request_id;
            let step_number = self.machine.step_number();
            let told = StepFinishContext { request_id, step_number, step: &step };
            if let Err(error) = self.dispatcher.on_step_finish(told).await {
                return Outcome::ModelFailed(error.to_string(), partial);
            }
        }
        self.class = self.classify(&error);
        match self.class {
            Some(ErrorClass::ContextOverflow) if self.setup.overflow.reactive => {
                self.overflowed(error.message).await
            }
            Some(ErrorClass::Transient | ErrorClass::RateLimit) if self.setup.recovery.is_some() => {
                self.interruption = Some(Interruption::Failed);
                Outcome::Interrupted(error.message, partial)
            }
            _ => Outcome::ModelFailed(error.message, partial),
        }
    }

    /// What kind of failure it is: what a hook says, or what the provider's answer stands for.
    fn classify(&self, error: &ModelError) -> Option<ErrorClass> {
        let context = ChatErrorContext {
            request_id: Some(&self.machine.start().request_id),
            stage: ChatStage::Stream,
            message: &error.message,
            classification: None,
            messages_persisted: self.persisted,
        };
        self.dispatcher.classify(&context).or_else(|| match error.kind {
            _ if is_context_overflow(&error.message) => Some(ErrorClass::ContextOverflow),
            ModelErrorKind::RateLimit => Some(ErrorClass::RateLimit),
            ModelErrorKind::Unavailable | ModelErrorKind::Truncated => Some(ErrorClass::Transient),
            ModelErrorKind::Auth | ModelErrorKind::InvalidRequest => Some(ErrorClass::Fatal),
            ModelErrorKind::InvalidResponse | ModelErrorKind::Other => None,
        })
    }

    /// Leaves a request that is under way.
    pub(super) fn cut_off(&mut self, stopped: Stopped, partial: Answer) -> Outcome {
        match stopped {
            Stopped::Stalled(limit) if self.setup.recovery.is_some() => {
                let timeout_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
                let request_id = self.machine.start().request_id.clone();
                self.events.chat(ChatEvent::StreamStalled { request_id, timeout_ms });
                self.interruption = Some(Interruption::Stalled);
                Outcome::Interrupted(stopped.error().unwrap_or_default(), partial)
            }
            _ => match stopped.error() {
                None => Outcome::Aborted(partial),
                Some(error) => Outcome::ModelFailed(error, partial),
            },
        }
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
    /// In one word.
    fn kind(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Late => "timeout",
            Self::Stalled(_) => "stalled",
        }
    }

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

const NO_MESSAGES: &str = "there are no messages to send to the model";
