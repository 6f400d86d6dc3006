use serde::Serialize;

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

/// Where calls of hooks are reported. Must not block.
pub trait Events: Send + Sync {
    /// An extension was called.
    fn hook_called(&self, call: HookCall);
}
