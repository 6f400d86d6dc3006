use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use super::panic::{caught, panic_message};
use super::snapshot::count;
use super::{
    ChatErrorContext, ChatErrorSnapshot, ChatResponseContext, ChatResponseSnapshot, ChunkContext,
    ChunkSnapshot, ConfigChanges, Events, Hook, HookError, Hooks, NextStepContext, Observation, Stash,
    StepContext, StepFinishContext, StepFinishSnapshot, StepSnapshot, Subscriber, ToolCallContext,
    ToolCallSnapshot, ToolResultContext, ToolResultSnapshot, TurnContext, TurnSnapshot,
};
use crate::turn::{
    Assembly, ConfigChange, ConfigField, ErrorClass, ModelMessage, Provenance, StepConfig, StepUpdate,
    ToolDecision, ToolError, ToolOverride, ToolPart, TurnConfig, TurnStart, Usage,
};

/// The name under which built-in hooks stand in a turn's provenance.
const BUILT_IN: &str = "built-in";

/// Calls the hooks of one turn: the built-in ones in the order in which they were added, then every extension that
/// subscribed, in load order.
pub struct Dispatcher {
    built_in: Arc<[Arc<dyn Hooks>]>,
    extensions: Vec<Box<dyn Subscriber>>,
    events: Arc<dyn Events>,
    models: Box<KnownModel>,
}

/// Says why there is no model of that id; nothing if there is.
pub type KnownModel = dyn Fn(&str) -> Result<(), String> + Send + Sync;

impl Dispatcher {
    /// For one turn. `models` knows which models extensions may choose.
    #[must_use]
    pub fn new(
        built_in: Arc<[Arc<dyn Hooks>]>,
        extensions: Vec<Box<dyn Subscriber>>,
        events: Arc<dyn Events>,
        models: Box<KnownModel>,
    ) -> Self {
        Self { built_in, extensions, events, models }
    }

    /// Drops a model that an extension chose and that cannot be had: that would be the extension's fault and the turn's
    /// loss. One that a built-in hook chose is an error later on.
    fn drop_unknown(&self, model: &mut Option<String>, dropped: &mut Vec<String>) {
        if let Some(error) = model.as_deref().and_then(|model| (self.models)(model).err()) {
            dropped.push(format!("model: {error}"));
            *model = None;
        }
    }

    /// Asks everybody what to change and merges the answers (`think.md` §3.6). An extension that fails is passed
    /// over.
    ///
    /// # Errors
    ///
    /// If a built-in hook fails.
    pub async fn before_turn(
        &self,
        start: &TurnStart,
        assembly: &Assembly,
        stash: &Stash,
        cancelled: &CancellationToken,
    ) -> Result<(TurnConfig, Provenance), HookError> {
        let mut config = TurnConfig::default();
        let mut provenance = Provenance::new();
        for hooks in self.built_in.iter() {
            let context = TurnContext {
                request_id: &start.request_id,
                trigger: start.trigger,
                continuation: start.continuation,
                system: config.system.as_ref().unwrap_or(&assembly.system),
                messages: config.messages.as_ref().unwrap_or(&assembly.messages),
                tools: &assembly.tools,
                model: config.model.as_ref().unwrap_or(&assembly.model),
                body: start.body.as_ref(),
                stash,
                cancelled,
            };
            if let Some(change) = caught(hooks.before_turn(&context)).await? {
                for field in config.merge(change) {
                    provenance.insert(field, BUILT_IN.to_owned());
                }
            }
        }
        if !provenance.is_empty() {
            let changes =
                provenance.keys().map(|&field| ConfigChange { field, value: config.get(field) }).collect();
            self.events.config_changed(ConfigChanges { hook: Hook::BeforeTurn, by: BUILT_IN, changes });
        }
        // Extensions start from the built-in hooks' system text, but see an active tool list only once one of
        // themselves has set it.
        let mut active_tools: Option<Vec<String>> = None;
        for extension in &self.extensions {
            if !extension.subscribes(Hook::BeforeTurn) {
                continue;
            }
            let messages = config.messages.as_ref().unwrap_or(&assembly.messages);
            let snapshot = TurnSnapshot {
                system: config.system.as_ref().unwrap_or(&assembly.system).clone(),
                tool_names: active_tools
                    .clone()
                    .unwrap_or_else(|| assembly.tools.iter().map(|tool| tool.name.clone()).collect()),
                message_count: count(messages.len()),
                max_steps: config.max_steps.unwrap_or(start.max_steps),
                continuation: start.continuation,
                body: start.body.clone(),
                model_id: config.model.as_ref().unwrap_or(&assembly.model).clone(),
                request_id: start.request_id.clone(),
                trigger: start.trigger,
            };
            let (mut call, answer) = extension.before_turn(snapshot).await;
            match answer {
                Ok(Some(mut patch)) => {
                    self.drop_unknown(&mut patch.config.model, &mut patch.dropped);
                    call.dropped = patch.dropped;
                    if patch.config.active_tools.is_some() || patch.reset.contains(&ConfigField::ActiveTools)
                    {
                        active_tools.clone_from(&patch.config.active_tools);
                    }
                    let mut changed = patch.reset;
                    for field in &changed {
                        config.reset(*field);
                    }
                    changed.extend(config.merge(patch.config));
                    for field in changed {
                        provenance.insert(field, extension.name().to_owned());
                        call.changes.push(ConfigChange { field, value: config.get(field) });
                    }
                }
                Ok(None) => {}
                Err(failure) => call.failed(&failure),
            }
            self.events.hook_called(call);
        }
        Ok((config, provenance))
    }

