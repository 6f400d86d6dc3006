use async_trait::async_trait;

use super::log::LogRecord;
use crate::turn::Json;

/// What the host does for a guest beyond WASI, by extension. Implemented where the store is known; what is not
/// implemented fails.
#[async_trait]
pub trait Bridge: Send + Sync {
    /// The value of a key.
    async fn storage_get(&self, _extension: &str, _key: &str) -> Result<Option<Vec<u8>>, BridgeError> {
        nothing()
    }

    /// Sets a key, if all keys and values together stay within `limit` bytes.
    async fn storage_set(
        &self,
        _extension: &str,
        _key: &str,
        _value: Vec<u8>,
        _limit: u64,
    ) -> Result<(), BridgeError> {
        nothing()
    }

    /// Removes a key; false if there was none.
    async fn storage_delete(&self, _extension: &str, _key: &str) -> Result<bool, BridgeError> {
        nothing()
    }

    /// The keys that start with `prefix`, sorted.
    async fn storage_keys(&self, _extension: &str, _prefix: &str) -> Result<Vec<String>, BridgeError> {
        nothing()
    }

    /// Adds to a whole number in one step and returns the sum; a new key counts against `limit`.
    async fn storage_increment(
        &self,
        _extension: &str,
        _key: &str,
        _delta: i64,
        _limit: u64,
    ) -> Result<i64, BridgeError> {
        nothing()
    }

    /// The text of a session's context block; none if there is no such block.
    async fn context_get(&self, _session: &str, _label: &str) -> Result<Option<String>, BridgeError> {
        nothing()
    }

    /// Sets the text of a session's context block. One that is not there is made if `create` says so.
    async fn context_set(
        &self,
        _session: &str,
        _label: &str,
        _text: String,
        _create: bool,
    ) -> Result<(), BridgeError> {
        nothing()
    }

    /// The last `limit` messages of a session, oldest first.
    async fn messages(&self, _session: &str, _limit: usize) -> Result<Vec<BridgeMessage>, BridgeError> {
        nothing()
    }

    /// How many messages a session has.
    async fn message_count(&self, _session: &str) -> Result<usize, BridgeError> {
        nothing()
    }

    /// Adds a user message to a session, at once.
    async fn send_message(&self, _session: &str, _text: String) -> Result<(), BridgeError> {
        nothing()
    }

    /// Keeps something that an extension has logged, or the host of it. Must not block.
    fn log(&self, _extension: &str, _record: LogRecord) {}

    /// Whether [`called`](Self::called) wants to know.
    fn watches(&self) -> bool {
        false
    }

    /// A guest has made a call, which may have been refused: told before the guest has its answer. Requests over the network
    /// are told where their answers come from.
    fn called(&self, _call: GuestCall) {}

    /// What is kept of an extension's health, as JSON, and how long ago that was, in milliseconds.
    async fn health(&self, _extension: &str) -> Result<Option<(String, u64)>, BridgeError> {
        Ok(None)
    }

    /// Keeps an extension's health.
    async fn keep_health(&self, _extension: &str, _health: &str) -> Result<(), BridgeError> {
        Ok(())
    }
}

/// A call that a guest made of the host, for who watches.
#[derive(Clone, Debug, PartialEq)]
pub struct GuestCall {
    /// The interface and the function, in the contract's words: `storage.set`.
    pub function: &'static str,
    /// In order. Bytes are a text if they are UTF-8, else a list of numbers.
    pub arguments: Vec<Json>,
    /// Why it was not done: the contract's variant, as JSON.
    pub error: Option<Json>,
}

/// A message as extensions see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BridgeMessage {
    /// Its id.
    pub id: String,
    /// `user`, `assistant` or `system`.
    pub role: String,
    /// Its text parts, joined.
    pub content: String,
}

/// Why the host did not do what a guest asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BridgeError {
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// It would be larger than a limit.
    #[error("{0}")]
    TooLarge(String),
    /// The guest's own request makes no sense.
    #[error("{0}")]
    Failed(String),
}

/// A bridge with nothing behind it, for `describe`: every call fails.
pub(super) struct NoBridge;

fn nothing<T>() -> Result<T, BridgeError> {
    Err(BridgeError::Failed("there is no storage while the extension is described".into()))
}

impl Bridge for NoBridge {}
