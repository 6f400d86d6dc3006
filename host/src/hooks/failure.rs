/// Why a call into an extension failed, by cause. It is the extension's own affair: it never reaches another
/// extension, the turn or the process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The guest broke a rule of WebAssembly, panicked or exited; with its last words where it had any.
    #[error("it trapped: {0}")]
    Trap(String),
    /// The call used up its fuel.
    #[error("it used up its fuel ({budget} units)")]
    OutOfFuel {
        /// What it was given.
        budget: u64,
    },
    /// The call took too long.
    #[error("it took longer than {limit_ms} ms")]
    Deadline {
        /// What it was given.
        limit_ms: u64,
    },
    /// The instance asked for more memory than it may have.
    #[error("it asked for more than {limit} bytes of memory")]
    OutOfMemory {
        /// What it may have.
        limit: usize,
    },
    /// The answer was larger than the host takes.
    #[error("its answer is larger than {limit} bytes")]
    OutputTooLarge {
        /// What the host takes.
        limit: usize,
    },
    /// The answer was not what the contract asks for.
    #[error("its answer does not fit the contract: {0}")]
    Malformed(String),
    /// The guest answered with an error of its own.
    #[error("it failed: {0}")]
    Guest(String),
    /// The component could not be instantiated.
    #[error("it could not be instantiated: {0}")]
    Link(String),
}

impl Failure {
    /// The cause in one camelCase word, for events.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Trap(_) => "trap",
            Self::OutOfFuel { .. } => "outOfFuel",
            Self::Deadline { .. } => "deadline",
            Self::OutOfMemory { .. } => "outOfMemory",
            Self::OutputTooLarge { .. } => "outputTooLarge",
            Self::Malformed(_) => "malformed",
            Self::Guest(_) => "guest",
            Self::Link(_) => "link",
        }
    }
}
