use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What one extension may use. Each has its place under `[extension.NAME.limits]` in `lathe.toml`.
///
/// Unless it says otherwise, a call that reaches one fails with an error of its own
/// ([`Failure`](crate::hooks::Failure)), and its instance is dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Limits {
    /// Fuel of one call, about one unit an instruction, making its instance included. 200 million: a JavaScript guest's
    /// `before-turn` needs 6 million, and a guest that loops is stopped within about 20 ms.
    pub fuel_per_call: u64,
    /// Fuel added for each byte that the call brings in. 1,000: a guest must at least read what it is given, and
    /// parsing JSON costs a Rust guest about 130 a byte, an interpreted one several times that.
    pub fuel_per_input_byte: u64,
    /// Fuel of all hook calls of one turn together. 2 billion: ten full calls.
    pub fuel_per_turn: u64,
    /// Wall-clock time of one hook call, in milliseconds, host calls and the wait for an instance included. 5 s, as in
    /// Think.
    pub hook_timeout_ms: u64,
    /// Wall-clock time of one tool call, in milliseconds, host calls and the wait for an instance included. 60 s: a tool
    /// may wait for the network.
    pub tool_timeout_ms: u64,
    /// All linear memories of an instance together, in bytes. 128 MiB: an interpreter with its heap fits.
    pub memory_bytes: usize,
    /// Elements of one table, never more than a million. 100,000: a large program's function table fits.
    pub table_elements: usize,
    /// Core instances that one component is made of, and as many memories and as many tables. 64: composed components
    /// with adapters fit, and one of many small parts is as costly as a large one.
    pub parts: usize,
    /// Handles of resources that an instance holds at once, and as many resources behind them in the host. 1,000: more
    /// files and streams than a plain program has open.
    pub handles: usize,
    /// What the host unpacks of one piece that a guest hands over, be it an argument of a host call or an answer, in
    /// bytes of the host's memory. 16 MiB: four times the largest answer, since a list of small values takes more room
    /// in the host than its text.
    pub lift_bytes: usize,
    /// One answer of a guest, in bytes. 4 MiB: more than any model takes as a tool result.
    pub output_bytes: usize,
    /// Levels of nesting in JSON that a guest answers. 100, as the contract says, and never more: with a message around
    /// it, it must still be readable where it is stored. A field of a turn's or a step's config that is deeper is left
    /// out, and the others count.
    pub json_depth: usize,
    /// Random bytes that a guest is given in one call. 65,536, as in the browsers' `getRandomValues`.
    pub random_bytes: u64,
    /// Log records of one instance; further ones are dropped, and the last one says so. 1,000: more than an operator
    /// reads of one turn.
    pub log_records: u32,
    /// Bytes of one log record; the rest is cut off. 4,096: a page of text.
    pub log_bytes: usize,
    /// Chunks waiting in the queue of an `on-chunk` subscriber; further ones are dropped and counted. 4,096: several
    /// seconds of any model's output.
    pub chunk_queue: usize,
    /// Keys and values in `storage` together, in bytes; a write beyond it is refused and the guest told. 16 MiB.
    pub storage_bytes: u64,
    /// Instances at once for the hooks of turns, and as many for tool calls: counted apart, since a turn that holds the
    /// one must get the other. A call beyond that waits, within its own time. 256: more turns at once than one host
    /// serves well.
    pub instances: usize,
    /// Strikes in a row that put the extension into quarantine; 0 means never. A strike is a call that failed by the
    /// guest's fault; a call that goes well ends the row. 3: once may be chance.
    pub strikes: u32,
    /// A hook call that goes well but takes longer than this many milliseconds is a strike too: it keeps every turn
    /// waiting. 2,500: half of what a hook may take at most.
    pub slow_hook_ms: u64,
    /// How long the first quarantine lasts, in milliseconds; it doubles each time the call that ends it fails. 60 s.
    pub quarantine_ms: u64,
    /// The longest quarantine, in milliseconds. 1 h.
    pub quarantine_limit_ms: u64,
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
            parts: 64,
            handles: 1_000,
            lift_bytes: 16 << 20,
            output_bytes: 4 << 20,
            json_depth: Self::JSON_DEPTH,
            random_bytes: 65_536,
            log_records: 1_000,
            log_bytes: 4_096,
            chunk_queue: 4_096,
            storage_bytes: 16 << 20,
            instances: 256,
            strikes: 3,
            slow_hook_ms: 2_500,
            quarantine_ms: 60_000,
            quarantine_limit_ms: 3_600_000,
        }
    }
}

impl Limits {
    /// Of `describe`, which runs before anything of the extension is known: 10 s.
    pub(super) const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(10);

    /// The deepest JSON that a guest may answer: serde_json reads 127 levels.
    const JSON_DEPTH: usize = 100;

    /// What a table's slot holds.
    pub(super) const TABLE_ELEMENTS: usize = 1_000_000;

    /// How large a table may be, in elements.
    pub(super) fn table_elements(&self) -> usize {
        self.table_elements.min(Self::TABLE_ELEMENTS)
    }

    /// How deep JSON may be.
    pub(super) fn json_depth(&self) -> usize {
        self.json_depth.min(Self::JSON_DEPTH)
    }

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
