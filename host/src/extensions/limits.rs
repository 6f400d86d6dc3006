use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What one extension may use. Each has its place under `[extension.NAME.limits]` in `lathe.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Limits {
    /// Fuel of one call, about one unit an instruction. 200 million: a JavaScript guest's `before-turn` needs 6
    /// million, and a guest that loops is stopped within about 20 ms.
    pub fuel_per_call: u64,
    /// Fuel added for each byte that the call brings in. 1,000: a guest must at least read what it is given, and
    /// parsing JSON costs a Rust guest about 130 a byte, an interpreted one several times that.
    pub fuel_per_input_byte: u64,
    /// Fuel of all hook calls of one turn together. 2 billion: ten full calls.
    pub fuel_per_turn: u64,
    /// Wall-clock time of one hook call, in milliseconds, host calls included. 5 s, as in Think.
    pub hook_timeout_ms: u64,
    /// Wall-clock time of one tool call, in milliseconds, host calls included. 60 s: a tool may wait for the network.
    pub tool_timeout_ms: u64,
    /// All linear memories of an instance together, in bytes. 128 MiB: an interpreter with its heap fits.
    pub memory_bytes: usize,
    /// Elements of one table. 100,000: a large program's function table fits.
    pub table_elements: usize,
    /// What the host reads from a guest in one call, in bytes. 4 MiB: more than any model takes as a tool result.
    pub output_bytes: usize,
    /// Chunks waiting in the queue of an `on-chunk` subscriber; further ones are dropped and counted. 4,096: several
    /// seconds of any model's output.
    pub chunk_queue: usize,
    /// Keys and values in `storage` together, in bytes. 16 MiB.
    pub storage_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            fuel_per_call: 200_000_000,
            fuel_per_input_byte: 1_000,
            fuel_per_turn: 2_000_000_000,
            hook_timeout_ms: 5_000,
            tool_timeout_ms: 60_000,
            memory_bytes: 128 << 20,
            table_elements: 100_000,
            output_bytes: 4 << 20,
            chunk_queue: 4_096,
            storage_bytes: 16 << 20,
        }
    }
}

impl Limits {
    /// Of `describe`, which runs before anything of the extension is known: 10 s.
    pub(super) const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(10);

    /// The fuel of a call that brings in so many bytes.
    #[must_use]
    pub fn fuel(&self, input_bytes: usize) -> u64 {
        let bytes = u64::try_from(input_bytes).unwrap_or(u64::MAX);
        self.fuel_per_call.saturating_add(self.fuel_per_input_byte.saturating_mul(bytes))
    }

    /// The time of a hook call.
    #[must_use]
    pub fn hook_timeout(&self) -> Duration {
        Duration::from_millis(self.hook_timeout_ms)
    }

    /// The time of a tool call.
    #[must_use]
    pub fn tool_timeout(&self) -> Duration {
        Duration::from_millis(self.tool_timeout_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuel_grows_with_the_input_and_does_not_overflow() {
        let limits = Limits::default();
        assert_eq!(limits.fuel(2_000), 202_000_000);
        assert_eq!(limits.fuel(usize::MAX), u64::MAX);
    }
}
