//! The built-in hooks of a recorded case.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use lathe::hooks::{
    ChatErrorContext, ChatResponseContext, ChunkContext, HookResult, Hooks, StepContext, StepFinishContext,
    ToolCallContext, ToolResultContext, TurnContext,
};
use lathe::turn::{ModelMessage, StepConfig, ToolDecision, ToolOutput, ToolOverride, TurnConfig};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Plays the hooks of a case and tells what they are shown.
pub struct BuiltIn {
    system: String,
    hooks: serde_json::Map<String, Value>,
    counts: Mutex<BTreeMap<&'static str, usize>>,
    told: Box<dyn Fn(Value) + Send + Sync>,
    /// What `onChunk` was shown.
    pub chunks: Mutex<Vec<Value>>,
}

impl BuiltIn {
    /// Plays `hooks`, as they stand in a case. `told` is told of every other call than `onChunk`.
    pub fn new(
        system: impl Into<String>,
        hooks: serde_json::Map<String, Value>,
        told: impl Fn(Value) + Send + Sync + 'static,
    ) -> Self {
        Self {
            system: system.into(),
            hooks,
            counts: Mutex::default(),
            told: Box::new(told),
            chunks: Mutex::default(),
        }
    }

    fn note(&self, event: Value) {
        (self.told)(compact(event));
    }

    /// What the case has the hook do now: its answer, if any, or its failure.
    ///
    /// # Errors
    ///
    /// If the case has it fail.
    pub fn act(&self, hook: &'static str, tool_name: &str, system: &str) -> HookResult<Option<Value>> {
        let behaviour = match self.hooks.get(hook) {
            None => return Ok(None),
            // One entry a call, the last repeats.
            Some(Value::Array(list)) => {
                let mut counts = self.counts.lock();
                let count = counts.entry(hook).or_default();
                *count += 1;
                list.get(*count - 1).or(list.last()).cloned().unwrap_or_default()
            }
            Some(one) => one.clone(),
        };
        if let Some(error) = behaviour["throw"].as_str() {
            return Err(error.to_owned().into());
        }
        if behaviour["onlyTool"].as_str().is_some_and(|only| only != tool_name) {
            return Ok(None);
        }
        let Some(more) = behaviour["appendSystem"].as_str() else {
            return Ok(behaviour.get("return").cloned());
        };
        let mut answer =
            behaviour.get("return").filter(|answer| answer.is_object()).cloned().unwrap_or(json!({}));
        answer["system"] = json!(format!("{system}{more}"));
        Ok(Some(answer))
    }
}

/// Without the fields that are null.
fn compact(mut value: Value) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.retain(|_, field| !field.is_null());
    }
    value
}

fn roles(messages: &[ModelMessage]) -> Vec<Value> {
    messages.iter().map(|message| json!(message.role)).collect()
}

/// Reads an answer field by field: what has the wrong type, or no place in `T`, is left out.
fn fields<T: DeserializeOwned>(answer: Option<&Value>, mut take: impl FnMut(T)) {
    for (name, value) in answer.and_then(Value::as_object).into_iter().flatten() {
        let (name, value) = match (&**name, value) {
            ("timeout", Value::Object(parts)) => ("timeoutMs", parts.get("totalMs").unwrap_or(&Value::Null)),
            ("timeout", value) => ("timeoutMs", value),
            other => other,
        };
        if let Ok(field) = serde_json::from_value(json!({name: value})) {
            take(field);
        }
    }
}

#[async_trait]
impl Hooks for BuiltIn {
    async fn before_turn(&self, turn: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
        let tools: Vec<&str> = turn.tools.iter().map(|tool| &*tool.name).collect();
        self.note(json!({
            "hook": "beforeTurn",
            "system": turn.system,
            "tools": tools,
            "messages": roles(turn.messages),
            "continuation": turn.continuation,
            "body": turn.body,
        }));
        pause(self.hooks.get("beforeTurn").and_then(|behaviour| behaviour["hangMs"].as_u64())).await;
        let mut config = TurnConfig { system: Some(self.system.clone()), ..Default::default() };
        let answer = self.act("beforeTurn", "", turn.system)?;
        if answer.as_ref().and_then(|answer| answer.get("system")).is_some_and(Value::is_null) {
            config.system = None;
        }
        fields(answer.as_ref(), |field| drop(config.merge(field)));
        Ok(Some(config))
    }

