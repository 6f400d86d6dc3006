//! The settings, and the text that they make.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::Deserialize;

const HEADING: &str = "House rules:";

/// Rules for every turn.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Rules {
    /// Each becomes an item of the list at the end of the system prompt.
    rules: Vec<String>,
    /// The most steps that a turn may take.
    max_steps: Option<NonZeroU32>,
    /// What stands above the list; `House rules:` if absent.
    heading: Option<String>,
}

impl Rules {
    /// The system text with the rules after it; none if there are none.
    pub(crate) fn after(&self, system: &str) -> Option<String> {
        let rules: Vec<&str> =
            self.rules.iter().map(|rule| rule.trim()).filter(|rule| !rule.is_empty()).collect();
        if rules.is_empty() {
            return None;
        }
        let mut text = system.trim_end().to_owned();
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(self.heading.as_deref().unwrap_or(HEADING));
        for rule in rules {
            text.push_str("\n- ");
            text.push_str(&rule.replace('\n', "\n  "));
        }
        Some(text)
    }

    pub(crate) fn max_steps(&self) -> Option<u32> {
        self.max_steps.map(NonZeroU32::get)
    }
}