    /// Asks the built-in hooks, then the extensions that may decide, what to change for one step; the other extensions
    /// are told.
    ///
    /// # Errors
    ///
    /// If a built-in hook fails, or an extension that may decide: a gate fails closed.
    pub async fn before_step(
        &self,
        context: StepContext<'_>,
        total_usage: Usage,
    ) -> Result<StepConfig, HookError> {
        let mut config = StepConfig::default();
        for hooks in self.built_in.iter() {
            let shown = StepContext {
                system: config.system.as_deref().unwrap_or(context.system),
                messages: config.messages.as_deref().unwrap_or(context.messages),
                model: config.model.as_deref().unwrap_or(context.model),
                ..context
            };
            if let Some(change) = caught(hooks.before_step(&shown)).await? {
                config.merge(change);
            }
        }
        for extension in self.subscribers(Hook::BeforeStep) {
            let snapshot = Arc::new(StepSnapshot {
                request_id: context.request_id.to_owned(),
                step_number: context.step_number,
                system: config.system.as_deref().unwrap_or(context.system).to_owned(),
                tool_names: config
                    .active_tools
                    .clone()
                    .unwrap_or_else(|| context.tools.iter().map(|tool| tool.name.clone()).collect()),
                message_count: count(config.messages.as_deref().unwrap_or(context.messages).len()),
                model_id: config.model.as_deref().unwrap_or(context.model).to_owned(),
                total_usage,
            });
            if !extension.decides(Hook::BeforeStep) {
                extension.observe(Observation::BeforeStep(snapshot));
                continue;
            }
            let (mut call, answer) = extension.before_step(snapshot).await;
            let mut failed = None;
            match answer {
                Ok(Some((mut change, mut dropped))) => {
                    self.drop_unknown(&mut change.model, &mut dropped);
                    call.decision = Some("change");
                    call.dropped = dropped;
                    config.merge(change);
                }
                Ok(None) => {}
                Err(failure) => {
                    call.failed(&failure);
                    failed = Some(failure);
                }
            }
            self.events.hook_called(call);
            if let Some(failure) = failed {
                let name = extension.name();
                return Err(
                    format!("the extension \"{name}\" decides over steps, and it failed: {failure}").into()
                );
            }
        }
        Ok(config)
    }

