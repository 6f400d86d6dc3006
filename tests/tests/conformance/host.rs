//! The built-in tools of a case.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lathe::tools::{CallContext, Tool, ToolAnswer};
use lathe::turn::{Json, ToolDefinition, ToolError};
use lathe_tests::recording::definition;
use serde_json::Value;

use crate::case::Case;

async fn pause(ms: Option<u64>) {
    if let Some(ms) = ms {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}

/// A built-in tool of a case.
struct CaseTool {
    definition: ToolDefinition,
    behaviour: Value,
}

/// The built-in tools of a case.
pub(crate) fn tools(case: &Case) -> anyhow::Result<Vec<Arc<dyn Tool>>> {
    let tool = |(name, behaviour): (&String, &Value)| -> anyhow::Result<Arc<dyn Tool>> {
        let definition = definition(name, behaviour)?;
        Ok(Arc::new(CaseTool { definition, behaviour: behaviour.clone() }))
    };
    case.host.tools.iter().map(tool).collect()
}

#[async_trait]
impl Tool for CaseTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn execute(&self, input: Json, _: &CallContext) -> Result<ToolAnswer, ToolError> {
        pause(self.behaviour["delayMs"].as_u64()).await;
        match &self.behaviour["throw"] {
            Value::String(error) => Err(ToolError::failed(error)),
            _ if self.behaviour["echo"] == true => Ok(input.into()),
            _ => Ok(self.behaviour["result"].clone().into()),
        }
    }
}
