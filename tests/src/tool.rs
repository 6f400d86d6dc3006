//! Built-in tools made of a closure.

use std::future::Future;
use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use lathe::tools::{CallContext, Tool, ToolAnswer};
use lathe::turn::{Json, ToolDefinition, ToolError};
use serde_json::json;

type Answered = Result<ToolAnswer, ToolError>;

/// A tool that does what its closure does. It takes any object, unless given a schema.
pub struct FnTool {
    definition: ToolDefinition,
    run: Box<dyn Fn(Json, CallContext) -> BoxFuture<'static, Answered> + Send + Sync>,
}

impl FnTool {
    /// Does what `run` does.
    pub fn new<F: Future<Output = Answered> + Send + 'static>(
        name: &str,
        run: impl Fn(Json, CallContext) -> F + Send + Sync + 'static,
    ) -> Self {
        let definition = ToolDefinition {
            name: name.to_owned(),
            description: name.to_owned(),
            input_schema: json!({"type": "object"}),
            replay: Default::default(),
            sequential: false,
            client: false,
            needs_approval: false,
            dynamic: false,
        };
        Self { definition, run: Box::new(move |input, call| run(input, call).boxed()) }
    }

    /// Always answers the same.
    #[must_use]
    pub fn answers(name: &str, output: Json) -> Self {
        Self::new(name, move |_, _| std::future::ready(Ok(output.clone().into())))
    }

    /// Changes how it is offered.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut ToolDefinition)) -> Arc<dyn Tool> {
        change(&mut self.definition);
        Arc::new(self)
    }

    /// As it is.
    #[must_use]
    pub fn arc(self) -> Arc<dyn Tool> {
        Arc::new(self)
    }
}

#[async_trait]
impl Tool for FnTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn execute(&self, input: Json, call: &CallContext) -> Answered {
        (self.run)(input, call.clone()).await
    }
}
