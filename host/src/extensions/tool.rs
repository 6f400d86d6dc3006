use std::sync::Arc;

use async_trait::async_trait;

use super::bindings::exports::lathe::extension::tools as wit;
use super::bridge::Bridge;
use super::extension::Extension;
use super::instance::guarded;
use super::manifest::ToolManifest;
use crate::hooks::Failure;
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

    async fn call(
        &self,
        input: String,
        session: &str,
        context: &wit::CallContext,
    ) -> Result<Result<String, wit::ToolError>, Failure> {
        let mut instance = self.extension.instantiate(self.bridge.clone(), session.into()).await?;
        let limits = &self.extension.limits;
        let (spent, answer) =
            guarded!(&mut instance, limits.fuel(input.len()), limits.tool_timeout(), |guest, store| {
                guest.lathe_extension_tools().call_call(store, &self.name, &input, context)
            });
        tracing::debug!(
            extension = &*self.extension.manifest.name,
            tool = &*self.name,
            fuel = spent.fuel,
            time = ?spent.time,
            denied = spent.denied,
            "tool call"
        );
        answer
    }
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
            Ok(Ok(output)) => serde_json::from_str::<Json>(&output).map(ToolAnswer::from).map_err(|error| {
                ToolError::named(
                    "ExtensionError",
                    format!("extension \"{extension}\": its answer is not JSON: {error}"),
                )
            }),
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
