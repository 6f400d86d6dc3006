//! What a hook or a tool answers when it cannot do its work.

use std::fmt;

/// The result of a hook, and of everything that asks the host.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed hook, as the text that the operator sees.
///
/// Made from any error by `?`, or from text: `Err("no such thing".into())`.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    /// An error with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl<E: Into<Box<dyn std::error::Error>>> From<E> for Error {
    fn from(error: E) -> Self {
        Self(chain(error.into().as_ref()))
    }
}

/// The error and its causes, since only text crosses to the host.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let part = error.to_string();
        // Many errors repeat their cause in their own text.
        if !text.ends_with(&part) {
            text = format!("{text}: {part}");
        }
        cause = error.source();
    }
    text
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// A tool call that gave no output. The model sees the text.
///
/// By `?`, any error becomes `Failed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolError {
    /// The extension has no such tool.
    UnknownTool,
    /// The input does not fit: the model should write another.
    InvalidInput(String),
    /// The tool failed.
    Failed(String),
}

impl ToolError {
    /// The input does not fit.
    pub fn invalid(text: impl fmt::Display) -> Self {
        Self::InvalidInput(text.to_string())
    }

    /// The tool failed.
    pub fn failed(text: impl fmt::Display) -> Self {
        Self::Failed(text.to_string())
    }
}

impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        Self::Failed(error.0)
    }
}

impl<E: Into<Box<dyn std::error::Error>>> From<E> for ToolError {
    fn from(error: E) -> Self {
        Error::from(error).into()
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownTool => f.write_str("no such tool"),
            Self::InvalidInput(text) => write!(f, "invalid input: {text}"),
            Self::Failed(text) => f.write_str(text),
        }
    }
}
