use serde::Serialize;
use tokio::sync::mpsc;

use crate::hooks::{Events, HealthChange, HookCall, ToolCost};
use crate::turn::Chunk;

/// What can be seen of a turn while it runs. In JSON each has a `type`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum TurnEvent {
    /// A part of the answer's stream.
    Chunk(Chunk),
    /// A hook of an extension was called: `hook-call`.
    HookCall(HookCall),
    /// A tool of an extension was called: `tool-cost`.
    ToolCost(ToolCost),
    /// An extension was set aside, or is well again: `extension-health`.
    Health(HealthChange),
    /// A model request failed for a passing reason and is made again: `retry`.
    Retry(Retry),
}

/// A new attempt at a model request.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "retry", rename_all = "camelCase")]
pub struct Retry {
    /// The attempt that comes, from 2.
    pub attempt: u32,
    /// The wait before it, in milliseconds.
    pub delay_ms: u64,
    /// Why the one before it failed.
    pub error: String,
}

/// Where a turn's events go. Nobody need listen.
#[derive(Clone)]
pub(crate) struct EventSender(pub(crate) mpsc::UnboundedSender<TurnEvent>);

impl EventSender {
    pub(crate) fn send(&self, event: TurnEvent) {
        let _ = self.0.send(event);
    }
}

impl Events for EventSender {
    fn hook_called(&self, call: HookCall) {
        self.send(TurnEvent::HookCall(call));
    }

    fn tool_called(&self, cost: ToolCost) {
        self.send(TurnEvent::ToolCost(cost));
    }

    fn health_changed(&self, change: HealthChange) {
        self.send(TurnEvent::Health(change));
    }
}
