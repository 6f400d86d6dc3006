use std::time::Duration;

/// How often, and for how long, an interrupted turn is taken up again (`think.md` §4.3, `chatRecovery`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatRecovery {
    /// Attempts in a row that bring nothing; of a turn that stalls or fails while the process lives, attempts at all.
    /// Default: 10.
    pub max_attempts: u32,
    /// Deaths of the process while the turn runs, the first one included; progress does not start the count anew. Default: 5.
    pub max_interrupted_attempts: u32,
    /// The longest time since anything came. Default: 300 s.
    pub no_progress_timeout: Duration,
    /// Units of work from the first interruption on: one for each 5 s in which something came. Default: 10,000, half a day.
    pub max_recovery_work: u64,
    /// What the user is told when the turn is given up.
    pub terminal_message: String,
}

impl Default for ChatRecovery {
    fn default() -> Self {
        Self {
            max_attempts: 10,
            max_interrupted_attempts: 5,
            no_progress_timeout: Duration::from_secs(300),
            max_recovery_work: 10_000,
            terminal_message:
                "Sorry, the answer was interrupted and could not be completed. Please try again.".into(),
        }
    }
}

/// What becomes of a turn whose conversation is too long for the model (`think.md` §4.7).
#[derive(Clone, Debug, PartialEq)]
pub struct ContextOverflow {
    /// A request that the provider refuses as too long is made again after a compaction. Default: false.
    pub reactive: bool,
    /// How often, in one turn. Default: 1.
    pub max_retries: u32,
    /// Compacts before a request would be too long; none for not.
    pub proactive: Option<Proactive>,
}

impl Default for ContextOverflow {
    fn default() -> Self {
        Self { reactive: false, max_retries: 1, proactive: None }
    }
}

/// When a conversation is compacted between two steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Proactive {
    /// What the model takes, in tokens.
    pub max_input_tokens: u64,
    /// The part of it that a step may have used before the next one is preceded by a compaction. Default: 0.9.
    pub headroom: f64,
    /// Compactions in one turn, those that shorten nothing included. Default: 1.
    pub max_compactions: u32,
}

impl Proactive {
    /// For a model that takes so many tokens.
    #[must_use]
    pub fn new(max_input_tokens: u64) -> Self {
        Self { max_input_tokens, headroom: 0.9, max_compactions: 1 }
    }

    /// Whether a step that was so large is to be followed by a compaction.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "numbers of tokens are far below 2^52")]
    pub fn is_reached(&self, tokens: u64) -> bool {
        tokens as f64 >= self.max_input_tokens as f64 * self.headroom
    }
}