    async fn before_step(&self, step: &StepContext<'_>) -> HookResult<Option<StepConfig>> {
        self.note(json!({
            "hook": "beforeStep",
            "stepNumber": step.step_number,
            "steps": step.steps.len(),
            "messages": roles(step.messages),
        }));
        let mut config = StepConfig::default();
        fields(self.act("beforeStep", "", step.system)?.as_ref(), |field| config.merge(field));
        Ok(Some(config))
    }

    async fn before_tool_call(&self, call: &ToolCallContext<'_>) -> HookResult<Option<ToolDecision>> {
        self.note(json!({
            "hook": "beforeToolCall",
            "toolName": call.call.tool_name,
            "toolCallId": call.call.tool_call_id,
            "input": call.input,
        }));
        let answer = self.act("beforeToolCall", &call.call.tool_name, "")?;
        Ok(answer.and_then(|answer| serde_json::from_value(answer).ok()))
    }

    /// Think's has no answer, so one in a case is left out.
    async fn after_tool_call(&self, call: &ToolResultContext<'_>) -> HookResult<Option<ToolOverride>> {
        let record = call.record;
        let mut event = json!({
            "hook": "afterToolCall",
            "toolName": record.call.tool_name,
            "toolCallId": record.call.tool_call_id,
            "input": record.call.input,
            "outcome": record.outcome,
            "success": record.success(),
        });
        match &record.output {
            ToolOutput::Output(output) => event["output"] = output.clone(),
            ToolOutput::Error(error) => event["error"] = json!(error.message),
        }
        // An output may be null.
        (self.told)(event);
        self.act("afterToolCall", &record.call.tool_name, "")?;
        Ok(None)
    }

    async fn on_step_finish(&self, step: &StepFinishContext<'_>) -> HookResult {
        let answer = &step.step.answer;
        let reasoning = answer.reasoning_text();
        self.note(json!({
            "hook": "onStepFinish",
            "stepNumber": step.step_number,
            "finishReason": answer.finish_reason,
            "text": answer.text(),
            "reasoningText": (!reasoning.is_empty()).then_some(reasoning),
            "toolCalls": answer.tool_calls().count(),
            "toolResults": step.step.records.iter().filter(|record| record.success()).count(),
            "usage": compact(json!({
                "inputTokens": answer.usage.input_tokens,
                "outputTokens": answer.usage.output_tokens,
                "totalTokens": answer.usage.total_tokens,
            })),
        }));
        self.act("onStepFinish", "", "").map(drop)
    }

    async fn on_chunk(&self, chunk: &ChunkContext<'_>) -> HookResult {
        let chunk = chunk.chunk;
        self.chunks.lock().push(compact(json!({
            "type": serde_json::to_value(chunk)?["type"],
            "text": chunk.text(),
            "toolName": chunk.tool_name(),
            "toolCallId": chunk.tool_call_id(),
        })));
        self.act("onChunk", "", "").map(drop)
    }

    async fn on_chat_response(&self, response: &ChatResponseContext<'_>) -> HookResult {
        let message = json!(response.message);
        let parts = message["parts"].as_array().into_iter().flatten();
        self.note(json!({
            "hook": "onChatResponse",
            "status": response.status,
            "error": response.error,
            "continuation": response.continuation,
            "parts": parts.map(|part| part["type"].clone()).collect::<Vec<_>>(),
        }));
        self.act("onChatResponse", "", "").map(drop)
    }

    fn on_chat_error(&self, error: &ChatErrorContext<'_>) -> String {
        self.note(json!({
            "hook": "onChatError",
            "error": error.message,
            "stage": error.stage,
            "messagesPersisted": error.messages_persisted,
            "classification": error.classification,
        }));
        let answer = self.act("onChatError", "", "").ok().flatten();
        answer.as_ref().and_then(Value::as_str).unwrap_or(error.message).to_owned()
    }
}

async fn pause(ms: Option<u64>) {
    if let Some(ms) = ms {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}
