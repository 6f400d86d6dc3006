use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use serde::Deserialize;

use crate::recovery::{ChatRecovery, ContextOverflow, Proactive};

/// `[recovery]`: how often a turn is taken up that was cut off.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Recovery {
    /// Whether at all. Default: true.
    pub enabled: bool,
    /// Attempts in a row that bring nothing. Default: 10.
    pub max_attempts: NonZeroU32,
    /// Deaths of the process while one turn runs. Default: 5.
    pub max_interrupted_attempts: NonZeroU32,
    /// The longest time since anything came, in milliseconds. Default: 300,000.
    pub no_progress_timeout_ms: NonZeroU64,
    /// Units of work after the first interruption, of 5 s each. Default: 10,000.
    pub max_work: NonZeroU64,
    /// What the user is told when a turn is given up. Default: a sentence.
    pub terminal_message: Option<String>,
}

impl Default for Recovery {
    fn default() -> Self {
        Self {
            enabled: true,
            max_attempts: NonZeroU32::MIN.saturating_add(9),
            max_interrupted_attempts: NonZeroU32::MIN.saturating_add(4),
            no_progress_timeout_ms: NonZeroU64::MIN.saturating_add(299_999),
            max_work: NonZeroU64::MIN.saturating_add(9_999),
            terminal_message: None,
        }
    }
}

impl Recovery {
    /// As the agent wants it; none if it is not to be.
    #[must_use]
    pub fn budget(&self) -> Option<ChatRecovery> {
        let known = ChatRecovery::default();
        self.enabled.then(|| ChatRecovery {
            max_attempts: self.max_attempts.get(),
            max_interrupted_attempts: self.max_interrupted_attempts.get(),
            no_progress_timeout: Duration::from_millis(self.no_progress_timeout_ms.get()),
            max_recovery_work: self.max_work.get(),
            terminal_message: self.terminal_message.clone().unwrap_or(known.terminal_message),
        })
    }
}

/// `[context-overflow]`: what becomes of a conversation that is too long for the model.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Overflow {
    /// A request that the provider refuses as too long is made again after the conversation was shortened. Default: true.
    pub reactive: bool,
    /// How often, in one turn. Default: 1.
    pub max_retries: u32,
    /// What the model takes, in tokens: the conversation is shortened between two steps before it is reached. Default: none.
    pub max_input_tokens: Option<NonZeroU64>,
    /// The part of it at which that happens. Default: 0.9.
    pub headroom: Option<f64>,
}

impl Default for Overflow {
    fn default() -> Self {
        Self { reactive: true, max_retries: 1, max_input_tokens: None, headroom: None }
    }
}

impl Overflow {
    /// As the agent wants it.
    #[must_use]
    pub fn policy(&self) -> ContextOverflow {
        let proactive = self.max_input_tokens.map(|tokens| {
            let known = Proactive::new(tokens.get());
            Proactive { headroom: self.headroom.unwrap_or(known.headroom), ..known }
        });
        ContextOverflow { reactive: self.reactive, max_retries: self.max_retries, proactive }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Config;

    #[test]
    fn the_defaults_are_those_of_the_library_and_each_can_be_set() {
        assert_eq!(Recovery::default().budget(), Some(ChatRecovery::default()));
        let text = "[recovery]\nmax-attempts = 3\nterminal-message = \"Sorry.\"\n[context-overflow]\nmax-input-tokens = 100\n";
        let config = Config::parse(text, Path::new("lathe.toml")).unwrap();
        let budget = config.recovery.budget().unwrap();
        assert_eq!((budget.max_attempts, &*budget.terminal_message), (3, "Sorry."));
        assert!(config.context_overflow.policy().proactive.unwrap().is_reached(90));
        let config = Config::parse("[recovery]\nenabled = false", Path::new("lathe.toml")).unwrap();
        assert_eq!(config.recovery.budget(), None);
    }
}
