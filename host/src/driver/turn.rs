use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::setup::Setup;
use super::{EventSender, Retry, TurnEvent, stream, tools};
use crate::hooks::{
    ChatErrorContext, ChatResponseContext, ChunkContext, Dispatcher, HookError, NextStepContext, StepContext,
    StepFinishContext, ToolCallContext, ToolResultContext,
};
use crate::model::{LanguageModel, ModelError, ModelErrorKind};
use crate::turn::{
    Answer, Assembly, Chunk, ConfigField, Effect, ModelCall, ModelMessage, Outcome, Provenance, StepRecord,
    ToolCall, ToolOutput, ToolRecord, ToolRun, TurnConfig, TurnEnd, TurnMachine, TurnStart, TurnStatus,
    UiMessage,
};

/// New attempts at a request that failed for a passing reason, unless the turn's config says otherwise (AI SDK
/// `maxRetries`).
const MAX_RETRIES: u32 = 2;

/// The wait before the first new attempt; it doubles with each.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// The longest wait before a new attempt, whatever the provider asks for: after that an error says more.
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// Drives one turn from its first effect to its last.
pub(crate) struct TurnDriver {
    setup: Arc<Setup>,
    session: String,
    system: String,
    /// Stored with the first effect.
    user_message: Option<UiMessage>,
    machine: TurnMachine,
    dispatcher: Dispatcher,
    events: EventSender,
    cancel: CancellationToken,
    /// When the turn's time is up, if a hook has set one.
    deadline: Option<Instant>,
    begun: Instant,
    started: bool,
    persisted: bool,
    /// What a hook says in place of the turn's error.
    error_text: Option<String>,
}

