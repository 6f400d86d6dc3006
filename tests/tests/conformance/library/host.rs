//! The built-in hooks of a case.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use lathe::hooks::{
    ChatResponseContext, HookResult, Hooks, NextStepContext, StepFinishContext, ToolCallContext,
    ToolResultContext, TurnContext,
};
use lathe::turn::{
    CallOutcome, FinishReason, ModelMessage, StepUpdate, ToolDecision, ToolOutput, ToolOverride, ToolRecord,
    TurnConfig,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::record::{Record, roles, single, text};
use super::script::{self, Stop, StopWhen};

pub(crate) struct BuiltIn {
    script: script::Hooks,
    /// How often each hook was called, those around tool calls by tool.
    calls: Mutex<BTreeMap<(&'static str, String), usize>>,
    record: Arc<Record>,
}

impl BuiltIn {
    pub(crate) fn new(script: script::Hooks, record: Arc<Record>) -> Self {
        Self { script, calls: Mutex::default(), record }
    }

    /// The number of this call, from 0.
    fn count(&self, hook: &'static str, tool_name: &str) -> usize {
        let mut calls = self.calls.lock();
        let count = calls.entry((hook, tool_name.to_owned())).or_default();
        *count += 1;
        *count - 1
    }

    fn note_step(&self, hook: &str, step: &NextStepContext<'_>) {
        let ids: Vec<&str> = step.step.records.iter().map(|record| &*record.call.tool_call_id).collect();
        self.record.note(json!({
            "hook": hook,
            "finishReason": step.step.answer.finish_reason,
            "text": step.step.answer.text(),
            "toolResults": ids,
            "system": step.system,
            "messages": roles(step.messages),
            "newMessages": roles(step.new_messages),
        }));
    }
}

fn thrown(throw: Option<&String>) -> HookResult {
    throw.map_or(Ok(()), |error| Err(error.to_owned().into()))
}

fn last(messages: &[ModelMessage], count: usize) -> Vec<ModelMessage> {
    let messages = single(messages);
    messages[messages.len().saturating_sub(count)..].to_vec()
}

fn output(record: &ToolRecord) -> String {
    match &record.output {
        ToolOutput::Output(output) => text(output.clone()),
        ToolOutput::Error(error) => error.message.clone(),
    }
}

#[async_trait]
impl Hooks for BuiltIn {
    /// The library makes a request once.
    async fn before_turn(&self, turn: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
        self.record.turn_begins(turn);
        Ok(Some(TurnConfig { max_retries: Some(0), ..Default::default() }))
    }

    async fn transform_context(&self, messages: &[ModelMessage]) -> HookResult<Option<Vec<ModelMessage>>> {
        self.record.note(json!({"hook": "transformContext", "messages": roles(messages)}));
        let Some(said) = self.script.transform_context.at(self.count("transformContext", "")) else {
            return Ok(None);
        };
        thrown(said.throw.as_ref())?;
        Ok(said.keep_last.map(|count| last(messages, count)))
    }

    async fn before_tool_call(&self, call: &ToolCallContext<'_>) -> HookResult<Option<ToolDecision>> {
        let tool_name = &call.call.tool_name;
        self.record.note(json!({
            "hook": "beforeToolCall",
            "toolName": tool_name,
            "toolCallId": call.call.tool_call_id,
            "args": call.input,
            "messages": roles(call.messages),
        }));
        let number = self.count("beforeToolCall", tool_name);
        let said = self.script.before_tool_call.get(tool_name).and_then(|calls| calls.at(number));
        let Some(said) = said else { return Ok(None) };
        thrown(said.throw.as_ref())?;
        Ok(said.block.then(|| ToolDecision::Block { reason: said.reason.clone() }))
    }

    async fn after_tool_call(&self, call: &ToolResultContext<'_>) -> HookResult<Option<ToolOverride>> {
        let record = call.record;
        let tool_name = &record.call.tool_name;
        let mut entry = json!({
            "hook": "afterToolCall",
            "toolName": tool_name,
            "toolCallId": record.call.tool_call_id,
            "args": record.input,
            "isError": !record.success(),
            "output": output(record),
            "messages": roles(call.messages),
            "outcome": record.outcome,
        });
        if let Some(details) = &record.details {
            entry["details"] = details.clone();
        }
        if record.terminate {
            entry["terminate"] = Value::Bool(true);
        }
        self.record.note(entry);
        // The library does not tell this hook of calls that did not run, so the script has no entry for them.
        let ran = matches!(record.outcome, CallOutcome::Executed | CallOutcome::Failed)
            && self.record.has_run(&record.call.tool_call_id);
        if !ran {
            return Ok(None);
        }
        let number = self.count("afterToolCall", tool_name);
        let said = self.script.after_tool_call.get(tool_name).and_then(|calls| calls.at(number));
        let Some(said) = said.filter(|said| !(said.only_errors && record.success())) else {
            return Ok(None);
        };
        thrown(said.throw.as_ref())?;
        Ok(Some(ToolOverride {
            output: said.content.clone().map(Value::String),
            is_error: said.is_error,
            terminate: said.terminate,
            details: said.details.clone(),
        }))
    }

    async fn on_step_finish(&self, step: &StepFinishContext<'_>) -> HookResult {
        // The library's `turn_end` does not come for a stream that broke off.
        if step.step.answer.finish_reason != FinishReason::Error {
            self.record.step_finished();
        }
        Ok(())
    }

    async fn prepare_next_step(&self, step: &NextStepContext<'_>) -> HookResult<Option<StepUpdate>> {
        self.note_step("prepareNextTurn", step);
        let Some(said) = self.script.prepare_next_turn.at(self.count("prepareNextTurn", "")) else {
            return Ok(None);
        };
        thrown(said.throw.as_ref())?;
        Ok(Some(StepUpdate {
            model: said.model.clone(),
            reasoning_effort: said.thinking_level.clone(),
            system: said.system.clone(),
            messages: said.keep_last.map(|count| last(step.messages, count)),
        }))
    }

    async fn should_stop_after_step(&self, step: &NextStepContext<'_>) -> HookResult<bool> {
        self.note_step("shouldStopAfterTurn", step);
        match self.script.should_stop_after_turn.at(self.count("shouldStopAfterTurn", "")) {
            None => Ok(false),
            Some(Stop::Always(stop)) => Ok(*stop),
            Some(Stop::When(StopWhen { after_messages, when_result_contains, throw })) => {
                thrown(throw.as_ref())?;
                let many = after_messages.is_some_and(|count| single(step.new_messages).len() >= count);
                let said = when_result_contains.as_ref().is_some_and(|wanted| {
                    step.step.records.iter().any(|record| output(record).contains(&**wanted))
                });
                Ok(many || said)
            }
        }
    }

    async fn on_chat_response(&self, response: &ChatResponseContext<'_>) -> HookResult {
        self.record.turn_ends(response);
        Ok(())
    }
}
