//! What the host does for a guest, and why it may not.

use std::fmt;

use crate::bindings::lathe::extension::bridge_error;

/// Why the host did not do what an extension asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BridgeError {
    /// The right for it was not asked for or not granted; the text says which.
    Denied(String),
    /// No such block, key or message.
    NotFound(String),
    /// It would be larger than a limit; the text says which.
    TooLarge(String),
    /// This host, or this moment, does not offer it.
    Unavailable(String),
    /// It failed in the host.
    Failed(String),
}

impl From<bridge_error::Error> for BridgeError {
    fn from(error: bridge_error::Error) -> Self {
        match error {
            bridge_error::Error::Denied(text) => Self::Denied(text),
            bridge_error::Error::NotFound(text) => Self::NotFound(text),
            bridge_error::Error::TooLarge(text) => Self::TooLarge(text),
            bridge_error::Error::Unavailable(text) => Self::Unavailable(text),
            bridge_error::Error::Failed(text) => Self::Failed(text),
        }
    }
}

impl fmt::Display for BridgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(text) => write!(f, "denied: {text}"),
            Self::NotFound(text) => write!(f, "not found: {text}"),
            Self::TooLarge(text) => write!(f, "too large: {text}"),
            Self::Unavailable(text) => write!(f, "unavailable: {text}"),
            Self::Failed(text) => write!(f, "failed in the host: {text}"),
        }
    }
}

impl std::error::Error for BridgeError {}
