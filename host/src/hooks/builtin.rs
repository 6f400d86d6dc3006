use async_trait::async_trait;

use super::{
    ChatErrorContext, ChatRecoveryContext, ChatRecoveryOptions, ChatResponseContext, ChunkContext,
    ExhaustedContext, NextStepContext, SessionConfig, StepContext, StepFinishContext,
    SubmissionStatusContext, ToolCallContext, ToolResultContext, TurnContext,
};
use crate::turn::{
    ErrorClass, ModelMessage, StepConfig, StepUpdate, ToolDecision, ToolOverride, ToolPart, TurnConfig,
};

/// Why a built-in hook failed: any error, or a text.
#[derive(Debug)]
pub struct HookError(Box<dyn std::error::Error + Send + Sync>);

impl<E: Into<Box<dyn std::error::Error + Send + Sync>>> From<E> for HookError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl std::fmt::Display for HookError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// What a built-in hook answers.
pub type HookResult<T = ()> = Result<T, HookError>;

/// Built-in hooks: what an embedder does at the stages of a turn, before any extension is asked.
///
/// Every method is defaulted to saying nothing. Several sets may be added to an agent; they are called in the order
/// in which they were added, each shown what the ones before it made.
///
/// ```
/// use lathe::hooks::{HookResult, Hooks, TurnContext};
/// use lathe::turn::TurnConfig;
///
/// struct Brief;
///
/// #[async_trait::async_trait]
/// impl Hooks for Brief {
///     async fn before_turn(&self, turn: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
///         let system = format!("{}\nAnswer in one sentence.", turn.system);
///         Ok(Some(TurnConfig { system: Some(system), max_steps: Some(3), ..Default::default() }))
///     }
/// }
/// ```
#[async_trait]
pub trait Hooks: Send + Sync {
    /// Once per session, when it is opened. An error makes the opening fail.
    ///
    /// ```
    /// use lathe::hooks::{HookResult, Hooks, SessionConfig};
    ///
    /// struct Greeting;
    ///
    /// #[async_trait::async_trait]
    /// impl Hooks for Greeting {
    ///     async fn configure_session(&self, mut session: SessionConfig) -> HookResult<SessionConfig> {
    ///         session.system.push_str(&format!("\nThis is the conversation \"{}\".", session.name));
    ///         Ok(session)
    ///     }
    /// }
    /// ```
    async fn configure_session(&self, session: SessionConfig) -> HookResult<SessionConfig> {
        Ok(session)
    }

    /// Before the first model request, on every way into a turn. What it answers is merged over what the hooks before it
    /// answered: the last write wins, field by field. An error ends the turn before any request.
    ///
    /// ```
    /// use lathe::hooks::{HookResult, Hooks, TurnContext};
    /// use lathe::turn::TurnConfig;
    ///
    /// struct ReadOnly;
    ///
    /// #[async_trait::async_trait]
    /// impl Hooks for ReadOnly {
    ///     async fn before_turn(&self, turn: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
    ///         let names = turn.tools.iter().map(|tool| tool.name.clone());
    ///         let active_tools = Some(names.filter(|name| !name.ends_with("_write")).collect());
    ///         Ok(Some(TurnConfig { active_tools, max_steps: Some(3), ..Default::default() }))
    ///     }
    /// }
    /// ```
    async fn before_turn(&self, _turn: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
        Ok(None)
    }

    /// Before each model request; what it answers holds for that step alone. An error ends the turn.
    ///
    /// ```
    /// use lathe::hooks::{HookResult, Hooks, StepContext};
    /// use lathe::turn::{StepConfig, ToolChoice};
    ///
    /// struct AnswerInWords;
    ///
    /// #[async_trait::async_trait]
    /// impl Hooks for AnswerInWords {
    ///     async fn before_step(&self, step: &StepContext<'_>) -> HookResult<Option<StepConfig>> {
    ///         let last = step.step_number >= 4;
    ///         Ok(last.then(|| StepConfig { tool_choice: Some(ToolChoice::None), ..Default::default() }))
    ///     }
    /// }
    /// ```
    async fn before_step(&self, _step: &StepContext<'_>) -> HookResult<Option<StepConfig>> {
        Ok(None)
    }

    /// Before a tool runs; not for client tools, unknown tools and invalid inputs. A changed input is checked again. The
    /// first hook that does not allow decides. An error becomes the call's.
    ///
    /// ```
    /// use lathe::hooks::{HookResult, Hooks, ToolCallContext};
    /// use lathe::turn::ToolDecision;
    ///
    /// struct Careful;
    ///
    /// #[async_trait::async_trait]
    /// impl Hooks for Careful {
    ///     async fn before_tool_call(&self, call: &ToolCallContext<'_>) -> HookResult<Option<ToolDecision>> {
    ///         if call.call.tool_name == "shell" && call.input["command"].as_str().is_some_and(|c| c.contains("rm ")) {
    ///             return Ok(Some(ToolDecision::Block { reason: Some("Nothing is deleted here.".into()) }));
    ///         }
    ///         Ok(None)
    ///     }
    /// }
    /// ```
    async fn before_tool_call(&self, _call: &ToolCallContext<'_>) -> HookResult<Option<ToolDecision>> {
        Ok(None)
    }

