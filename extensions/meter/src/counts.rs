//! The counts of a turn, on their way to the storage.

use std::collections::BTreeMap;
use std::fmt;

use lathe_guest::{Result, Usage, storage};

/// Before the name of a tool in the storage.
pub(crate) const TOOL: &str = "tool/";

/// The model may make up names, and a key has its limit.
const TOOL_CHARACTERS: usize = 100;

/// Sums by key: of the turn, and those of them that the storage does not have yet.
#[derive(Default)]
pub(crate) struct Counts {
    turn: BTreeMap<String, u64>,
    unsaved: BTreeMap<String, u64>,
}

impl Counts {
    pub(crate) fn add(&mut self, key: &str, number: u64) {
        if number == 0 {
            return;
        }
        for sums in [&mut self.turn, &mut self.unsaved] {
            let sum = sums.entry(key.to_owned()).or_default();
            *sum = sum.saturating_add(number);
        }
    }

    pub(crate) fn add_tool(&mut self, name: &str) {
        let name: String = name.chars().take(TOOL_CHARACTERS).collect();
        self.add(&format!("{TOOL}{name}"), 1);
    }

    pub(crate) fn add_tokens(&mut self, usage: &Usage) {
        let (input, output) = (usage.input_tokens.unwrap_or(0), usage.output_tokens.unwrap_or(0));
        self.add("inputTokens", input);
        self.add("outputTokens", output);
        // Not every provider adds them up.
        self.add("totalTokens", usage.total_tokens.unwrap_or(input.saturating_add(output)));
    }

    /// What cannot be written stays for the next time.
    pub(crate) fn save(&mut self) -> Result<()> {
        while let Some(entry) = self.unsaved.first_entry() {
            storage::increment(entry.key(), i64::try_from(*entry.get())?)?;
            entry.remove();
        }
        Ok(())
    }

    fn turn(&self, key: &str) -> u64 {
        self.turn.get(key).copied().unwrap_or(0)
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "steps {}, tool calls {} ({} failed), chunks {}, tokens {} in and {} out, errors {}",
            self.turn("steps"),
            self.turn("toolCalls"),
            self.turn("failedToolCalls"),
            self.turn("chunks"),
            self.turn("inputTokens"),
            self.turn("outputTokens"),
            self.turn("errors"),
        )
    }
}
