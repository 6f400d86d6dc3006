use std::sync::Arc;

use lathe::extensions::{Bridge, Services};
use lathe::hooks::{Events, HealthChange, HookCall, ToolCost};

/// Nothing lies behind the guest's imports: it calls none.
struct Nothing;

impl Bridge for Nothing {}

/// Sees to it that what is measured has not failed.
struct Sound;

impl Events for Sound {
    fn hook_called(&self, call: HookCall) {
        assert!(call.failure.is_none(), "{call:?}");
    }

    fn tool_called(&self, cost: ToolCost) {
        assert!(cost.failure.is_none(), "{cost:?}");
    }

    fn health_changed(&self, change: HealthChange) {
        assert!(change.extension.is_empty(), "{change:?}");
    }
}

pub(crate) fn bridge() -> Arc<dyn Bridge> {
    Arc::new(Nothing)
}

pub(crate) fn events() -> Arc<dyn Events> {
    Arc::new(Sound)
}

/// What a turn's instances need.
pub(crate) fn services() -> Services {
    Services { bridge: bridge(), session: "s".into(), events: events(), request_id: "r".into() }
}
