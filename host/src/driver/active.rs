use std::sync::Arc;

use crate::extensions::{Bridge, Extension};
use crate::tools::{NameTaken, Tool, ToolSet};

/// The extensions in use, and the tools with theirs among them. A turn takes one when it begins and keeps it to its end,
/// whatever is put in its place meanwhile.
pub(crate) struct Active {
    /// In the order in which they are called.
    pub(crate) extensions: Vec<Arc<Extension>>,
    /// The embedder's and the extensions'.
    pub(crate) tools: ToolSet,
    /// And those that are offered only where a hook asks for them.
    pub(crate) all_tools: ToolSet,
}

impl Active {
    /// With the embedder's own tools first.
    pub(crate) fn new(
        own: &[Arc<dyn Tool>],
        reserve: &ToolSet,
        extensions: Vec<Arc<Extension>>,
        bridge: &Arc<dyn Bridge>,
    ) -> Result<Self, NameTaken> {
        let mut tools = ToolSet::default();
        for tool in own.iter().cloned().chain(extensions.iter().flat_map(|extension| extension.tools(bridge)))
        {
            tools.add(tool)?;
        }
        Ok(Self { all_tools: tools.with(reserve)?, tools, extensions })
    }

    /// With more tools, after all others.
    pub(super) fn with(&self, tools: &ToolSet) -> Result<Self, NameTaken> {
        Ok(Self {
            extensions: self.extensions.clone(),
            all_tools: self.all_tools.with(tools)?,
            tools: self.tools.with(tools)?,
        })
    }
}
