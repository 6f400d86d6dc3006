//! What is counted, for Prometheus.
//!
//! Hubs count: each sees every event of its session once, however many are connected, and in a task of its own, so that
//! no turn waits for it. Labels are names of extensions and words out of fixed lists; never a session's name, nor text.

mod labels;
mod model;
mod scrape;
mod tally;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use labels::{Call, Compaction, Failed, Outcome, Refused, Tokens, Turn};
use model::Models;
pub(super) use scrape::metrics;
pub(super) use tally::Tally;

/// Upper bounds of the durations of turns, in seconds: from a scripted answer to half an hour of tools.
const DURATIONS: [f64; 13] = [0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0];

type Seconds = Counter<f64>;

/// All counters of a server.
pub(super) struct Metrics {
    registry: Registry,
    turns: Family<Turn, Counter>,
    duration: Histogram,
    steps: Counter,
    tokens: Family<Tokens, Counter>,
    models: Models,
    tool_calls: Family<Outcome, Counter>,
    calls: Family<Call, Counter>,
    fuel: Family<Call, Counter>,
    seconds: Family<Call, Seconds>,
    failures: Family<Failed, Counter>,
    denied: Family<Call, Counter>,
    retries: Counter,
    stalls: Counter,
    recoveries: Family<Outcome, Counter>,
    compactions: Family<Compaction, Counter>,
    left_behind: Counter,
    refused: Family<Refused, Counter>,
    waiting: Gauge,
    pub(super) received: Counter,
    pub(super) sent: Counter,
    pub(super) slow: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("lathe"),
            turns: Family::default(),
            duration: Histogram::new(DURATIONS),
            steps: Counter::default(),
            tokens: Family::default(),
            models: Models::default(),
            tool_calls: Family::default(),
            calls: Family::default(),
            fuel: Family::default(),
            seconds: Family::default(),
            failures: Family::default(),
            denied: Family::default(),
            retries: Counter::default(),
            stalls: Counter::default(),
            recoveries: Family::default(),
            compactions: Family::default(),
            left_behind: Counter::default(),
            refused: Family::default(),
            waiting: Gauge::default(),
            received: Counter::default(),
            sent: Counter::default(),
            slow: Counter::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("turns", "Turns that have ended, or were skipped", self.turns.clone());
        registry.register("turn_duration_seconds", "How long turns took", self.duration.clone());
        registry.register(
            "steps",
            "Model requests that were answered, with their tool calls",
            self.steps.clone(),
        );
        registry.register(
            "tokens",
            "Tokens of answered model requests; cached ones are among the input, reasoning among the output",
            self.tokens.clone(),
        );
        registry.register("tool_calls", "Tool calls that have a result", self.tool_calls.clone());
        registry.register("extension_calls", "Calls into extensions", self.calls.clone());
        registry.register("extension_fuel", "Fuel that calls into extensions burned", self.fuel.clone());
        registry.register("extension_seconds", "Time that calls into extensions took", self.seconds.clone());
        registry.register("extension_failures", "Calls into extensions that failed", self.failures.clone());
        registry.register(
            "extension_denied",
            "What extensions asked the host for and are not granted",
            self.denied.clone(),
        );
        registry.register("model_retries", "Model requests that were made again", self.retries.clone());
        registry.register("stalls", "Answers in which nothing came for too long", self.stalls.clone());
        registry.register("recoveries", "Turns that were cut off and taken up", self.recoveries.clone());
        registry.register(
            "compactions",
            "Conversations that were too long for the model",
            self.compactions.clone(),
        );
        registry.register(
            "hubs_left_behind",
            "Times that a session had more events than could be counted",
            self.left_behind.clone(),
        );
        registry.register("requests_refused", "Requests over HTTP that were refused", self.refused.clone());
        registry.register("requests_waiting", "Turns asked for that show nothing yet", self.waiting.clone());
        registry.register("frames_received", "Frames from clients", self.received.clone());
        registry.register("frames_sent", "Frames to clients", self.sent.clone());
        registry.register(
            "slow_clients",
            "Clients that were dropped since they read too slowly",
            self.slow.clone(),
        );
    }

    /// Counts a request that gets this status.
    pub(super) fn refused(&self, status: axum::http::StatusCode) {
        self.refused.get_or_create(&Refused { status: status.as_u16() }).inc();
    }
}
