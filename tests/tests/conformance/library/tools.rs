//! The tools of a case.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::Arc;

use async_trait::async_trait;
use lathe::tools::{CallContext, Tool, ToolAnswer};
use lathe::turn::{Json, ToolDefinition, ToolError};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::model::pause;
use super::queue::Queue;
use super::record::Record;
use super::script::{self, Script, When};

struct CaseTool {
    definition: ToolDefinition,
    script: script::Tool,
    /// How often it has run.
    runs: Mutex<usize>,
    /// Executions, of any tool with a delay, that are under way.
    delayed: Arc<Mutex<Vec<usize>>>,
    queue: Arc<Queue>,
    record: Arc<Record>,
}

pub(crate) fn tools(
    script: &Script,
    queue: &Arc<Queue>,
    record: &Arc<Record>,
) -> anyhow::Result<Vec<Arc<dyn Tool>>> {
    let delayed = Arc::<Mutex<Vec<usize>>>::default();
    let tool = |(name, tool): (&String, &script::Tool)| -> anyhow::Result<Arc<dyn Tool>> {
        let definition = serde_json::from_value(json!({
            "name": name,
            "description": tool.description.as_ref().unwrap_or(name),
            "inputSchema": {"type": "object", "properties": tool.parameters, "required": tool.required},
            "sequential": tool.sequential,
        }))?;
        Ok(Arc::new(CaseTool {
            definition,
            script: tool.clone(),
            runs: Mutex::default(),
            delayed: delayed.clone(),
            queue: queue.clone(),
            record: record.clone(),
        }))
    };
    script.host.tools.iter().map(tool).collect()
}

#[async_trait]
impl Tool for CaseTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn execute(&self, input: Json, call: &CallContext) -> Result<ToolAnswer, ToolError> {
        let tool = &self.script;
        let name = &self.definition.name;
        let execution =
            self.record.runs(json!({"toolCallId": call.tool_call_id, "toolName": name, "args": input}));
        let number = {
            let mut runs = self.runs.lock();
            *runs += 1;
            *runs
        };
        let _delayed = (tool.delay_ms > 0).then(|| self.begin(execution));
        // The user acts while the tool runs, and those beside it have begun too.
        tokio::task::yield_now().await;
        self.queue.act(&When::Tool { tool: name.clone(), call: number }).await;
        for update in &tool.updates {
            call.progress(update.as_str().into());
        }
        if tool.delay_ms > 0 {
            let cancelled = async {
                if tool.ignore_abort {
                    std::future::pending::<()>().await;
                }
                call.cancelled.cancelled().await;
            };
            tokio::select! {
                biased;
                () = cancelled => return Err(ToolError::failed("cancelled")),
                () = pause(tool.delay_ms) => {}
            }
        }
        match &tool.panic {
            Value::Null | Value::Bool(false) => {}
            // As a panic, but without its report on standard error.
            Value::String(text) => resume_unwind(Box::new(text.clone())),
            _ => resume_unwind(Box::new("boom")),
        }
        if let Some(error) = &tool.throw {
            return Err(ToolError::failed(error));
        }
        let output = if tool.echo { sorted(input).to_string() } else { tool.result.clone() };
        Ok(ToolAnswer { output: output.into(), details: tool.details.clone(), terminate: tool.terminate })
    }
}

impl CaseTool {
    fn begin(&self, execution: usize) -> Delayed<'_> {
        let mut delayed = self.delayed.lock();
        for other in &*delayed {
            self.record.beside(*other, execution);
        }
        delayed.push(execution);
        Delayed(&self.delayed, execution)
    }
}

struct Delayed<'a>(&'a Mutex<Vec<usize>>, usize);

impl Drop for Delayed<'_> {
    fn drop(&mut self) {
        self.0.lock().retain(|execution| *execution != self.1);
    }
}

/// In the order in which the library writes fields.
fn sorted(value: Json) -> Json {
    match value {
        Json::Object(fields) => {
            let fields: BTreeMap<String, Json> =
                fields.into_iter().map(|(name, field)| (name, sorted(field))).collect();
            json!(fields)
        }
        Json::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}