    /// After a call has its result, whatever it is: see [`CallOutcome`](crate::turn::CallOutcome). Each field that it
    /// answers replaces the result's. An error becomes the call's.
    ///
    /// ```
    /// use lathe::hooks::{HookResult, Hooks, ToolResultContext};
    /// use lathe::turn::{ToolOutput, ToolOverride};
    ///
    /// struct Redact;
    ///
    /// #[async_trait::async_trait]
    /// impl Hooks for Redact {
    ///     async fn after_tool_call(&self, call: &ToolResultContext<'_>) -> HookResult<Option<ToolOverride>> {
    ///         let ToolOutput::Output(output) = &call.record.output else { return Ok(None) };
    ///         let secret = output.to_string().contains("BEGIN PRIVATE KEY");
    ///         Ok(secret.then(|| ToolOverride { output: Some("[a private key]".into()), ..Default::default() }))
    ///     }
    /// }
    /// ```
    async fn after_tool_call(&self, _call: &ToolResultContext<'_>) -> HookResult<Option<ToolOverride>> {
        Ok(None)
    }

    /// After each step, its tool calls included; with the finish reason `error` after a stream that failed in mid-answer. An
    /// error ends the turn.
    ///
    /// ```
    /// use lathe::hooks::{HookResult, Hooks, StepFinishContext};
    ///
    /// struct Costs;
    ///
    /// #[async_trait::async_trait]
    /// impl Hooks for Costs {
    ///     async fn on_step_finish(&self, step: &StepFinishContext<'_>) -> HookResult {
    ///         println!("step {}: {:?} tokens", step.step_number, step.step.answer.usage.total_tokens);
    ///         Ok(())
    ///     }
    /// }
    /// ```
    async fn on_step_finish(&self, _step: &StepFinishContext<'_>) -> HookResult {
        Ok(())
    }

    /// For each part of the stream, as it goes by; the stream waits for it. An error ends the turn.
    ///
    /// ```
    /// use lathe::hooks::{ChunkContext, HookResult, Hooks};
    /// use lathe::turn::Chunk;
    ///
    /// struct Typewriter;
    ///
    /// #[async_trait::async_trait]
    /// impl Hooks for Typewriter {
    ///     async fn on_chunk(&self, chunk: &ChunkContext<'_>) -> HookResult {
    ///         if let Chunk::TextDelta { text, .. } = chunk.chunk {
    ///             print!("{text}");
    ///         }
    ///         Ok(())
    ///     }
    /// }
    /// ```
    async fn on_chunk(&self, _chunk: &ChunkContext<'_>) -> HookResult {
        Ok(())
    }

    /// Changes the messages of one request, just before it is made; what is stored, and what the next request starts
    /// from, stays as it is. An error ends the turn.
    ///
    /// ```
    /// use lathe::hooks::{HookResult, Hooks};
    /// use lathe::turn::ModelMessage;
    ///
    /// struct Recent;
    ///
    /// #[async_trait::async_trait]
    /// impl Hooks for Recent {
    ///     async fn transform_context(&self, messages: &[ModelMessage]) -> HookResult<Option<Vec<ModelMessage>>> {
    ///         let older = messages.len().saturating_sub(20);
    ///         Ok((older > 0).then(|| messages[older..].to_vec()))
    ///     }
    /// }
    /// ```
    async fn transform_context(&self, _messages: &[ModelMessage]) -> HookResult<Option<Vec<ModelMessage>>> {
        Ok(None)
    }

    /// After each step that did not fail, the last one included: changes what the rest of the turn works with. An error
    /// ends the turn.
    ///
    /// ```
    /// use lathe::hooks::{HookResult, Hooks, NextStepContext};
    /// use lathe::turn::StepUpdate;
    ///
    /// struct Escalate;
    ///
    /// #[async_trait::async_trait]
    /// impl Hooks for Escalate {
    ///     async fn prepare_next_step(&self, step: &NextStepContext<'_>) -> HookResult<Option<StepUpdate>> {
    ///         let failed = step.step.records.iter().any(|record| !record.success());
    ///         Ok(failed.then(|| StepUpdate { reasoning_effort: Some("high".into()), ..Default::default() }))
    ///     }
    /// }
    /// ```
    async fn prepare_next_step(&self, _step: &NextStepContext<'_>) -> HookResult<Option<StepUpdate>> {
        Ok(None)
    }

