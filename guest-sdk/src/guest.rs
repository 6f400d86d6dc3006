//! The component's exports, in terms of the trait.

use std::marker::PhantomData;

use crate::bindings::exports::lathe::extension::{extension_manifest, hooks, tools};
use crate::error::{Result, ToolError};
use crate::extension::Extension;
use crate::manifest::{self, Hook};

/// What the attribute adds to an extension.
pub trait Registered: Extension {
    /// The extension's identity.
    const NAME: &'static str;
    /// By custom a semantic version.
    const VERSION: &'static str;
    /// One sentence for people.
    const DESCRIPTION: &'static str;
    /// The hooks that are written.
    const HOOKS: &'static [Hook];

    /// Works on the one value of this instance.
    fn with<R>(work: impl FnOnce(&mut Self) -> R) -> R;
}

/// The component that an extension becomes.
pub struct Component<T>(PhantomData<T>);

impl<T: Registered> extension_manifest::Guest for Component<T> {
    fn describe() -> extension_manifest::Manifest {
        manifest::describe::<T>()
    }
}

impl<T: Registered> tools::Guest for Component<T> {
    fn call(name: String, input: String, context: tools::CallContext) -> Result<String, tools::ToolError> {
        T::with(|extension| T::tools().call(extension, &name, &input, context)).map_err(|error| match error {
            ToolError::UnknownTool => tools::ToolError::UnknownTool,
            ToolError::InvalidInput(text) => tools::ToolError::InvalidInput(text),
            ToolError::Failed(text) => tools::ToolError::Failed(text),
        })
    }
}

impl<T: Registered> hooks::Guest for Component<T> {
    fn before_turn(turn: hooks::TurnSnapshot) -> Result<Option<hooks::TurnConfig>, String> {
        answer(|| T::with(|extension| extension.before_turn(turn.try_into()?)))
    }

    fn before_step(step: hooks::StepSnapshot) -> Result<Option<hooks::StepConfig>, String> {
        answer(|| T::with(|extension| extension.before_step(step)))
    }

    fn before_tool_call(call: hooks::ToolCallSnapshot) -> Result<Option<hooks::ToolDecision>, String> {
        answer(|| T::with(|extension| extension.before_tool_call(call.try_into()?)))
    }

    fn after_tool_call(call: hooks::ToolResultSnapshot) -> Result<Option<hooks::ToolOverride>, String> {
        answer(|| T::with(|extension| extension.after_tool_call(call.try_into()?)))
    }

    fn on_step_finish(step: hooks::StepFinishSnapshot) -> Result<(), String> {
        observed(|| T::with(|extension| extension.on_step_finish(step.try_into()?)))
    }

    fn on_chunk(chunks: Vec<hooks::Chunk>) -> Result<(), String> {
        observed(|| T::with(|extension| extension.on_chunk(chunks)))
    }

    fn on_chat_response(response: hooks::ChatResponseSnapshot) -> Result<(), String> {
        observed(|| T::with(|extension| extension.on_chat_response(response)))
    }

    fn on_chat_error(error: hooks::ChatErrorSnapshot) -> Result<(), String> {
        observed(|| T::with(|extension| extension.on_chat_error(error)))
    }
}

fn answer<A, B: From<A>>(hook: impl FnOnce() -> Result<Option<A>>) -> Result<Option<B>, String> {
    hook().map(|answer| answer.map(B::from)).map_err(|error| error.to_string())
}

fn observed(hook: impl FnOnce() -> Result<()>) -> Result<(), String> {
    hook().map_err(|error| error.to_string())
}
