//! The tools of a case.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lathe::tools::{CallContext, Tool, ToolAnswer};
use lathe::turn::{Json, Replay, ToolDefinition, ToolError};
use lathe_tests::recording::definition;
use serde_json::{Value, json};

use crate::record::Record;

struct CaseTool {
    definition: ToolDefinition,
    behaviour: Value,
    record: Arc<Record>,
}

/// `replaySafe: true` is a key of this host's own cases.
pub(crate) fn tools(case: &Value, record: &Arc<Record>) -> anyhow::Result<Vec<Arc<dyn Tool>>> {
    let tools = case["host"]["tools"].as_object().into_iter().flatten();
    let tool = |(name, behaviour): (&String, &Value)| -> anyhow::Result<Arc<dyn Tool>> {
        let mut definition = definition(name, behaviour)?;
        if behaviour["replaySafe"] == true {
            definition.replay = Replay::Safe;
        }
        Ok(Arc::new(CaseTool { definition, behaviour: behaviour.clone(), record: record.clone() }))
    };
    tools.map(tool).collect()
}

#[async_trait]
impl Tool for CaseTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn execute(&self, input: Json, call: &CallContext) -> Result<ToolAnswer, ToolError> {
        let (name, id) = (&self.definition.name, &call.tool_call_id);
        let execution = self.record.tool_begins(name, id);
        let executions = self.behaviour["executions"].as_array();
        let does =
            executions.and_then(|list| list.get(execution - 1).or(list.last())).unwrap_or(&self.behaviour);
        if let Some(ms) = does["delayMs"].as_u64() {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        self.record
            .hook(&json!({"hook": "tool ends", "toolName": name, "toolCallId": id, "execution": execution}));
        match &does["throw"] {
            Value::String(error) => Err(ToolError::failed(error)),
            _ if does["echo"] == true => Ok(input.into()),
            _ => Ok(does["result"].clone().into()),
        }
    }
}
