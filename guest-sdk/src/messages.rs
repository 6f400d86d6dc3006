//! The conversation, with the permission `messages`.

use crate::bridge::BridgeError;
use crate::error::Result;
use crate::host::messages;

pub use crate::bindings::lathe::extension::messages::Message;

/// The last `limit` messages, oldest first.
///
/// # Errors
///
/// Without the permission.
pub fn recent(limit: u32) -> Result<Vec<Message>, BridgeError> {
    Ok(messages::recent(limit)?)
}
