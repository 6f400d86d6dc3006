//! Running the tools of a step.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::FuturesUnordered;
use futures::{FutureExt, Stream};
use tokio::time::Instant;
use tracing::{Instrument, Span};

use super::spans;
use crate::hooks::panic_message;
use crate::tools::{CallContext, OUTPUT_BYTES, Tool, ToolAnswer, ToolSet, check_output};
use crate::turn::{Outcome, ToolError, ToolOutput, ToolRan, ToolRun};

/// How long tools that run may take to return once the turn is cancelled. 1 s: what a tool has done is worth knowing,
/// and whoever cancels waits no longer than that.
pub(super) const GRACE: Duration = Duration::from_secs(1);

/// Runs tools at once and yields an [`Outcome::ToolRan`] for each as it ends. Dropping the stream drops those that
/// still run. `content`: whether what they are given and say is in the traces.
pub(super) fn run(
    tools: &ToolSet,
    runs: Vec<(ToolRun, CallContext)>,
    content: bool,
) -> impl Stream<Item = Outcome> + use<> {
    let run = |(run, context): (ToolRun, CallContext)| {
        let span = spans::tool(&run, content);
        run_one(tools.get(&run.tool_name).cloned(), run, context, content).instrument(span)
    };
    runs.into_iter().map(run).collect::<FuturesUnordered<_>>()
}

async fn run_one(tool: Option<Arc<dyn Tool>>, run: ToolRun, context: CallContext, content: bool) -> Outcome {
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
    let result = result.and_then(|answer| {
        check_output(&run.tool_name, &answer.output, OUTPUT_BYTES)?;
        Ok(answer)
    });
    spans::ran(&Span::current(), result.as_ref().map(|answer| &answer.output), content);
    let duration_ms = begun.elapsed().as_secs_f64() * 1e3;
    let ran = match result {
        Ok(ToolAnswer { output, details, terminate }) => {
            ToolRan { output: ToolOutput::Output(output), duration_ms, terminate, details }
        }
        Err(error) => {
            ToolRan { output: ToolOutput::Error(error), duration_ms, terminate: false, details: None }
        }
    };
    Outcome::ToolRan { tool_call_id: run.tool_call_id, ran }
}