    /// Asks the built-in hooks, then the extensions that may decide, whether a tool call may run: the first that does
    /// not simply allow it decides, and an input that one of them puts in place is what the next one is shown. The other
    /// extensions are told, also of a call that is refused. A gate that fails blocks the call.
    ///
    /// # Errors
    ///
    /// If a built-in hook fails; extensions are not told then (`think.md` §2.2).
    pub async fn before_tool_call(
        &self,
        context: ToolCallContext<'_>,
    ) -> Result<Option<ToolDecision>, ToolError> {
        let mut rewritten = None;
        let mut decision = None;
        for hooks in self.built_in.iter() {
            let shown = ToolCallContext { input: rewritten.as_ref().unwrap_or(context.input), ..context };
            match caught(hooks.before_tool_call(&shown))
                .await
                .map_err(|error| ToolError::failed(error.to_string()))?
            {
                None => {}
                Some(ToolDecision::Allow { input }) => rewritten = input.or(rewritten),
                Some(other) => {
                    decision = Some(other);
                    break;
                }
            }
        }
        for extension in self.subscribers(Hook::BeforeToolCall) {
            let shown = ToolCallContext { input: rewritten.as_ref().unwrap_or(context.input), ..context };
            let snapshot = Arc::new(ToolCallSnapshot::from(&shown));
            if decision.is_some() || !extension.decides(Hook::BeforeToolCall) {
                extension.observe(Observation::BeforeToolCall(snapshot));
                continue;
            }
            let (mut call, answer) = extension.before_tool_call(snapshot).await;
            match answer {
                Ok(None) => {}
                Ok(Some(ToolDecision::Allow { input })) => {
                    call.decision = Some(if input.is_some() { "change" } else { "allow" });
                    rewritten = input.or(rewritten);
                }
                Ok(Some(other)) => {
                    let blocks = matches!(other, ToolDecision::Block { .. });
                    call.decision = Some(if blocks { "block" } else { "substitute" });
                    decision = Some(other);
                }
                Err(failure) => {
                    call.failed(&failure);
                    call.decision = Some("block");
                    let name = extension.name();
                    let reason =
                        format!("Blocked: the extension \"{name}\" decides over tool calls, and it failed.");
                    decision = Some(ToolDecision::Block { reason: Some(reason) });
                }
            }
            self.events.hook_called(call);
        }
        Ok(decision.or(rewritten.map(|input| ToolDecision::Allow { input: Some(input) })))
    }

    /// Asks the built-in hooks, then the extensions that may decide, what to change of a call's result; the other
    /// extensions are told. Each is shown what those before it made of it. A hook that fails makes the call fail, and so does a gate: a result
    /// that could not be checked is withheld.
    pub async fn after_tool_call(&self, context: ToolResultContext<'_>) -> ToolOverride {
        let mut record = context.record.clone();
        let mut change = ToolOverride::default();
        for hooks in self.built_in.iter() {
            let shown = ToolResultContext { record: &record, ..context };
            let more = match caught(hooks.after_tool_call(&shown)).await {
                Ok(more) => more.unwrap_or_default(),
                Err(error) => ToolOverride::error(error.to_string()),
            };
            record.apply(&more);
            change.merge(more);
        }
        for extension in self.subscribers(Hook::AfterToolCall) {
            let shown = ToolResultContext { record: &record, ..context };
            let snapshot = Arc::new(ToolResultSnapshot::from(&shown));
            if !extension.decides(Hook::AfterToolCall) {
                extension.observe(Observation::AfterToolCall(snapshot));
                continue;
            }
            let (mut call, answer) = extension.after_tool_call(snapshot).await;
            let more = match answer {
                Ok(None) => ToolOverride::default(),
                Ok(Some(more)) => {
                    call.decision = Some("change");
                    more
                }
                Err(failure) => {
                    call.failed(&failure);
                    call.decision = Some("block");
                    let name = extension.name();
                    ToolOverride::error(format!(
                        "Withheld: the extension \"{name}\" decides over results, and it failed."
                    ))
                }
            };
            record.apply(&more);
            change.merge(more);
            self.events.hook_called(call);
        }
        change
    }

    /// Tells everybody that a step is over.
    ///
    /// # Errors
    ///
    /// If a built-in hook fails.
    pub async fn on_step_finish(&self, context: StepFinishContext<'_>) -> Result<(), HookError> {
        for hooks in self.built_in.iter() {
            caught(hooks.on_step_finish(&context)).await?;
        }
        self.tell(Hook::OnStepFinish, || {
            Observation::StepFinish(Arc::new(StepFinishSnapshot::from(&context)))
        });
        Ok(())
    }

    /// Lets the built-in hooks change the messages of one request, one after the other.
    ///
    /// # Errors
    ///
    /// If one of them fails.
    pub async fn transform_context(
        &self,
        mut messages: Vec<ModelMessage>,
    ) -> Result<Vec<ModelMessage>, HookError> {
        for hooks in self.built_in.iter() {
            if let Some(changed) = caught(hooks.transform_context(&messages)).await? {
                messages = changed;
            }
        }
        Ok(messages)
    }

    /// Asks the built-in hooks what to change for the rest of the turn.
    ///
    /// # Errors
    ///
    /// If one of them fails.
    pub async fn prepare_next_step(&self, context: NextStepContext<'_>) -> Result<StepUpdate, HookError> {
        let mut update = StepUpdate::default();
        for hooks in self.built_in.iter() {
            let shown = NextStepContext {
                system: update.system.as_deref().unwrap_or(context.system),
                messages: update.messages.as_deref().unwrap_or(context.messages),
                ..context
            };
            if let Some(change) = caught(hooks.prepare_next_step(&shown)).await? {
                update.merge(change);
            }
        }
        Ok(update)
    }

