use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use super::journal::Journal;
use super::{Conversation, EventSender, Setup, TurnEvent, TurnInput, spans};
use crate::hooks::{
    ChatErrorContext, ChatResponseContext, ChunkContext, Dispatcher, HookError, NextStepContext, Stash,
    StepContext, StepFinishContext,
};
use crate::recovery::Interruption;
use crate::store::{JournalChange, StoreError, TurnRecord};
use crate::turn::{
    Answer, Approval, Chunk, Effect, ErrorClass, ModelMessage, Outcome, StepRecord, SubmissionStatus,
    Telemetry, ToolCall, ToolRun, TurnEnd, TurnMachine, TurnStatus, UiMessage,
};

/// Drives one turn from its first effect to its last.
pub(crate) struct TurnDriver {
    pub(super) setup: Arc<Setup>,
    pub(super) conversation: Arc<Conversation>,
    pub(super) input: TurnInput,
    pub(super) machine: TurnMachine,
    pub(super) dispatcher: Dispatcher,
    pub(super) events: EventSender,
    pub(super) cancel: CancellationToken,
    /// When the turn's time is up, if a hook has set one.
    pub(super) deadline: Option<Instant>,
    /// The longest time between two parts of the stream.
    pub(super) stall_timeout: Option<Duration>,
    pub(super) last_chunk: Mutex<Instant>,
    pub(super) journal: Journal,
    pub(super) stash: Stash,
    /// Why the turn is cut off, once it is.
    pub(super) interruption: Option<Interruption>,
    /// Compactions because the conversation was too long, and before it would have been.
    pub(super) overflows: u32,
    pub(super) compactions: u32,
    /// The step before which the last one was.
    pub(super) compacted_before: Option<u32>,
    /// The calls of this step whose approval was asked for as they came.
    pub(super) requested: Mutex<Vec<String>>,
    /// What kind of failure the turn ends with.
    pub(super) class: Option<ErrorClass>,
    begun: Instant,
    /// For the log.
    span: Span,
    /// For traces.
    traced: Span,
    pub(super) started: bool,
    pub(super) persisted: bool,
    /// The answer as it was stored last.
    pub(super) stored: Option<UiMessage>,
    /// What a hook says in place of the turn's error.
    error_text: Option<String>,
}

/// How a turn ended, and what it leaves.
pub(crate) struct Ended {
    pub(crate) end: TurnEnd,
    pub(crate) machine: TurnMachine,
    /// The last answer as stored.
    pub(crate) message: Option<UiMessage>,
    /// Why it was cut off, and what the journal says of it, where another turn may take it up.
    pub(crate) interrupted: Option<(Interruption, TurnRecord)>,
    dispatcher: Dispatcher,
}

impl Ended {
    /// Tells the hooks, unless the turn failed outside the model's stream: `on_chat_error` knows of that. The session is
    /// free by then (`think.md` §2.2).
    pub(crate) async fn tell(&self, nested: bool) {
        if self.end.stage.is_none() && !nested {
            let start = self.machine.start();
            let context = ChatResponseContext {
                request_id: &start.request_id,
                continuation: start.continuation,
                status: self.end.status,
                error: self.end.error.as_deref(),
                message: self.message.as_ref(),
                steps: self.machine.steps(),
            };
            self.dispatcher.on_chat_response(context).await;
        }
        self.dispatcher.flush().await;
    }
}

impl TurnDriver {
    pub(crate) fn new(
        setup: Arc<Setup>,
        conversation: Arc<Conversation>,
        input: TurnInput,
        events: EventSender,
        cancel: CancellationToken,
    ) -> Self {
        let traced = spans::turn(&setup.name, &conversation.name, &input.start);
        // What extensions do in it stands below it.
        let dispatcher = traced.in_scope(|| setup.dispatcher(&input.active, &conversation.name, &events));
        Self {
            machine: TurnMachine::new(input.start.clone()),
            stall_timeout: setup.stall_timeout,
            last_chunk: Mutex::new(Instant::now()),
            journal: Journal::new(setup.store.clone(), &conversation.name, &input.start.request_id),
            stash: Stash::default(),
            interruption: None,
            overflows: 0,
            compactions: 0,
            compacted_before: None,
            requested: Mutex::default(),
            class: None,
            begun: Instant::now(),
            span: tracing::info_span!(
                "turn",
                session = conversation.name,
                request_id = input.start.request_id,
                function_id = Empty,
                metadata = Empty
            ),
            traced,
            deadline: None,
            started: false,
            persisted: false,
            stored: None,
            error_text: None,
            setup,
            conversation,
            input,
            dispatcher,
            events,
            cancel,
        }
    }

