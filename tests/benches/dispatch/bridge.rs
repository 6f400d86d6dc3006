use std::sync::Arc;

use async_trait::async_trait;
use lathe::extensions::{Bridge, BridgeError, BridgeMessage, Services};
use lathe::hooks::{Events, HookCall};

/// Nothing lies behind the guest's imports: it calls none.
struct Nothing;

type Answer<T> = Result<T, BridgeError>;

fn nothing<T>() -> Answer<T> {
    Err(BridgeError::Failed("the bench has no storage".into()))
}

#[async_trait]
impl Bridge for Nothing {
    async fn storage_get(&self, _: &str, _: &str) -> Answer<Option<Vec<u8>>> {
        nothing()
    }

    async fn storage_set(&self, _: &str, _: &str, _: Vec<u8>, _: u64) -> Answer<()> {
        nothing()
    }

    async fn storage_delete(&self, _: &str, _: &str) -> Answer<bool> {
        nothing()
    }

    async fn storage_keys(&self, _: &str, _: &str) -> Answer<Vec<String>> {
        nothing()
    }

    async fn storage_increment(&self, _: &str, _: &str, _: i64, _: u64) -> Answer<i64> {
        nothing()
    }

    async fn context_get(&self, _: &str, _: &str) -> Answer<Option<String>> {
        nothing()
    }

    async fn context_set(&self, _: &str, _: &str, _: String, _: bool) -> Answer<()> {
        nothing()
    }

    async fn messages(&self, _: &str, _: usize) -> Answer<Vec<BridgeMessage>> {
        nothing()
    }

    async fn message_count(&self, _: &str) -> Answer<usize> {
        nothing()
    }

    async fn send_message(&self, _: &str, _: String) -> Answer<()> {
        nothing()
    }
}

/// Sees to it that what is measured has not failed.
struct Sound;

impl Events for Sound {
    fn hook_called(&self, call: HookCall) {
        assert!(call.failure.is_none(), "{call:?}");
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
    Services { bridge: bridge(), session: "s".into(), events: events() }
}
