//! The operator's rules, at the end of every system prompt, and a cap on the steps of a turn.
//!
//! ```toml
//! [extension.house-rules.settings]
//! rules = ["Be brief.", "Cite sources."]
//! maxSteps = 6
//! ```

mod rules;

use lathe_guest::prelude::*;
use rules::Rules;

#[derive(Default)]
struct HouseRules;

#[extension]
impl Extension for HouseRules {
    fn settings_schema() -> Option<Value> {
        Some(schema::<Rules>())
    }

    fn before_turn(&mut self, turn: TurnSnapshot) -> Result<Option<TurnConfig>> {
        let rules: Rules = settings()?;
        let system = rules.after(&turn.system);
        // A cap: a limit that is lower already stays.
        let max_steps = rules.max_steps().filter(|cap| *cap < turn.max_steps);
        if system.is_none() && max_steps.is_none() {
            return Ok(None);
        }
        Ok(Some(TurnConfig { system, max_steps, ..TurnConfig::default() }))
    }
}

#[cfg(test)]
mod tests;
