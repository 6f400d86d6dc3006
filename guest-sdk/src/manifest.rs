//! What the host learns of an extension before it runs it.

use crate::guest::Registered;

pub use crate::bindings::exports::lathe::extension::extension_manifest::{
    ContextBlock, Manifest, Permissions, Replay, ToolDefinition, WorkspaceAccess,
};
pub use crate::bindings::lathe::extension::types::Hook;

/// The manifest of an extension.
pub fn describe<T: Registered>() -> Manifest {
    Manifest {
        name: T::NAME.to_owned(),
        version: T::VERSION.to_owned(),
        description: T::DESCRIPTION.to_owned(),
        hooks: T::HOOKS.to_vec(),
        tools: T::tools().definitions(),
        permissions: T::permissions(),
        context: T::context(),
        settings_schema: T::settings_schema().map(|schema| schema.to_string()),
    }
}
