/// Why a call into an extension failed, by cause. It is the extension's own affair: it never reaches another
/// extension, the turn or the process.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The guest broke a rule of WebAssembly, panicked or exited; with its last words where it had any.
    #[error("it trapped: {message}{}", .backtrace.first().map(|name| format!(", in {name}")).unwrap_or_default())]
    Trap {
        /// What happened.
        message: String,
        /// The guest's functions, the innermost first, without those that only report a panic. Empty where the component
        /// has no names.
        backtrace: Vec<String>,
    },
    /// The call used up its fuel.
    #[error("it used up its fuel ({budget} units)")]
    OutOfFuel {
        /// What it was given.
        budget: u64,
    },
    /// The extension has used up what all its hook calls of one turn may burn.
    #[error("it used up its fuel for the turn ({budget} units)")]
    TurnFuel {
        /// What the turn gave it.
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
    /// One of its tables would have more elements than it may.
    #[error("it asked for a table of more than {limit} elements")]
    TableTooLarge {
        /// How many it may have.
        limit: usize,
    },
    /// The component is made of more core instances, memories or tables than it may be.
    #[error("it is made of too many parts: {0}")]
    TooManyParts(String),
    /// It holds more handles of resources than it may.
    #[error("it holds more than {limit} handles at once")]
    TooManyHandles {
        /// How many it may hold.
        limit: usize,
    },
    /// It handed the host more in one piece, as an argument or as its answer, than the host unpacks.
    #[error("it handed the host more than {limit} bytes at once")]
    HostMemory {
        /// What the host unpacks.
        limit: usize,
    },
    /// It asked for more random bytes in one call than it may.
    #[error("it asked for more than {limit} random bytes at once")]
    TooMuchRandom {
        /// How many it may ask for.
        limit: u64,
    },
    /// The answer was larger than the host takes.
    #[error("its answer is larger than {limit} bytes")]
    OutputTooLarge {
        /// What the host takes.
        limit: usize,
    },
    /// JSON in its answer is nested deeper than the host follows.
    #[error("its JSON is nested deeper than {limit} levels")]
    TooDeep {
        /// How deep it may be.
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
    /// It was not called: as many instances as there may be were in use for all the time that the call had.
    #[error("it was not called: all of its {limit} instances were in use for {waited_ms} ms")]
    Busy {
        /// How many there may be.
        limit: usize,
        /// What the call had.
        waited_ms: u64,
    },
    /// It was not called: it has failed too often in a row.
    #[error("it is in quarantine for another {} s, after it failed too often: {last_error}", .left_ms.div_ceil(1_000))]
    Quarantined {
        /// Until it is tried again.
        left_ms: u64,
        /// What it failed with last.
        last_error: String,
    },
}

impl Failure {
    /// The cause in one camelCase word, for events.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Trap { .. } => "trap",
            Self::OutOfFuel { .. } => "outOfFuel",
            Self::TurnFuel { .. } => "turnFuel",
            Self::Deadline { .. } => "deadline",
            Self::OutOfMemory { .. } => "outOfMemory",
            Self::TableTooLarge { .. } => "tableTooLarge",
            Self::TooManyParts(_) => "tooManyParts",
            Self::TooManyHandles { .. } => "tooManyHandles",
            Self::HostMemory { .. } => "hostMemory",
            Self::TooMuchRandom { .. } => "tooMuchRandom",
            Self::OutputTooLarge { .. } => "outputTooLarge",
            Self::TooDeep { .. } => "tooDeep",
            Self::Malformed(_) => "malformed",
            Self::Guest(_) => "guest",
            Self::Link(_) => "link",
            Self::Busy { .. } => "busy",
            Self::Quarantined { .. } => "quarantined",
        }
    }

    /// Whether it is the guest's fault, so that it counts towards quarantine. Not an error that the guest itself
    /// answers, which is part of the contract; nor a call that the host could not make.
    #[must_use]
    pub fn is_strike(&self) -> bool {
        !matches!(self, Self::Guest(_) | Self::TurnFuel { .. } | Self::Busy { .. } | Self::Quarantined { .. })
    }
}