    /// After `prepare_next_step`: whether the turn should end here. One yes is enough. Messages that wait stay waiting. An
    /// error ends the turn.
    ///
    /// ```
    /// use lathe::hooks::{HookResult, Hooks, NextStepContext};
    ///
    /// struct Enough;
    ///
    /// #[async_trait::async_trait]
    /// impl Hooks for Enough {
    ///     async fn should_stop_after_step(&self, step: &NextStepContext<'_>) -> HookResult<bool> {
    ///         Ok(step.new_messages.len() > 40)
    ///     }
    /// }
    /// ```
    async fn should_stop_after_step(&self, _step: &NextStepContext<'_>) -> HookResult<bool> {
        Ok(false)
    }

    /// After the turn has ended and its answer is stored. The session is free by then: a turn may be started from here,
    /// and does not call this hook again. An error is logged.
    ///
    /// ```
    /// use lathe::hooks::{ChatResponseContext, HookResult, Hooks};
    /// use lathe::turn::TurnStatus;
    ///
    /// struct Notify;
    ///
    /// #[async_trait::async_trait]
    /// impl Hooks for Notify {
    ///     async fn on_chat_response(&self, response: &ChatResponseContext<'_>) -> HookResult {
    ///         if response.status == TurnStatus::Error {
    ///             eprintln!("turn {} failed: {:?}", response.request_id, response.error);
    ///         }
    ///         Ok(())
    ///     }
    /// }
    /// ```
    async fn on_chat_response(&self, _response: &ChatResponseContext<'_>) -> HookResult {
        Ok(())
    }

    /// After a turn failed outside the model's stream. Returns the text that is shown in place of the error's.
    ///
    /// ```
    /// use lathe::hooks::{ChatErrorContext, Hooks};
    ///
    /// struct Polite;
    ///
    /// impl Hooks for Polite {
    ///     fn on_chat_error(&self, error: &ChatErrorContext<'_>) -> String {
    ///         format!("Something went wrong; please try again. ({})", error.message)
    ///     }
    /// }
    /// ```
    fn on_chat_error(&self, error: &ChatErrorContext<'_>) -> String {
        error.message.to_owned()
    }

    /// What kind of failure an error is, before `on_chat_error` is told. The first answer counts.
    ///
    /// ```
    /// use lathe::hooks::{ChatErrorContext, Hooks};
    /// use lathe::turn::ErrorClass;
    ///
    /// struct Providers;
    ///
    /// impl Hooks for Providers {
    ///     fn classify_chat_error(&self, error: &ChatErrorContext<'_>) -> Option<ErrorClass> {
    ///         error.message.contains("429").then_some(ErrorClass::RateLimit)
    ///     }
    /// }
    /// ```
    fn classify_chat_error(&self, _error: &ChatErrorContext<'_>) -> Option<ErrorClass> {
        None
    }

    /// Before an interrupted turn is taken up: the process had died, the stream had stalled, or the provider had failed in a
    /// way that may pass. The last answer counts. An error gives the turn up.
    ///
    /// ```
    /// use lathe::hooks::{ChatRecoveryContext, ChatRecoveryOptions, HookResult, Hooks};
    ///
    /// struct OnlyText;
    ///
    /// #[async_trait::async_trait]
    /// impl Hooks for OnlyText {
    ///     async fn on_chat_recovery(
    ///         &self,
    ///         turn: &ChatRecoveryContext<'_>,
    ///     ) -> HookResult<Option<ChatRecoveryOptions>> {
    ///         let go_on = turn.partial_text.len() < 100_000;
    ///         Ok(Some(ChatRecoveryOptions { go_on, ..Default::default() }))
    ///     }
    /// }
    /// ```
    async fn on_chat_recovery(
        &self,
        _turn: &ChatRecoveryContext<'_>,
    ) -> HookResult<Option<ChatRecoveryOptions>> {
        Ok(None)
    }

    /// From the second attempt at an interrupted turn on: whether it is worth another one. One no is enough; an error
    /// counts as yes.
    async fn should_keep_recovering(&self, _turn: &ChatRecoveryContext<'_>) -> HookResult<bool> {
        Ok(true)
    }

    /// After an interrupted turn is given up. An error is logged.
    async fn on_exhausted(&self, _turn: &ExhaustedContext<'_>) -> HookResult {
        Ok(())
    }

    /// What becomes of a stored tool call that has no result and never will, in place of the error that the model would
    /// read (`think.md` §4.6). The first answer counts.
    fn repair_interrupted_tool_part(&self, _part: &ToolPart) -> Option<ToolPart> {
        None
    }

    /// When a submission's status has changed, and before its acceptance is confirmed. An error is logged.
    async fn on_submission_status(&self, _submission: &SubmissionStatusContext<'_>) -> HookResult {
        Ok(())
    }
}
