use std::collections::VecDeque;
use std::sync::Arc;

use super::Metrics;
use super::labels::{self, Call, Compaction, Failed, Outcome, Tokens, Turn};
use crate::agent::{ChatEvent, SessionEvent, TurnEvent};
use crate::hooks::{HookCall, ToolCost};
use crate::turn::{Chunk, TurnStatus, Usage};

/// Turns whose end is awaited. The next one may begin before the end of the last is told; more than a few never do. 16.
const TURNS: usize = 16;

/// What a turn is counted as that nobody has seen begin.
const UNSEEN: &str = "none";

/// Counts what happens in one session.
pub(in crate::server) struct Tally {
    pub(in crate::server) metrics: Arc<Metrics>,
    /// Turns that have begun, and what made them start.
    begun: VecDeque<(String, &'static str)>,
    /// Requests of this session that wait, as the gauge of all has them.
    waiting: usize,
}

impl Tally {
    pub(in crate::server) fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics, begun: VecDeque::new(), waiting: 0 }
    }

    /// Requests of this session that wait.
    pub(in crate::server) fn waiting(&mut self, requests: usize) {
        if requests != self.waiting {
            let gauge = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
            self.metrics.waiting.inc_by(gauge(requests).saturating_sub(gauge(self.waiting)));
            self.waiting = requests;
        }
    }

    /// The hub was too slow, and has missed events.
    pub(in crate::server) fn left_behind(&self) {
        self.metrics.left_behind.inc();
    }

    pub(in crate::server) fn count(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::TurnStarted { request_id, trigger, .. } => {
                if self.begun.len() >= TURNS {
                    self.begun.pop_front();
                }
                self.begun.push_back((request_id.clone(), labels::trigger(*trigger)));
            }
            SessionEvent::TurnEnded { request_id, status, .. } => self.ended(request_id, *status),
            SessionEvent::Turn { event, .. } => self.turn(event),
            SessionEvent::Chat { event } => self.chat(event),
            SessionEvent::Transcript { .. } => {}
        }
    }

    fn ended(&mut self, request_id: &str, status: TurnStatus) {
        let begun = self.begun.iter().position(|(id, _)| id == request_id);
        let trigger = begun.and_then(|place| self.begun.remove(place)).map_or(UNSEEN, |(_, trigger)| trigger);
        self.metrics.turns.get_or_create(&Turn { status: labels::status(status), trigger }).inc();
    }

    fn turn(&self, event: &TurnEvent) {
        let metrics = &self.metrics;
        match event {
            TurnEvent::Chunk(Chunk::FinishStep { usage, model, .. }) => {
                metrics.steps.inc();
                self.tokens(model.as_deref().unwrap_or_default(), usage);
            }
            TurnEvent::Chunk(Chunk::ToolResult { preliminary: false, .. }) => self.tool_call("ok"),
            TurnEvent::Chunk(Chunk::ToolError { .. }) => self.tool_call("error"),
            TurnEvent::HookCall(call) => self.hook_call(call),
            TurnEvent::ToolCost(cost) => self.tool_cost(cost),
            TurnEvent::Retry(_) => {
                metrics.retries.inc();
            }
            TurnEvent::Chat(event) => self.chat(event),
            TurnEvent::Chunk(_)
            | TurnEvent::ConfigChange(_)
            | TurnEvent::Health(_)
            | TurnEvent::Transcript(_) => {}
        }
    }

    fn chat(&self, event: &ChatEvent) {
        let recovery = |outcome| {
            self.metrics.recoveries.get_or_create(&Outcome { outcome }).inc();
        };
        match event {
            ChatEvent::TurnFinish { duration_ms, .. } => {
                let seconds = std::time::Duration::from_millis(*duration_ms).as_secs_f64();
                self.metrics.duration.observe(seconds);
            }
            ChatEvent::StreamStalled { .. } => {
                self.metrics.stalls.inc();
            }
            ChatEvent::ContextCompacted { reason, shortened, .. } => {
                let labels = Compaction { reason, shortened: *shortened };
                self.metrics.compactions.get_or_create(&labels).inc();
            }
            ChatEvent::RecoveryAttempt(_) => recovery("attempt"),
            ChatEvent::RecoveryCompleted(_) => recovery("completed"),
            ChatEvent::RecoverySkipped { .. } => recovery("skipped"),
            ChatEvent::RecoveryExhausted { .. } => recovery("exhausted"),
            ChatEvent::RecoveryFailed { .. } => recovery("failed"),
            ChatEvent::TurnStart { .. }
            | ChatEvent::TranscriptRepaired { .. }
            | ChatEvent::RecoveryDetected(_)
            | ChatEvent::RecoveryScheduled(_)
            | ChatEvent::Submission { .. } => {}
        }
    }

    fn tokens(&self, model: &str, usage: &Usage) {
        let model = self.metrics.models.label(model);
        for (kind, tokens) in [
            ("input", usage.input_tokens),
            ("output", usage.output_tokens),
            ("cached", usage.cached_input_tokens),
            ("reasoning", usage.reasoning_tokens),
        ] {
            if let Some(tokens) = tokens {
                self.metrics.tokens.get_or_create(&Tokens { model: model.clone(), kind }).inc_by(tokens);
            }
        }
    }

    fn tool_call(&self, outcome: &'static str) {
        self.metrics.tool_calls.get_or_create(&Outcome { outcome }).inc();
    }

    fn hook_call(&self, call: &HookCall) {
        let HookCall { extension, hook, duration_ms, fuel, failure, denied, .. } = call;
        self.call(extension, hook.name(), *duration_ms, *fuel, *failure, *denied);
    }

    fn tool_cost(&self, cost: &ToolCost) {
        let ToolCost { extension, duration_ms, fuel, failure, denied, .. } = cost;
        self.call(extension, "tool", *duration_ms, *fuel, *failure, *denied);
    }

    fn call(
        &self,
        extension: &str,
        hook: &'static str,
        duration_ms: f64,
        fuel: u64,
        failure: Option<&'static str>,
        denied: u64,
    ) {
        let metrics = &self.metrics;
        let call = Call { extension: extension.to_owned(), hook };
        metrics.calls.get_or_create(&call).inc();
        metrics.fuel.get_or_create(&call).inc_by(fuel);
        metrics.seconds.get_or_create(&call).inc_by(duration_ms / 1e3);
        if denied > 0 {
            metrics.denied.get_or_create(&call).inc_by(denied);
        }
        if let Some(cause) = failure {
            let failed = Failed { extension: extension.to_owned(), hook, cause };
            metrics.failures.get_or_create(&failed).inc();
        }
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.waiting(0);
    }
}
