//! The session that the turn belongs to.

use crate::bridge::BridgeError;
use crate::error::Result;
use crate::host::session;

pub use crate::bindings::lathe::extension::session::SessionInfo;

/// Facts about the session.
///
/// # Errors
///
/// Without the permission `session_info`.
pub fn info() -> Result<SessionInfo, BridgeError> {
    Ok(session::info()?)
}

/// Adds a user message to the history at once. It starts no turn.
///
/// # Errors
///
/// Without the permission `send_message`.
pub fn send_message(text: &str) -> Result<(), BridgeError> {
    Ok(session::send_message(text)?)
}
