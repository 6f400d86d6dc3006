use std::sync::Arc;

use async_trait::async_trait;

use uuid::Uuid;

use crate::extensions::{Bridge, BridgeError, BridgeMessage, LogRecord};
use crate::logs::Logs;
use crate::session::ContextBlock;
use crate::store::{Increment, Store, StoreError};
use crate::turn::{UiMessage, UiRole};

/// What guests reach beyond WASI, with the store behind it.
pub(crate) struct StoreBridge {
    store: Arc<dyn Store>,
    logs: Option<Logs>,
    /// The agent's context blocks.
    blocks: Vec<ContextBlock>,
}

impl StoreBridge {
    /// What extensions log is kept in `logs`, if there is such.
    pub(crate) fn new(store: Arc<dyn Store>, logs: Option<Logs>) -> Self {
        Self { store, logs, blocks: Vec::new() }
    }

    /// Among these context blocks, whose limits hold for extensions too.
    pub(crate) fn with_blocks(self, blocks: Vec<ContextBlock>) -> Self {
        Self { blocks, ..self }
    }
}

/// A guest learns that it failed; what exactly, with its paths, is for the operator.
fn failed(error: &StoreError) -> BridgeError {
    tracing::error!("a call of an extension: {error}");
    BridgeError::Failed("the host's database failed".into())
}

fn full(limit: u64) -> BridgeError {
    BridgeError::TooLarge(format!("keys and values may have {limit} bytes together"))
}

#[async_trait]
impl Bridge for StoreBridge {
    async fn storage_get(&self, extension: &str, key: &str) -> Result<Option<Vec<u8>>, BridgeError> {
        self.store.value(extension, key).await.map_err(|error| failed(&error))
    }

    async fn storage_set(
        &self,
        extension: &str,
        key: &str,
        value: Vec<u8>,
        limit: u64,
    ) -> Result<(), BridgeError> {
        match self.store.set_value(extension, key, &value, limit).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(full(limit)),
            Err(error) => Err(failed(&error)),
        }
    }

    async fn storage_delete(&self, extension: &str, key: &str) -> Result<bool, BridgeError> {
        self.store.delete_value(extension, key).await.map_err(|error| failed(&error))
    }

    async fn storage_keys(&self, extension: &str, prefix: &str) -> Result<Vec<String>, BridgeError> {
        self.store.keys(extension, prefix).await.map_err(|error| failed(&error))
    }

    async fn storage_increment(
        &self,
        extension: &str,
        key: &str,
        delta: i64,
        limit: u64,
    ) -> Result<i64, BridgeError> {
        match self.store.increment(extension, key, delta, limit).await {
            Ok(Increment::Sum(sum)) => Ok(sum),
            Ok(Increment::Full) => Err(full(limit)),
            Ok(Increment::NotANumber) => {
                Err(BridgeError::Failed(format!("\"{key}\" holds no whole number, or the sum would not fit")))
            }
            Err(error) => Err(failed(&error)),
        }
    }

    async fn context_get(&self, session: &str, label: &str) -> Result<Option<String>, BridgeError> {
        self.store.context(session, label).await.map_err(|error| failed(&error))
    }

    async fn context_set(
        &self,
        session: &str,
        label: &str,
        text: String,
        create: bool,
    ) -> Result<(), BridgeError> {
        if let Some(block) = self.blocks.iter().find(|block| block.label() == label) {
            block.fits(&text).map_err(|error| BridgeError::TooLarge(error.to_string()))?;
        }
        match self.store.set_context(session, label, &text, create).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(BridgeError::NotFound(format!("there is no context block \"{label}\""))),
            Err(error) => Err(failed(&error)),
        }
    }

    async fn messages(&self, session: &str, limit: usize) -> Result<Vec<BridgeMessage>, BridgeError> {
        let messages = self.store.messages(session).await.map_err(|error| failed(&error))?;
        let skip = messages.len().saturating_sub(limit);
        Ok(messages.into_iter().skip(skip).map(BridgeMessage::from).collect())
    }

    async fn message_count(&self, session: &str) -> Result<usize, BridgeError> {
        Ok(self.store.messages(session).await.map_err(|error| failed(&error))?.len())
    }

    async fn send_message(&self, session: &str, text: String) -> Result<(), BridgeError> {
        let message = UiMessage::user(Uuid::now_v7().to_string(), text);
        self.store.put(session, &message, None).await.map_err(|error| failed(&error))
    }

    fn log(&self, extension: &str, record: LogRecord) {
        if let Some(logs) = &self.logs {
            logs.log(extension, record);
        }
    }

    async fn health(&self, extension: &str) -> Result<Option<(String, u64)>, BridgeError> {
        self.store.health(extension).await.map_err(|error| failed(&error))
    }

    async fn keep_health(&self, extension: &str, health: &str) -> Result<(), BridgeError> {
        self.store.set_health(extension, health).await.map_err(|error| failed(&error))
    }
}

impl From<UiMessage> for BridgeMessage {
    fn from(message: UiMessage) -> Self {
        let role = match message.role {
            UiRole::System => "system",
            UiRole::User => "user",
            UiRole::Assistant => "assistant",
        };
        Self { content: message.text(), role: role.to_owned(), id: message.id }
    }
}