    /// Asks the built-in hooks whether the turn should end here. All are asked.
    ///
    /// # Errors
    ///
    /// If one of them fails.
    pub async fn should_stop_after_step(&self, context: NextStepContext<'_>) -> Result<bool, HookError> {
        let mut stop = false;
        for hooks in self.built_in.iter() {
            stop |= caught(hooks.should_stop_after_step(&context)).await?;
        }
        Ok(stop)
    }

    /// Shows everybody a part of the stream.
    ///
    /// # Errors
    ///
    /// If a built-in hook fails.
    pub async fn on_chunk(&self, context: ChunkContext<'_>) -> Result<(), HookError> {
        for hooks in self.built_in.iter() {
            caught(hooks.on_chunk(&context)).await?;
        }
        self.tell(Hook::OnChunk, || Observation::Chunk(Arc::new(ChunkSnapshot(context.chunk.clone()))));
        Ok(())
    }

    /// Tells everybody how the turn ended.
    pub async fn on_chat_response(&self, context: ChatResponseContext<'_>) {
        for hooks in self.built_in.iter() {
            if let Err(error) = caught(hooks.on_chat_response(&context)).await {
                tracing::warn!(hook = "onChatResponse", "a built-in hook failed: {error}");
            }
        }
        self.tell(Hook::OnChatResponse, || {
            Observation::ChatResponse(Arc::new(ChatResponseSnapshot::from(&context)))
        });
    }

    /// Tells everybody that the turn failed outside the model's stream. Returns the text to show.
    #[must_use]
    pub fn on_chat_error(&self, context: ChatErrorContext<'_>) -> String {
        let mut message = context.message.to_owned();
        let classification = context.classification.or_else(|| self.classify(&context));
        let context = ChatErrorContext { classification, ..context };
        for hooks in self.built_in.iter() {
            let shown = ChatErrorContext { message: &message, ..context };
            match std::panic::catch_unwind(AssertUnwindSafe(|| hooks.on_chat_error(&shown))) {
                Ok(text) => message = text,
                Err(panic) => tracing::warn!(
                    hook = "onChatError",
                    "a built-in hook panicked: {}",
                    panic_message(&*panic)
                ),
            }
        }
        self.tell(Hook::OnChatError, || Observation::ChatError(Arc::new(ChatErrorSnapshot::from(&context))));
        message
    }

    /// What kind of failure an error is, by the first built-in hook that knows.
    #[must_use]
    pub fn classify(&self, context: &ChatErrorContext<'_>) -> Option<ErrorClass> {
        self.first("classifyChatError", |hooks| hooks.classify_chat_error(context))
    }

    /// What becomes of a tool call that never got a result, by the first built-in hook that says.
    #[must_use]
    pub fn repair(&self, part: &ToolPart) -> Option<ToolPart> {
        self.first("repairInterruptedToolPart", |hooks| hooks.repair_interrupted_tool_part(part))
    }

    /// The first answer of a built-in hook; one that panics has none.
    fn first<T>(&self, hook: &'static str, ask: impl Fn(&dyn Hooks) -> Option<T>) -> Option<T> {
        self.built_in.iter().find_map(|hooks| {
            std::panic::catch_unwind(AssertUnwindSafe(|| ask(&**hooks))).unwrap_or_else(|panic| {
                let panic = panic_message(&*panic);
                tracing::warn!(hook, "a built-in hook panicked: {panic}");
                None
            })
        })
    }

    /// Waits until every extension has seen everything.
    pub async fn flush(&self) {
        join_all(self.extensions.iter().map(|extension| extension.flush())).await;
    }

    fn subscribers(&self, hook: Hook) -> impl Iterator<Item = &dyn Subscriber> {
        self.extensions
            .iter()
            .map(|extension| &**extension)
            .filter(move |extension| extension.subscribes(hook))
    }

    /// Makes the observation only if somebody wants it.
    fn tell(&self, hook: Hook, observation: impl FnOnce() -> Observation) {
        let mut wanting = self.subscribers(hook).peekable();
        if wanting.peek().is_none() {
            return;
        }
        let observation = observation();
        for extension in wanting {
            extension.observe(observation.clone());
        }
    }
}