    pub(crate) async fn run(self) -> Ended {
        let (span, traced) = (self.span.clone(), self.traced.clone());
        self.perform().instrument(span).instrument(traced).await
    }

    async fn perform(mut self) -> Ended {
        loop {
            let effect = self.machine.next();
            let outcome = match effect {
                Effect::Finished(mut end) => {
                    end.error = self.error_text.take().or(end.error);
                    let (usage, steps) = (self.machine.total_usage(), self.machine.steps().len());
                    spans::turned(&self.traced, &end, self.class, usage, steps);
                    let interrupted = self.interruption.map(|why| (why, self.record()));
                    if interrupted.is_some()
                        && let Err(error) = self.journal.flush().await
                    {
                        tracing::error!("what an interrupted turn has shown could not be stored: {error}");
                    }
                    let (machine, message, dispatcher) = (self.machine, self.stored, self.dispatcher);
                    return Ended { end, machine, message, interrupted, dispatcher };
                }
                // What is said and done is kept and shown, cancelled or not.
                Effect::StoreApproved(records) => self.store_approved(&records).await,
                Effect::Store => self.store().await,
                Effect::Tell(end) => self.tell(&end).await,
                Effect::AfterToolCall(record) => {
                    let approved = self.machine.runs_approved();
                    let outcome = self.after_tool_call(&record).await;
                    self.apply(outcome);
                    // Shown once they are stored.
                    if approved {
                        continue;
                    }
                    match self.show_record(&record.call.tool_call_id).await {
                        Ok(()) => continue,
                        Err(error) => Outcome::Failed(error.to_string()),
                    }
                }
                Effect::FinishStep => self.finish_step().await,
                Effect::PrepareNextStep => self.prepare_next_step().await,
                Effect::DecideStop => self.decide_stop().await,
                _ if self.cancel.is_cancelled() => Outcome::Aborted(Answer::default()),
                Effect::Assemble => self.assemble().await,
                Effect::BeforeTurn => self.before_turn().await,
                Effect::BeforeStep => self.before_step().await,
                Effect::CallModel => self.call_model().await,
                Effect::CheckInput { tool_call_id, tool_name, input } => {
                    Outcome::InputChecked(tool_call_id, self.input.active.all_tools.check(&tool_name, input))
                }
                Effect::BeforeToolCall { call, input } => self.before_tool_call(call, input).await,
                Effect::RunTools(runs) => match self.begin_tools(&runs).await {
                    Err(error) => Outcome::Failed(error.to_string()),
                    Ok(()) => match self.run_tools(runs).await {
                        Some(outcome) => outcome,
                        None => continue,
                    },
                },
                Effect::TakeSteering => Outcome::Taken(self.take(&self.conversation.steering)),
                Effect::TakeFollowUps => Outcome::Taken(self.take(&self.conversation.follow_ups)),
            };
            self.apply(outcome);
        }
    }

    /// A call that nobody would know of after a crash is not made.
    async fn begin_tools(&self, runs: &[ToolRun]) -> Result<(), StoreError> {
        if self.machine.runs_approved() {
            self.begin_approved(runs).await?;
        }
        self.journal.flush().await
    }

    pub(super) fn apply(&mut self, outcome: Outcome) {
        if let Err(error) = self.machine.apply(outcome) {
            // A bug here, not the user's affair: end the turn rather than spin.
            tracing::error!("{error}");
            let _ = self.machine.apply(Outcome::Failed(error.to_string()));
        }
    }

    async fn before_turn(&mut self) -> Outcome {
        let asked = self
            .dispatcher
            .before_turn(self.machine.start(), self.machine.assembly(), &self.stash, &self.cancel)
            .await;
        if self.stash.get().is_some() {
            let change = JournalChange::Begin(Box::new(self.record()));
            if let Err(error) = self.journal.commit(Vec::new(), None, change).await {
                return Outcome::Failed(error.to_string());
            }
        }
        match asked {
            Ok((mut config, provenance)) => {
                let effort = &mut config.settings.reasoning_effort;
                *effort = effort.take().or_else(|| self.setup.reasoning_effort.clone());
                self.deadline =
                    config.timeout_ms.and_then(|ms| self.begun.checked_add(Duration::from_millis(ms)));
                if let Some(Telemetry { function_id, metadata }) = &config.telemetry {
                    self.span.record("function_id", function_id);
                    self.span.record("metadata", tracing::field::display(json!(metadata)));
                    self.traced.record("lathe.function_id", function_id);
                    self.traced.record("lathe.metadata", tracing::field::display(json!(metadata)));
                }
                if let Some(ms) = config.chat_stream_stall_timeout_ms {
                    self.stall_timeout = (ms > 0).then(|| Duration::from_millis(ms));
                }
                Outcome::TurnConfigured(Box::new(config), provenance)
            }
            Err(error) => Outcome::Failed(error.to_string()),
        }
    }

