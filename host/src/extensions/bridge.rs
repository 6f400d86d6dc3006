use async_trait::async_trait;

/// What the host does for a guest beyond WASI, by extension. Implemented where the store is known.
#[async_trait]
pub trait Bridge: Send + Sync {
    /// The value of a key.
    async fn storage_get(&self, extension: &str, key: &str) -> Result<Option<Vec<u8>>, BridgeError>;

    /// Sets a key, if all keys and values together stay within `limit` bytes.
    async fn storage_set(
        &self,
        extension: &str,
        key: &str,
        value: Vec<u8>,
        limit: u64,
    ) -> Result<(), BridgeError>;

    /// Removes a key; false if there was none.
    async fn storage_delete(&self, extension: &str, key: &str) -> Result<bool, BridgeError>;

    /// The keys that start with `prefix`, sorted.
    async fn storage_keys(&self, extension: &str, prefix: &str) -> Result<Vec<String>, BridgeError>;

    /// Adds to a whole number in one step and returns the sum; a new key counts against `limit`.
    async fn storage_increment(
        &self,
        extension: &str,
        key: &str,
        delta: i64,
        limit: u64,
    ) -> Result<i64, BridgeError>;

    /// What is kept of an extension's health, as JSON, and how long ago that was, in milliseconds.
    async fn health(&self, extension: &str) -> Result<Option<(String, u64)>, BridgeError>;

    /// Keeps an extension's health.
    async fn keep_health(&self, extension: &str, health: &str) -> Result<(), BridgeError>;
}

/// Why the host did not do what a guest asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BridgeError {
    /// It would be larger than a limit.
    #[error("{0}")]
    TooLarge(String),
    /// The guest's own request makes no sense.
    #[error("{0}")]
    Failed(String),
}

/// A bridge with nothing behind it, for `describe`: every call fails.
pub(super) struct NoBridge;

const NOTHING: &str = "there is no storage while the extension is described";

#[async_trait]
impl Bridge for NoBridge {
    async fn storage_get(&self, _: &str, _: &str) -> Result<Option<Vec<u8>>, BridgeError> {
        Err(BridgeError::Failed(NOTHING.into()))
    }

    async fn storage_set(&self, _: &str, _: &str, _: Vec<u8>, _: u64) -> Result<(), BridgeError> {
        Err(BridgeError::Failed(NOTHING.into()))
    }

    async fn storage_delete(&self, _: &str, _: &str) -> Result<bool, BridgeError> {
        Err(BridgeError::Failed(NOTHING.into()))
    }

    async fn storage_keys(&self, _: &str, _: &str) -> Result<Vec<String>, BridgeError> {
        Err(BridgeError::Failed(NOTHING.into()))
    }

    async fn storage_increment(&self, _: &str, _: &str, _: i64, _: u64) -> Result<i64, BridgeError> {
        Err(BridgeError::Failed(NOTHING.into()))
    }

    async fn health(&self, _: &str) -> Result<Option<(String, u64)>, BridgeError> {
        Ok(None)
    }

    async fn keep_health(&self, _: &str, _: &str) -> Result<(), BridgeError> {
        Ok(())
    }
}
