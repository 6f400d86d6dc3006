use serde::{Deserialize, Serialize};

use super::{Failure, Hook};
use crate::turn::ConfigChange;

/// One call of a hook in an extension, for traces, events and the inspector.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "hook-call", rename_all = "camelCase")]
pub struct HookCall {
    /// The stage.
    pub hook: Hook,
    /// Whom it called.
    pub extension: String,
    /// How long it took, in milliseconds, waiting for an instance included.
    pub duration_ms: f64,
    /// What it burned.
    pub fuel: u64,
    /// The most linear memory its instance has had so far, in bytes.
    pub memory_bytes: usize,
    /// What it answered, in bytes.
    pub output_bytes: usize,
    /// How many snapshots it carried: more than 1 only with `onChunk`.
    pub snapshots: usize,
    /// What it changed in the turn's config.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ConfigChange>,
    /// What it decided, where it may: `allow`, `block`, `substitute`, `change`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<&'static str>,
    /// Fields of its answer that were dropped, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<String>,
    /// The cause of its failure, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<&'static str>,
    /// The failure in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it wanted of the host and was not granted: requests and bridge calls.
    #[serde(skip_serializing_if = "is_zero")]
    pub denied: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl HookCall {
    /// A call that carried one snapshot, changed nothing and went well.
    #[must_use]
    pub fn new(hook: Hook, extension: impl Into<String>, duration_ms: f64, fuel: u64) -> Self {
        Self {
            hook,
            extension: extension.into(),
            duration_ms,
            fuel,
            memory_bytes: 0,
            output_bytes: 0,
            snapshots: 1,
            changes: Vec::new(),
            decision: None,
            dropped: Vec::new(),
            failure: None,
            error: None,
            denied: 0,
        }
    }
}

impl HookCall {
    /// Notes that it failed.
    pub(super) fn failed(&mut self, failure: &Failure) {
        tracing::warn!(extension = &*self.extension, hook = self.hook.name(), "{failure}");
        self.failure = Some(failure.kind());
        self.error = Some(failure.to_string());
    }
}

/// What the built-in hooks have set of a turn's config. What an extension sets is in its [`HookCall`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "config-change", rename_all = "camelCase")]
pub struct ConfigChanges {
    /// The stage.
    pub hook: Hook,
    /// Who: `built-in`, as in the turn's provenance.
    pub by: &'static str,
    /// Each field with its value once all of them were asked.
    pub changes: Vec<ConfigChange>,
}

/// What one call of an extension's tool has cost. How it ended is in the turn's stream; here, only a failure that is
/// the extension's fault.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "tool-cost", rename_all = "camelCase")]
pub struct ToolCost {
    /// Whom it called.
    pub extension: String,
    /// As the model knows it.
    pub tool_name: String,
    /// The call.
    pub tool_call_id: String,
    /// How long it took, in milliseconds, waiting for an instance included.
    pub duration_ms: f64,
    /// What it burned.
    pub fuel: u64,
    /// The most linear memory its instance has had, in bytes.
    pub memory_bytes: usize,
    /// What it answered, in bytes.
    pub output_bytes: usize,
    /// How often it asked the host for what it is not granted.
    #[serde(skip_serializing_if = "is_zero")]
    pub denied: u64,
    /// The cause of its failure, in one word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<&'static str>,
    /// The failure in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// An extension was set aside, is tried again, or is well again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename = "extension-health", rename_all = "camelCase")]
pub struct HealthChange {
    /// Which.
    pub extension: String,
    /// As it is now.
    pub health: Condition,
    /// In quarantine: until it is tried again, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quarantine_ms: Option<u64>,
    /// In quarantine: what it failed with last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How an extension is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Condition {
    /// It is called.
    #[default]
    Ready,
    /// It has failed too often in a row and is not called for a while.
    Quarantined,
    /// Its quarantine is over, and one call tries whether it works again.
    Probing,
}

/// Where calls into extensions are reported. Must not block.
pub trait Events: Send + Sync {
    /// A hook was called.
    fn hook_called(&self, call: HookCall);

    /// Built-in hooks have set something. Not of interest unless implemented.
    fn config_changed(&self, _changes: ConfigChanges) {}

    /// A tool was called.
    fn tool_called(&self, cost: ToolCost);

    /// An extension's health has changed.
    fn health_changed(&self, change: HealthChange);
}
