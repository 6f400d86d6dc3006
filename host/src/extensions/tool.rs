use std::sync::Arc;

use async_trait::async_trait;

use super::bindings::exports::lathe::extension::tools as wit;
use super::bridge::Bridge;
use super::extension::Extension;
use super::instance::guarded;
use super::json::parse;
use super::manifest::ToolManifest;
use super::meter::{Meter, milliseconds};
use super::pool::Use;
use crate::hooks::{Events, Failure, HealthChange, HookCall, ToolCost};
use crate::tools::{CallContext, Tool, ToolAnswer};
use crate::turn::{Json, ToolDefinition, ToolError};

/// A tool of an extension. Each call has an instance of its own, so that calls run side by side and none holds up a
/// hook.
pub(super) struct ExtensionTool {
    extension: Arc<Extension>,
    /// The guest's name of it.
    name: String,
    definition: ToolDefinition,
    bridge: Arc<dyn Bridge>,
}

impl ExtensionTool {
    pub(super) fn new(extension: Arc<Extension>, tool: &ToolManifest, bridge: Arc<dyn Bridge>) -> Self {
        let manifest = &extension.manifest;
        let definition = ToolDefinition {
            name: manifest.tool_name(tool),
            description: format!("[{}] {}", manifest.name, tool.description),
            input_schema: tool.input_schema.clone(),
            replay: tool.replay,
            sequential: tool.sequential,
            client: false,
            needs_approval: tool.needs_approval,
            dynamic: false,
        };
        Self { name: tool.name.clone(), definition, bridge, extension }
    }

    /// Runs it, and tells what it has cost.
    async fn call(
        &self,
        input: String,
        session: &str,
        context: &wit::CallContext,
    ) -> Result<Result<Json, wit::ToolError>, Failure> {
        let Extension { keeper, limits, listeners, .. } = &*self.extension;
        keeper.refresh(&*self.bridge).await;
        let listener = listeners.lock().get(&context.request_id).cloned();
        let events: &dyn Events = listener.as_deref().unwrap_or(&Nobody);
        let pass = keeper.admit(events)?;
        let mut meter = Meter::new(limits.fuel(input.len()), limits.tool_timeout());
        let answer = self.run(input, session, context, &mut meter).await;
        pass.end(&meter, answer.as_ref().err(), false, events);
        // If the turn is traced, it stands in the trace of the call.
        let span = tracing::Span::current();
        span.record("lathe.extension", &*self.extension.manifest.name);
        meter.record(&span);
        events.tool_called(ToolCost {
            extension: self.extension.manifest.name.clone(),
            tool_name: self.definition.name.clone(),
            tool_call_id: context.tool_call_id.clone(),
            duration_ms: milliseconds(meter.time()),
            fuel: meter.fuel,
            memory_bytes: meter.memory_bytes,
            output_bytes: meter.output_bytes,
            denied: meter.denied,
            failure: answer.as_ref().err().map(Failure::kind),
            error: answer.as_ref().err().map(Failure::to_string),
        });
        answer
    }

    async fn run(
        &self,
        input: String,
        session: &str,
        context: &wit::CallContext,
        meter: &mut Meter,
    ) -> Result<Result<Json, wit::ToolError>, Failure> {
        let limits = &self.extension.limits;
        let bridge = self.bridge.clone();
        let made =
            self.extension.instantiate(bridge, session.into(), &context.request_id, Use::Tool, meter).await;
        let mut instance = made?;
        let answer = guarded!(&mut instance, meter, limits, |guest, store| {
            guest.lathe_extension_tools().call_call(store, &self.name, &input, context)
        });
        Ok(match answer? {
            Ok(output) => Ok(parse(&output, limits.json_depth())?),
            Err(error) => Err(error),
        })
    }
}

/// Where nobody listens: a call outside of any turn.
struct Nobody;

impl Events for Nobody {
    fn hook_called(&self, _: HookCall) {}
    fn tool_called(&self, _: ToolCost) {}
    fn health_changed(&self, _: HealthChange) {}
}

#[async_trait]
impl Tool for ExtensionTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn execute(&self, input: Json, context: &CallContext) -> Result<ToolAnswer, ToolError> {
        let wit_context = wit::CallContext {
            tool_call_id: context.tool_call_id.clone(),
            request_id: context.request_id.clone(),
            step_number: context.step_number,
            idempotency_key: context.idempotency_key(),
        };
        let extension = &self.extension.manifest.name;
        // A guest cannot listen; its instance is dropped with the call.
        let call = self.call(input.to_string(), &context.session, &wit_context);
        let Some(called) = context.cancelled.run_until_cancelled(call).await else {
            return Err(ToolError::named("Cancelled", "the turn was cancelled"));
        };
        match called {
            Ok(Ok(output)) => Ok(output.into()),
            Ok(Err(wit::ToolError::Failed(message))) => Err(ToolError::failed(message)),
            Ok(Err(wit::ToolError::InvalidInput(message))) => Err(ToolError::named("InvalidInput", message)),
            Ok(Err(wit::ToolError::UnknownTool)) => Err(ToolError::named(
                "UnknownTool",
                format!("extension \"{extension}\" lists a tool \"{}\" that it does not have", self.name),
            )),
            Err(failure) => {
                tracing::warn!(extension = &**extension, tool = &*self.name, "{failure}");
                Err(ToolError::named("ExtensionError", format!("extension \"{extension}\": {failure}")))
            }
        }
    }
}
