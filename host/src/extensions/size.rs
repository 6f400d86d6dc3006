//! How large what crosses is, in bytes. Fixed-size fields do not count, but list items do.

use super::bindings::exports::lathe::extension::extension_manifest::Manifest;
use super::bindings::exports::lathe::extension::hooks as wit;
use super::bindings::exports::lathe::extension::tools::ToolError;

/// How many bytes a value brings across: into a guest, for its fuel; out of it, for its limit.
pub(super) trait Size {
    fn size(&self) -> usize;
}

impl Size for () {
    fn size(&self) -> usize {
        0
    }
}

impl Size for String {
    fn size(&self) -> usize {
        self.len()
    }
}

impl<T: Size> Size for Option<T> {
    fn size(&self) -> usize {
        self.as_ref().map_or(0, Size::size)
    }
}

impl<T: Size, E: Size> Size for Result<T, E> {
    fn size(&self) -> usize {
        self.as_ref().map_or_else(Size::size, Size::size)
    }
}

pub(super) fn texts(list: &[String]) -> usize {
    list.iter().map(|text| text.len() + 8).sum()
}

fn some_texts(list: Option<&Vec<String>>) -> usize {
    list.map_or(0, |list| texts(list))
}

impl Size for wit::TurnConfig {
    fn size(&self) -> usize {
        let headers = self.headers.iter().map(|(name, value)| name.len() + value.len() + 16);
        self.system.size()
            + self.messages.size()
            + self.provider_options.size()
            + self.model.size()
            + some_texts(self.active_tools.as_ref())
            + some_texts(self.stop_sequences.as_ref())
            + texts(&self.reset)
            + headers.sum::<usize>()
    }
}

impl Size for wit::StepConfig {
    fn size(&self) -> usize {
        self.system.size() + self.messages.size() + self.model.size() + some_texts(self.active_tools.as_ref())
    }
}

impl Size for wit::ToolDecision {
    fn size(&self) -> usize {
        match self {
            Self::Allow(input) => input.size(),
            Self::Block(reason) => reason.size(),
            Self::Substitute(output) => output.size(),
        }
    }
}

impl Size for wit::ToolOverride {
    fn size(&self) -> usize {
        self.output.size()
    }
}

impl Size for ToolError {
    fn size(&self) -> usize {
        match self {
            Self::UnknownTool => 0,
            Self::InvalidInput(text) | Self::Failed(text) => text.len(),
        }
    }
}

impl Size for Manifest {
    fn size(&self) -> usize {
        let tools = self.tools.iter();
        let tools = tools.map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.len() + 24);
        let context = self.context.iter();
        let context = context.map(|block| block.label.len() + block.description.size() + 24);
        self.name.len()
            + self.version.len()
            + self.description.len()
            + self.settings_schema.size()
            + self.hooks.len()
            + tools.sum::<usize>()
            + context.sum::<usize>()
            + texts(&self.permissions.network)
            + texts(&self.permissions.context_read)
            + texts(&self.permissions.context_write)
            + texts(&self.permissions.environment)
    }
}