    /// Opens the stream, once.
    pub(super) async fn start(&mut self) -> Result<(), HookError> {
        if self.started {
            return Ok(());
        }
        self.started = true;
        *self.last_chunk.lock() = Instant::now();
        self.show(Chunk::Start { message_id: self.machine.start().message_id.clone() }).await
    }

    async fn before_step(&mut self) -> Outcome {
        if let Some(compacted) = self.compact_ahead().await {
            return compacted;
        }
        if let Err(error) = self.start().await {
            return Outcome::Failed(error.to_string());
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

    async fn finish_step(&self) -> Outcome {
        let Some(step) = self.machine.steps().last() else { return Outcome::Failed(NO_STEP.into()) };
        // Results are kept before the next step is built on them.
        if !step.records.is_empty()
            && let Err(error) = self.journal.flush().await
        {
            return Outcome::Failed(error.to_string());
        }
        let shown = self.show(Chunk::FinishStep {
            finish_reason: step.answer.finish_reason,
            usage: step.answer.usage,
            model: Some(self.machine.model().to_owned()),
            provider_metadata: step.answer.provider_metadata.clone(),
        });
        let told = async {
            let requested = std::mem::take(&mut *self.requested.lock());
            let waits = |call: &&ToolCall| {
                step.approvals.contains(&call.tool_call_id) && !requested.contains(&call.tool_call_id)
            };
            for call in step.answer.tool_calls().filter(waits) {
                self.request_approval(&call.tool_call_id, &call.tool_name).await?;
            }
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

    /// Shows that a call waits for a person's approval.
    pub(super) async fn request_approval(
        &self,
        tool_call_id: &str,
        tool_name: &str,
    ) -> Result<(), HookError> {
        self.show(Chunk::ToolApprovalRequest {
            approval_id: Approval::of(tool_call_id).id,
            tool_call_id: tool_call_id.to_owned(),
            tool_name: tool_name.to_owned(),
        })
        .await
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

    async fn tell(&mut self, end: &TurnEnd) -> Outcome {
        let request_id = &self.machine.start().request_id;
        if end.stage.is_some() {
            // Nothing was stored with its end.
            let change = JournalChange::End { status: SubmissionStatus::Error, error: end.error.clone() };
            if let Err(error) = self.journal.commit(Vec::new(), None, change).await {
                tracing::error!("the end of a turn could not be stored: {error}");
            }
        }
        if let Some(stage) = end.stage {
            self.error_text = Some(self.dispatcher.on_chat_error(ChatErrorContext {
                request_id: Some(request_id),
                stage,
                message: end.error.as_deref().unwrap_or_default(),
                classification: self.class,
                messages_persisted: self.persisted,
            }));
        }
        let chunk = match end.status {
            TurnStatus::Completed => {
                let last = self.machine.steps().last();
                Chunk::Finish {
                    finish_reason: last.map(|step| step.answer.finish_reason).unwrap_or_default(),
                    total_usage: self.machine.total_usage(),
                }
            }
            TurnStatus::Aborted | TurnStatus::Skipped | TurnStatus::Interrupted => Chunk::Abort,
            TurnStatus::Error => {
                let error = self.error_text.as_ref().or(end.error.as_ref());
                Chunk::Error { error: error.cloned().unwrap_or_default() }
            }
        };
        // A turn that failed before its stream has no stream to watch.
        if end.stage.is_some() {
            self.events.send(TurnEvent::Chunk(chunk));
        } else if let Err(error) = self.show(chunk).await {
            tracing::warn!(hook = "onChunk", "a built-in hook failed after the turn's end: {error}");
        }
        Outcome::Told
    }

    /// Shows a part of the stream to the hooks, then to whoever listens.
    pub(super) async fn show(&self, chunk: Chunk) -> Result<(), HookError> {
        let request_id = &self.machine.start().request_id;
        *self.last_chunk.lock() = Instant::now();
        let reasoning = matches!(
            chunk,
            Chunk::ReasoningStart { .. } | Chunk::ReasoningDelta { .. } | Chunk::ReasoningEnd { .. }
        );
        let shown = !reasoning || self.machine.config().send_reasoning.unwrap_or(true);
        if shown {
            self.journal.push(&chunk);
        }
        self.dispatcher.on_chunk(ChunkContext { request_id, chunk: &chunk }).await?;
        if shown {
            self.events.send(TurnEvent::Chunk(chunk));
        }
        Ok(())
    }
}

/// A bug of the machine: it asks about a step before there is one.
const NO_STEP: &str = "there is no step to finish";
