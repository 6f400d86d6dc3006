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

    /// The text of a session's context block; none if there is no such block.
    async fn context_get(&self, session: &str, label: &str) -> Result<Option<String>, BridgeError>;

    /// Sets the text of a session's context block. One that is not there is made if `create` says so.
    async fn context_set(
        &self,
        session: &str,
        label: &str,
        text: String,
        create: bool,
    ) -> Result<(), BridgeError>;

    /// The last `limit` messages of a session, oldest first.
    async fn messages(&self, session: &str, limit: usize) -> Result<Vec<BridgeMessage>, BridgeError>;

    /// How many messages a session has.
    async fn message_count(&self, session: &str) -> Result<usize, BridgeError>;

    /// Adds a user message to a session, at once.
    async fn send_message(&self, session: &str, text: String) -> Result<(), BridgeError>;
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

#[async_trait]
impl Bridge for NoBridge {
    async fn storage_get(&self, _: &str, _: &str) -> Result<Option<Vec<u8>>, BridgeError> {
        nothing()
    }

    async fn storage_set(&self, _: &str, _: &str, _: Vec<u8>, _: u64) -> Result<(), BridgeError> {
        nothing()
    }

    async fn storage_delete(&self, _: &str, _: &str) -> Result<bool, BridgeError> {
        nothing()
    }

    async fn storage_keys(&self, _: &str, _: &str) -> Result<Vec<String>, BridgeError> {
        nothing()
    }

    async fn storage_increment(&self, _: &str, _: &str, _: i64, _: u64) -> Result<i64, BridgeError> {
        nothing()
    }

    async fn context_get(&self, _: &str, _: &str) -> Result<Option<String>, BridgeError> {
        nothing()
    }

    async fn context_set(&self, _: &str, _: &str, _: String, _: bool) -> Result<(), BridgeError> {
        nothing()
    }

    async fn messages(&self, _: &str, _: usize) -> Result<Vec<BridgeMessage>, BridgeError> {
        nothing()
    }

    async fn message_count(&self, _: &str) -> Result<usize, BridgeError> {
        nothing()
    }

    async fn send_message(&self, _: &str, _: String) -> Result<(), BridgeError> {
        nothing()
    }
}
