//! Running the tools of a step.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::stream::FuturesUnordered;
use futures::{FutureExt, Stream, StreamExt};
use tokio::time::Instant;

use crate::hooks::panic_message;
use crate::tools::{CallContext, Tool, ToolSet};
use crate::turn::{Outcome, ToolError, ToolOutput, ToolRun};

/// Runs tools at once and yields an [`Outcome::ToolRan`] for each as it ends. Dropping the stream cancels those that
/// still run.
pub(super) fn run(
    tools: &ToolSet,
    runs: Vec<ToolRun>,
    session: &str,
    request_id: &str,
    step_number: u32,
) -> impl Stream<Item = Outcome> + use<> {
    let running: FuturesUnordered<_> = runs
        .into_iter()
        .map(|run| {
            let context = CallContext {
                session: session.to_owned(),
                request_id: request_id.to_owned(),
                step_number,
                tool_call_id: run.tool_call_id.clone(),
            };
            run_one(tools.get(&run.tool_name).cloned(), run, context)
        })
        .collect();
    running.map(|outcome| outcome)
}

async fn run_one(tool: Option<Arc<dyn Tool>>, run: ToolRun, context: CallContext) -> Outcome {
    let begun = Instant::now();
    let result = match &tool {
        None => Err(ToolError::named("UnknownTool", format!("there is no tool \"{}\"", run.tool_name))),
        // A panic in an embedder's tool is that tool's failure, not the turn's.
        Some(tool) => match AssertUnwindSafe(tool.execute(run.input, &context)).catch_unwind().await {
            Ok(result) => result,
            Err(panic) => Err(ToolError::named(
                "Panic",
                format!("tool \"{}\" panicked: {}", run.tool_name, panic_message(&*panic)),
            )),
        },
    };
    Outcome::ToolRan {
        tool_call_id: run.tool_call_id,
        output: ToolOutput::from(result),
        duration_ms: begun.elapsed().as_secs_f64() * 1e3,
        terminate: false,
    }
}
