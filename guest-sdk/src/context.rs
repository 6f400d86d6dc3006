//! The context blocks of the system prompt, as far as the operator granted them.

use crate::bridge::BridgeError;
use crate::error::Result;
use crate::host::context;

/// The text of a block; none if there is no such block.
///
/// # Errors
///
/// Without the permission `context_read` for it.
pub fn get(label: &str) -> Result<Option<String>, BridgeError> {
    Ok(context::get(label)?)
}

/// Replaces the text of a block.
///
/// # Errors
///
/// Without the permission `context_write` for it, or if there is no such block.
pub fn set(label: &str, text: &str) -> Result<(), BridgeError> {
    Ok(context::set(label, text)?)
}
