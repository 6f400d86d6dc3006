use crate::hooks::HookError;
use crate::session::{CompactionError, ContextError};
use crate::store::StoreError;
use crate::tools::NameTaken;

/// Why an agent cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Two tools have one name.
    #[error(transparent)]
    Tool(#[from] NameTaken),
    /// A context block's label is not usable, or two have the same.
    #[error(transparent)]
    Context(#[from] ContextError),
}

/// Why a session cannot be opened or changed as a whole.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The name is not usable.
    #[error("\"{}\" is no name for a session: it needs 1 to 200 characters, none of them a control character", .0.escape_debug())]
    Name(String),
    /// A `configure_session` hook failed.
    #[error("the session could not be set up: {0}")]
    Hook(String),
    /// Somebody holds it, or a turn of it runs.
    #[error("session \"{0}\" is in use")]
    InUse(String),
    /// The store failed, or has no such session.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<HookError> for SessionError {
    fn from(error: HookError) -> Self {
        Self::Hook(error.to_string())
    }
}

/// Why a turn cannot be asked for.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    /// A tool or a hook of a running turn asked for another one in the same session and would wait for it, while that
    /// one waits for the turn.
    #[error(
        "session \"{0}\" is inside a turn: a turn that waits for another one of its session never ends; use `steer`, `follow_up` or `add_messages`"
    )]
    InsideTurn(String),
    /// A context block could not be read or written.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// The conversation could not be shortened.
    #[error(transparent)]
    Compaction(#[from] CompactionError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a client's answer to a tool call is of no use.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// No call of that id waits for such an answer: there is none, or it has been answered.
    #[error("no tool call \"{0}\" waits for this answer")]
    NotWaiting(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