/// How a turn ended, and what it leaves.
pub(crate) struct Ended {
    pub(crate) end: TurnEnd,
    pub(crate) machine: TurnMachine,
}

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
    pub(crate) fn new(
        setup: Arc<Setup>,
        session: String,
        system: String,
        user_message: Option<UiMessage>,
        start: TurnStart,
        events: EventSender,
        cancel: CancellationToken,
    ) -> Self {
        let dispatcher = setup.dispatcher(&start.request_id, &events);
        Self {
            setup,
            session,
            system,
            user_message,
            machine: TurnMachine::new(start),
            dispatcher,
            events,
            cancel,
            deadline: None,
            begun: Instant::now(),
            started: false,
            persisted: false,
            error_text: None,
        }
    }

    pub(crate) async fn run(mut self) -> Ended {
        loop {
            let effect = self.machine.next();
            let outcome = match effect {
                Effect::Finished(mut end) => {
                    end.error = self.error_text.take().or(end.error);
                    self.dispatcher.flush().await;
                    return Ended { end, machine: self.machine };
                }
                Effect::Store => self.store().await,
                Effect::Tell(end) => self.tell(&end).await,
                _ if self.cancel.is_cancelled() => Outcome::Aborted(Answer::default()),
                Effect::Assemble => self.assemble().await,
                Effect::BeforeTurn => self.before_turn().await,
                Effect::BeforeStep => self.before_step().await,
                Effect::CallModel => self.call_model().await,
                Effect::CheckInput { tool_call_id, tool_name, input } => {
                    Outcome::InputChecked(tool_call_id, self.setup.tools.check(&tool_name, input))
                }
                Effect::BeforeToolCall { call, input } => self.before_tool_call(call, input).await,
                Effect::RunTools(runs) => match self.run_tools(runs).await {
                    Some(outcome) => outcome,
                    None => continue,
                },
                Effect::AfterToolCall(record) => {
                    let outcome = self.after_tool_call(&record).await;
                    self.apply(outcome);
                    match self.show_result(&record.call.tool_call_id).await {
                        Ok(()) => continue,
                        Err(error) => Outcome::Failed(error.to_string()),
                    }
                }
                Effect::FinishStep => self.finish_step().await,
                Effect::PrepareNextStep => self.prepare_next_step().await,
                Effect::DecideStop => self.decide_stop().await,
            };
            self.apply(outcome);
        }
    }

    fn apply(&mut self, outcome: Outcome) {
        if let Err(error) = self.machine.apply(outcome) {
            // A bug here, not the user's affair: end the turn rather than spin.
            tracing::error!("{error}");
            let _ = self.machine.apply(Outcome::Failed(error.to_string()));
        }
    }

    async fn assemble(&mut self) -> Outcome {
        let user_message = self.user_message.take();
        let new_messages = user_message.iter().map(|message| message.to_model().len()).sum();
        if let Some(message) = user_message
            && let Err(error) = self.setup.store.put(&self.session, &message).await
        {
            return Outcome::NotStored(error.to_string());
        }
        self.persisted = true;
        match self.setup.store.messages(&self.session).await {
            Ok(history) => Outcome::Assembled(Box::new(Assembly {
                model: self.setup.model.id().to_owned(),
                system: self.system.clone(),
                messages: history.iter().flat_map(UiMessage::to_model).collect(),
                new_messages,
                tools: self.setup.tools.definitions(),
            })),
            Err(error) => Outcome::Failed(error.to_string()),
        }
    }

    async fn before_turn(&mut self) -> Outcome {
        match self.dispatcher.before_turn(self.machine.start(), self.machine.assembly()).await {
            Ok((mut config, mut provenance)) => {
                self.drop_unknown_model(&mut config, &mut provenance);
                self.deadline =
                    config.timeout_ms.and_then(|ms| self.begun.checked_add(Duration::from_millis(ms)));
                Outcome::TurnConfigured(Box::new(config), provenance)
            }
            Err(error) => Outcome::Failed(error.to_string()),
        }
    }

    /// A model that an extension chose and nobody knows is left out: that would be the extension's fault and the turn's
    /// loss. One that a built-in hook chose is an error later on.
    fn drop_unknown_model(&self, config: &mut TurnConfig, provenance: &mut Provenance) {
        let by = provenance.get(&ConfigField::Model).cloned().unwrap_or_default();
        let Some(model) = &config.model else { return };
        if self.setup.extensions.iter().any(|extension| extension.manifest.name == by)
            && let Err(error) = self.setup.find_model(model)
        {
            tracing::warn!(
                extension = by,
                hook = "beforeTurn",
                "it chose a model that cannot be had: {error}"
            );
            config.reset(ConfigField::Model);
            provenance.remove(&ConfigField::Model);
        }
    }

    async fn before_step(&mut self) -> Outcome {
        if !self.started {
            self.started = true;
            let message_id = self.machine.start().message_id.clone();
            if let Err(error) = self.show(Chunk::Start { message_id }).await {
                return Outcome::Failed(error.to_string());
            }
        }
        let machine = &self.machine;
        let (messages, offered) = (machine.messages(), machine.tools());
        let context = StepContext {
            request_id: &machine.start().request_id,
            step_number: machine.step_number(),
            steps: machine.steps(),
            system: machine.system(),
            messages: &messages,
            tools: &offered,
            model: machine.model(),
        };
        match self.dispatcher.before_step(context, machine.total_usage()).await {
            Ok(config) => Outcome::StepConfigured(Box::new(config)),
            Err(error) => Outcome::Failed(error.to_string()),
        }
    }

    async fn call_model(&mut self) -> Outcome {
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

    /// Waits until the turn is to stop, and says as what it then ends.
    async fn stopped(&self) -> Stopped {
        let late = async {
            match self.deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Stopped::Cancelled,
            () = late => Stopped::Late,
        }
    }

    async fn before_tool_call(&self, call: ToolCall, input: crate::turn::Json) -> Outcome {
        let messages = self.machine.messages();
        let context = ToolCallContext {
            request_id: &self.machine.start().request_id,
            step_number: self.machine.step_number(),
            call: &call,
            input: &input,
            dynamic: self.is_dynamic(&call.tool_name),
            messages: &messages,
        };
        let decision = self.dispatcher.before_tool_call(context).await;
        Outcome::ToolDecided(call.tool_call_id, decision)
    }

    fn is_dynamic(&self, tool_name: &str) -> bool {
        self.setup.tools.get(tool_name).is_some_and(|tool| tool.definition().dynamic)
    }

    /// Runs them all, and applies what each comes to as it ends. An outcome is left if the turn is to stop.
    async fn run_tools(&mut self, runs: Vec<ToolRun>) -> Option<Outcome> {
        let (request_id, step) = (self.machine.start().request_id.clone(), self.machine.step_number());
        let mut running = Box::pin(tools::run(&self.setup.tools, runs, &self.session, &request_id, step));
        loop {
            let ran = tokio::select! {
                biased;
                stopped = self.stopped() => return Some(match stopped {
                    Stopped::Cancelled => Outcome::Aborted(Answer::default()),
                    Stopped::Late => Outcome::Failed(LATE.into()),
                }),
                ran = running.next() => ran?,
            };
            self.apply(ran);
        }
    }

    async fn after_tool_call(&self, record: &ToolRecord) -> Outcome {
        let messages = self.machine.messages();
        let context = ToolResultContext {
            request_id: &self.machine.start().request_id,
            step_number: self.machine.step_number(),
            record,
            dynamic: self.is_dynamic(&record.call.tool_name),
            messages: &messages,
        };
        let change = self.dispatcher.after_tool_call(context).await;
        Outcome::ToolReviewed(record.call.tool_call_id.clone(), change)
    }

    /// Shows the result of a call, as the hooks left it.
    async fn show_result(&self, tool_call_id: &str) -> Result<(), HookError> {
        let Some(record) = self.machine.record(tool_call_id) else { return Ok(()) };
        let tool_call_id = record.call.tool_call_id;
        let tool_name = record.call.tool_name;
        self.show(match record.output {
            ToolOutput::Output(output) => Chunk::ToolResult { tool_call_id, tool_name, output },
            ToolOutput::Error(error) => Chunk::ToolError { tool_call_id, tool_name, error },
        })
        .await
    }

    async fn finish_step(&self) -> Outcome {
        let Some(step) = self.machine.steps().last() else { return Outcome::Failed(NO_STEP.into()) };
        let shown = self.show(Chunk::FinishStep {
            finish_reason: step.answer.finish_reason,
            usage: step.answer.usage,
            provider_metadata: step.answer.provider_metadata.clone(),
        });
        let told = async {
            shown.await?;
            let request_id = &self.machine.start().request_id;
            let step_number = self.machine.step_number();
            self.dispatcher.on_step_finish(StepFinishContext { request_id, step_number, step }).await
        };
        match told.await {
            Ok(()) => Outcome::StepFinished,
            Err(error) => Outcome::Failed(error.to_string()),
        }
    }

    async fn prepare_next_step(&self) -> Outcome {
        let Some(step) = self.machine.steps().last() else { return Outcome::Failed(NO_STEP.into()) };
        let (messages, new_messages) = (self.machine.messages(), self.machine.new_messages());
        match self.dispatcher.prepare_next_step(self.next_step(step, &messages, &new_messages)).await {
            Ok(update) => Outcome::NextStepPrepared(Box::new(update)),
            Err(error) => Outcome::Failed(error.to_string()),
        }
    }

    async fn decide_stop(&self) -> Outcome {
        let Some(step) = self.machine.steps().last() else { return Outcome::Failed(NO_STEP.into()) };
        let (messages, new_messages) = (self.machine.messages(), self.machine.new_messages());
        match self.dispatcher.should_stop_after_step(self.next_step(step, &messages, &new_messages)).await {
            Ok(stop) => Outcome::StopDecided(stop),
            Err(error) => Outcome::Failed(error.to_string()),
        }
    }

    fn next_step<'a>(
        &'a self,
        step: &'a StepRecord,
        messages: &'a [ModelMessage],
        new_messages: &'a [ModelMessage],
    ) -> NextStepContext<'a> {
        NextStepContext {
            request_id: &self.machine.start().request_id,
            step_number: self.machine.step_number(),
            step,
            system: self.machine.system(),
            messages,
            new_messages,
        }
    }

    async fn store(&self) -> Outcome {
        match self.machine.message() {
            None => Outcome::Stored,
            Some(message) => match self.setup.store.put(&self.session, &message).await {
                Ok(()) => Outcome::Stored,
                Err(error) => Outcome::NotStored(error.to_string()),
            },
        }
    }

    async fn tell(&mut self, end: &TurnEnd) -> Outcome {
        let request_id = &self.machine.start().request_id;
        if let Some(stage) = end.stage {
            self.error_text = Some(self.dispatcher.on_chat_error(ChatErrorContext {
                request_id: Some(request_id),
                stage,
                message: end.error.as_deref().unwrap_or_default(),
                classification: None,
                messages_persisted: self.persisted,
            }));
        }
        let error = self.error_text.as_ref().or(end.error.as_ref());
        let chunk = match end.status {
            TurnStatus::Completed => Chunk::Finish {
                finish_reason: self
                    .machine
                    .steps()
                    .last()
                    .map(|step| step.answer.finish_reason)
                    .unwrap_or_default(),
                total_usage: self.machine.total_usage(),
            },
            TurnStatus::Aborted => Chunk::Abort,
            TurnStatus::Error => Chunk::Error { error: error.cloned().unwrap_or_default() },
        };
        // A turn that failed before its stream has no stream to watch.
        if end.stage.is_some() {
            self.events.send(TurnEvent::Chunk(chunk));
        } else if let Err(error) = self.show(chunk).await {
            tracing::warn!(hook = "onChunk", "a built-in hook failed after the turn's end: {error}");
        }
        if end.stage.is_none() {
            let message = self.machine.message();
            let context = ChatResponseContext {
                request_id,
                continuation: self.machine.start().continuation,
                status: end.status,
                error: end.error.as_deref(),
                message: message.as_ref(),
                steps: self.machine.steps(),
            };
            self.dispatcher.on_chat_response(context).await;
        }
        Outcome::Told
    }

    /// Shows a part of the stream to the hooks, then to whoever listens.
    async fn show(&self, chunk: Chunk) -> Result<(), HookError> {
        let request_id = &self.machine.start().request_id;
        self.dispatcher.on_chunk(ChunkContext { request_id, chunk: &chunk }).await?;
        let reasoning = matches!(
            chunk,
            Chunk::ReasoningStart { .. } | Chunk::ReasoningDelta { .. } | Chunk::ReasoningEnd { .. }
        );
        if !reasoning || self.machine.config().send_reasoning.unwrap_or(true) {
            self.events.send(TurnEvent::Chunk(chunk));
        }
        Ok(())
    }
}

/// Why a turn is to stop before its end.
#[derive(Clone, Copy)]
enum Stopped {
    Cancelled,
    Late,
}

const NO_MESSAGES: &str = "there are no messages to send to the model";

/// A bug of the machine: it asks about a step before there is one.
const NO_STEP: &str = "there is no step to finish";

const LATE: &str = "the turn took longer than its `timeoutMs`";

fn with_partial(stopped: Stopped, answer: Answer) -> Outcome {
    match stopped {
        Stopped::Cancelled => Outcome::Aborted(answer),
        Stopped::Late => Outcome::ModelFailed(LATE.into(), answer),
    }
}
