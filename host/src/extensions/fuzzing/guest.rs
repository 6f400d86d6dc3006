use std::sync::Arc;

use async_trait::async_trait;

use crate::extensions::bindings::exports::lathe::extension::hooks as wit;
use crate::extensions::convert;
use crate::extensions::grant::Grant;
use crate::hooks::{
    Events, Failure, HealthChange, Hook, HookCall, Observation, StepSnapshot, Subscriber, ToolCallSnapshot,
    ToolCost, ToolResultSnapshot, TurnPatch, TurnSnapshot,
};
use crate::turn::{StepConfig, ToolDecision, ToolOverride};

/// Levels of nesting that it may answer, as by default.
const DEPTH: usize = 100;

/// An extension that has answered already: what it says is read as any guest's.
#[derive(Clone)]
pub(super) struct Guest {
    pub(super) name: String,
    pub(super) grant: Grant,
    pub(super) turn: Option<wit::TurnConfig>,
    pub(super) step: Option<wit::StepConfig>,
    pub(super) decision: Option<wit::ToolDecision>,
    pub(super) change: Option<wit::ToolOverride>,
}

impl Guest {
    /// What it would change of a turn.
    pub(super) fn patch(&self) -> Option<TurnPatch> {
        Some(convert::patch(self.turn.clone()?, &self.grant, DEPTH))
    }

    fn call(&self, hook: Hook) -> HookCall {
        HookCall::new(hook, &*self.name, 0.0, 0)
    }
}

#[async_trait]
impl Subscriber for Guest {
    fn name(&self) -> &str {
        &self.name
    }

    fn subscribes(&self, _: Hook) -> bool {
        true
    }

    fn decides(&self, _: Hook) -> bool {
        true
    }

    async fn before_turn(&self, _: TurnSnapshot) -> (HookCall, Result<Option<TurnPatch>, Failure>) {
        (self.call(Hook::BeforeTurn), Ok(self.patch()))
    }

    async fn before_step(
        &self,
        _: Arc<StepSnapshot>,
    ) -> (HookCall, Result<Option<(StepConfig, Vec<String>)>, Failure>) {
        let read = |config| convert::step_config(config, &self.grant, DEPTH);
        (self.call(Hook::BeforeStep), Ok(self.step.clone().map(read)))
    }

    async fn before_tool_call(
        &self,
        _: Arc<ToolCallSnapshot>,
    ) -> (HookCall, Result<Option<ToolDecision>, Failure>) {
        let read = |decision| convert::decision(decision, &self.name, &self.grant, DEPTH);
        (self.call(Hook::BeforeToolCall), self.decision.clone().map(read).transpose())
    }

    async fn after_tool_call(
        &self,
        _: Arc<ToolResultSnapshot>,
    ) -> (HookCall, Result<Option<ToolOverride>, Failure>) {
        let read = |change| convert::tool_override(change, DEPTH);
        (self.call(Hook::AfterToolCall), self.change.as_ref().map(read).transpose())
    }

    fn observe(&self, _: Observation) {}

    async fn flush(&self) {}
}

/// Where nobody listens.
pub(super) struct Nobody;

impl Events for Nobody {
    fn hook_called(&self, _: HookCall) {}
    fn tool_called(&self, _: ToolCost) {}
    fn health_changed(&self, _: HealthChange) {}
}
