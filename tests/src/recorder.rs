//! Built-in hooks that write down in what order they are called, and what they are shown.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use async_trait::async_trait;
use lathe::hooks::{ChunkContext, HookResult, Hooks, NextStepContext, ToolCallContext, ToolResultContext};
use lathe::turn::{ModelMessage, StepUpdate, ToolDecision, ToolOverride};
use parking_lot::Mutex;
use serde_json::json;

/// A word for each message: the first letter of its role.
fn roles(messages: &[ModelMessage]) -> String {
    messages.iter().map(|message| json!(message.role).as_str().unwrap()[..1].to_owned()).collect()
}

/// Writes down what happens, and answers as told.
#[derive(Default)]
pub struct Recorder {
    /// What has happened.
    pub seen: Arc<Mutex<Vec<String>>>,
    /// The last messages of each request alone.
    pub keep_last: Option<usize>,
    /// What the next `prepare_next_step` answers.
    pub update: Mutex<Option<StepUpdate>>,
    /// What `should_stop_after_step` answers.
    pub stop: bool,
    /// The tool that is blocked.
    pub block: Option<&'static str>,
    /// What `after_tool_call` answers.
    pub change: Option<ToolOverride>,
}

impl Recorder {
    fn note(&self, what: String) {
        self.seen.lock().push(what);
    }
}

#[async_trait]
impl Hooks for Recorder {
    async fn transform_context(&self, messages: &[ModelMessage]) -> HookResult<Option<Vec<ModelMessage>>> {
        self.note(format!("transform {}", roles(messages)));
        Ok(self.keep_last.map(|keep| messages[messages.len() - keep.min(messages.len())..].to_vec()))
    }

    async fn before_tool_call(&self, call: &ToolCallContext<'_>) -> HookResult<Option<ToolDecision>> {
        self.note(format!("before {} {} {}", call.call.tool_call_id, call.input, roles(call.messages)));
        let blocked = self.block == Some(&*call.call.tool_name);
        Ok(blocked.then_some(ToolDecision::Block { reason: Some("no".into()) }))
    }

    async fn after_tool_call(&self, call: &ToolResultContext<'_>) -> HookResult<Option<ToolOverride>> {
        let outcome = json!(call.record.outcome);
        let (id, roles) = (&call.record.call.tool_call_id, roles(call.messages));
        self.note(format!("after {id} {} {roles}", outcome.as_str().unwrap()));
        Ok(self.change.clone())
    }

    async fn on_chunk(&self, chunk: &ChunkContext<'_>) -> HookResult {
        let kind = json!(chunk.chunk)["type"].as_str().unwrap().to_owned();
        let id = chunk.chunk.tool_call_id().unwrap_or_default();
        if ["start-step", "tool-call", "tool-result", "tool-error", "finish-step"].contains(&&*kind) {
            self.note(format!("{kind} {id}").trim_end().to_owned());
        }
        Ok(())
    }

    async fn prepare_next_step(&self, step: &NextStepContext<'_>) -> HookResult<Option<StepUpdate>> {
        self.note(format!("prepare {} {}", roles(step.messages), roles(step.new_messages)));
        Ok(self.update.lock().take())
    }

    async fn should_stop_after_step(&self, step: &NextStepContext<'_>) -> HookResult<bool> {
        self.note(format!("stop? {} {}", roles(step.messages), roles(step.new_messages)));
        Ok(self.stop)
    }
}
