//! The tools that an extension offers.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Result, ToolError};
use crate::manifest::{Replay, ToolDefinition};
use crate::schema;

pub use crate::bindings::exports::lathe::extension::tools::CallContext;

/// The tools of an extension, in the order in which the model sees them.
pub struct Tools<T>(Vec<Tool<T>>);

impl<T: 'static> Tools<T> {
    /// No tools.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a tool with nothing special about it: a method of the extension, under a name.
    #[must_use]
    pub fn tool<M>(self, name: &'static str, run: impl Handler<T, M>) -> Self {
        self.with(Tool::new(name, run))
    }

    /// Adds a tool.
    #[must_use]
    pub fn with(mut self, tool: Tool<T>) -> Self {
        self.0.push(tool);
        self
    }

    pub(crate) fn definitions(&self) -> Vec<ToolDefinition> {
        self.0.iter().map(Tool::definition).collect()
    }

    pub(crate) fn call(
        &self,
        extension: &mut T,
        name: &str,
        input: &str,
        context: CallContext,
    ) -> Result<String, ToolError> {
        let tool = self.0.iter().find(|tool| tool.name == name).ok_or(ToolError::UnknownTool)?;
        (tool.run)(extension, input, context)
    }
}

impl<T: 'static> Default for Tools<T> {
    fn default() -> Self {
        Self::new()
    }
}

type Run<T> = Box<dyn Fn(&mut T, &str, CallContext) -> Result<String, ToolError>>;

/// A tool that the model may call.
pub struct Tool<T> {
    name: &'static str,
    description: Option<&'static str>,
    input: fn() -> (String, Value),
    replay: Replay,
    sequential: bool,
    needs_approval: bool,
    run: Run<T>,
}

impl<T: 'static> Tool<T> {
    /// A method of the extension, or a plain function, under a name of `a-z`, `A-Z`, `0-9`, `_` and `-`.
    ///
    /// Its description for the model is the doc comment of the input type, its input schema that type's.
    pub fn new<M>(name: &'static str, run: impl Handler<T, M>) -> Self {
        fn of<T, M, H: Handler<T, M>>(_: &H) -> fn() -> (String, Value) {
            schema::input::<H::Input>
        }
        Self {
            name,
            description: None,
            input: of(&run),
            replay: Replay::Never,
            sequential: false,
            needs_approval: false,
            run: Box::new(move |extension, input, context| {
                let input = serde_json::from_str(input).map_err(ToolError::invalid)?;
                Ok(serde_json::to_string(&run.run(extension, input, context)?)?)
            }),
        }
    }

    /// Another description than the input type's doc comment.
    #[must_use]
    pub fn description(mut self, text: &'static str) -> Self {
        self.description = Some(text);
        self
    }

    /// Running it twice is as good as once: after a crash, the host may make a call again.
    #[must_use]
    pub fn replay_safe(mut self) -> Self {
        self.replay = Replay::Safe;
        self
    }

    /// It must not run beside another tool call of the same step.
    #[must_use]
    pub fn sequential(mut self) -> Self {
        self.sequential = true;
        self
    }

    /// A person has to approve each call.
    #[must_use]
    pub fn needs_approval(mut self) -> Self {
        self.needs_approval = true;
        self
    }

    fn definition(&self) -> ToolDefinition {
        let (description, schema) = (self.input)();
        ToolDefinition {
            name: self.name.to_owned(),
            description: self.description.map_or(description, str::to_owned),
            input_schema: schema.to_string(),
            replay: self.replay,
            sequential: self.sequential,
            needs_approval: self.needs_approval,
        }
    }
}

/// A method that can be a tool: `fn(&mut Self, Input) -> Result<Output, E>`, or with a [`CallContext`] as its last
/// argument; or a plain function, `fn(Input) -> Result<Output, E>`.
///
/// `Input` is `Deserialize` and `JsonSchema`, `Output` is `Serialize`, `E` is [`ToolError`] or
/// [`Error`](crate::Error).
#[diagnostic::on_unimplemented(
    message = "this function cannot be a tool",
    note = "a tool is `fn(&mut Self, Input) -> Result<Output, ToolError>`, or with a `CallContext` as its last argument, or `fn(Input) -> Result<Output, ToolError>`",
    note = "`Input` must be `Deserialize` and `JsonSchema`, `Output` must be `Serialize`"
)]
pub trait Handler<T, M>: 'static {
    /// What the model writes.
    type Input: DeserializeOwned + JsonSchema;
    /// What the model sees.
    type Output: Serialize;

    /// Runs the tool.
    fn run(
        &self,
        extension: &mut T,
        input: Self::Input,
        context: CallContext,
    ) -> Result<Self::Output, ToolError>;
}

impl<F, T, I, O, E> Handler<T, (I, O, E)> for F
where
    F: Fn(&mut T, I) -> Result<O, E> + 'static,
    I: DeserializeOwned + JsonSchema,
    O: Serialize,
    E: Into<ToolError>,
{
    type Input = I;
    type Output = O;

    fn run(&self, extension: &mut T, input: I, _: CallContext) -> Result<O, ToolError> {
        self(extension, input).map_err(Into::into)
    }
}

impl<F, T, I, O, E> Handler<T, (I, CallContext, O, E)> for F
where
    F: Fn(&mut T, I, CallContext) -> Result<O, E> + 'static,
    I: DeserializeOwned + JsonSchema,
    O: Serialize,
    E: Into<ToolError>,
{
    type Input = I;
    type Output = O;

    fn run(&self, extension: &mut T, input: I, context: CallContext) -> Result<O, ToolError> {
        self(extension, input, context).map_err(Into::into)
    }
}

/// Tells a plain function from a method.
pub struct Plain<M>(std::marker::PhantomData<M>);

impl<F, T, I, O, E> Handler<T, Plain<(I, O, E)>> for F
where
    F: Fn(I) -> Result<O, E> + 'static,
    I: DeserializeOwned + JsonSchema,
    O: Serialize,
    E: Into<ToolError>,
{
    type Input = I;
    type Output = O;

    fn run(&self, _: &mut T, input: I, _: CallContext) -> Result<O, ToolError> {
        self(input).map_err(Into::into)
    }
}
