use std::time::Duration;

use tokio::time::Instant;
use tracing::Span;

use super::health::Pass;
use crate::hooks::Failure;

/// One call into a guest as it goes: what it may use, and what it has used so far. Waiting for an instance and making
/// one are part of it.
#[derive(Debug)]
pub(super) struct Meter {
    /// The fuel it may burn.
    pub(super) budget: u64,
    /// The fuel it has burned.
    pub(super) fuel: u64,
    /// The most linear memory of its instance, in bytes.
    pub(super) memory_bytes: usize,
    /// What it answered, in bytes.
    pub(super) output_bytes: usize,
    /// What it wanted of the host and was not granted.
    pub(super) denied: u64,
    /// Denials of its instance before it.
    pub(super) denials: u64,
    /// The extension's leave to make it.
    pub(super) pass: Option<Pass>,
    begun: Instant,
    limit: Duration,
}

impl Meter {
    pub(super) fn new(budget: u64, limit: Duration) -> Self {
        let begun = Instant::now();
        Self {
            budget,
            fuel: 0,
            memory_bytes: 0,
            output_bytes: 0,
            denied: 0,
            denials: 0,
            pass: None,
            begun,
            limit,
        }
    }

    /// The fuel that is left.
    pub(super) fn left(&self) -> u64 {
        self.budget.saturating_sub(self.fuel)
    }

    /// Runs something of the call; too late is its failure.
    pub(super) async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, Failure> {
        let left = self.limit.saturating_sub(self.begun.elapsed());
        tokio::time::timeout(left, work).await.map_err(|_| Failure::Deadline { limit_ms: self.limit_ms() })
    }

    pub(super) fn limit_ms(&self) -> u64 {
        u64::try_from(self.limit.as_millis()).unwrap_or(u64::MAX)
    }

    pub(super) fn time(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Puts what was used into a trace, if it is one of a call: OpenTelemetry has no numbers without a sign.
    pub(super) fn record(&self, span: &Span) {
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let bytes = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        span.record("lathe.fuel", signed(self.fuel));
        span.record("lathe.memory_bytes", bytes(self.memory_bytes));
        span.record("lathe.output_bytes", bytes(self.output_bytes));
        span.record("lathe.denied", signed(self.denied));
    }
}

/// For events: to the microsecond; more digits would be noise.
pub(super) fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
