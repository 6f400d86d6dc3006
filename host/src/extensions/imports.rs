//! What guests import beyond WASI. Rights are checked here, and nowhere later.

use super::bindings::lathe::extension as wit;
use super::bridge::BridgeError;
use super::log::{LogLevel, LogSource};
use super::state::{LogLimits, State};

/// Bytes of a storage key.
const KEY_BYTES: usize = 512;

/// Bytes of a context block. 64 KiB: far more than anyone wants in a system prompt.
const BLOCK_BYTES: usize = 64 << 10;

/// Bytes of a message that a guest adds. 64 KiB, as above.
const MESSAGE_BYTES: usize = 64 << 10;

/// Messages that an instance adds. 16: a turn that needs more has lost its way.
const SENT: u32 = 16;

/// Messages that a guest reads at once. 1,000: a long conversation.
const MESSAGES: u32 = 1_000;

impl wit::types::Host for State {}

impl wit::bridge_error::Host for State {}

impl wit::log::Host for State {
    async fn log(&mut self, level: wit::log::Level, mut message: String) {
        let LogLimits { records, bytes } = self.log;
        self.log_records = self.log_records.saturating_add(1);
        if self.log_records > records {
            return;
        }
        if message.len() > bytes {
            message.truncate(message.floor_char_boundary(bytes));
            message.push('…');
        }
        let extension = &*self.identity.extension;
        match level {
            wit::log::Level::Trace => tracing::trace!(target: "lathe::guest", extension, "{message}"),
            wit::log::Level::Debug => tracing::debug!(target: "lathe::guest", extension, "{message}"),
            wit::log::Level::Info => tracing::info!(target: "lathe::guest", extension, "{message}"),
            wit::log::Level::Warn => tracing::warn!(target: "lathe::guest", extension, "{message}"),
            wit::log::Level::Error => tracing::error!(target: "lathe::guest", extension, "{message}"),
        }
        let level = match level {
            wit::log::Level::Trace => LogLevel::Trace,
            wit::log::Level::Debug => LogLevel::Debug,
            wit::log::Level::Info => LogLevel::Info,
            wit::log::Level::Warn => LogLevel::Warn,
            wit::log::Level::Error => LogLevel::Error,
        };
        self.logger.log(level, LogSource::Guest, message);
        if self.log_records == records {
            let last = format!("that was log record {records}: further ones are dropped");
            tracing::warn!(target: "lathe::guest", extension, "{last}");
            self.logger.log(LogLevel::Warn, LogSource::Host, last);
        }
    }
}

impl wit::settings::Host for State {
    async fn get(&mut self) -> String {
        self.identity.settings.to_string()
    }
}

impl From<BridgeError> for wit::bridge_error::Error {
    fn from(error: BridgeError) -> Self {
        match error {
            BridgeError::NotFound(text) => Self::NotFound(text),
            BridgeError::TooLarge(text) => Self::TooLarge(text),
            BridgeError::Failed(text) => Self::Failed(text),
        }
    }
}

type Answer<T> = Result<T, wit::bridge_error::Error>;

fn within(what: &str, limit: usize, bytes: usize) -> Answer<()> {
    if bytes <= limit {
        return Ok(());
    }
    Err(wit::bridge_error::Error::TooLarge(format!("{what} has at most {limit} bytes, not {bytes}")))
}

impl wit::storage::Host for State {
    async fn get(&mut self, key: String) -> Answer<Option<Vec<u8>>> {
        Ok(self.bridge.storage_get(&self.identity.extension, &key).await?)
    }

    async fn set(&mut self, key: String, value: Vec<u8>) -> Answer<()> {
        within("a key", KEY_BYTES, key.len())?;
        Ok(self
            .bridge
            .storage_set(&self.identity.extension, &key, value, self.identity.storage_bytes)
            .await?)
    }

    async fn delete(&mut self, key: String) -> Answer<bool> {
        Ok(self.bridge.storage_delete(&self.identity.extension, &key).await?)
    }

    async fn keys(&mut self, prefix: String) -> Answer<Vec<String>> {
        Ok(self.bridge.storage_keys(&self.identity.extension, &prefix).await?)
    }

    async fn increment(&mut self, key: String, delta: i64) -> Answer<i64> {
        within("a key", KEY_BYTES, key.len())?;
        Ok(self
            .bridge
            .storage_increment(&self.identity.extension, &key, delta, self.identity.storage_bytes)
            .await?)
    }
}

impl State {
    /// Lets a call through if its right takes effect.
    fn check(&self, granted: bool, right: &str) -> Answer<()> {
        if granted {
            return Ok(());
        }
        self.denials.note(&format!("a call was refused: {right} is not granted"));
        Err(wit::bridge_error::Error::Denied(format!("{right} is not granted")))
    }
}

impl wit::context::Host for State {
    async fn get(&mut self, label: String) -> Answer<Option<String>> {
        self.check(self.identity.rights.grant.reads(&label), &right("context-read", &label))?;
        Ok(self.bridge.context_get(&self.identity.session, &label).await?)
    }

    async fn set(&mut self, label: String, text: String) -> Answer<()> {
        let rights = &self.identity.rights;
        self.check(
            rights.grant.writes(&label),
            &format!("`context-write` for \"{}\"", label.escape_debug()),
        )?;
        within("a context block", BLOCK_BYTES, text.len())?;
        let own = rights.blocks.get(&label);
        if let Some(&Some(limit)) = own
            && tokens(&text) > limit
        {
            return Err(wit::bridge_error::Error::TooLarge(format!(
                "\"{label}\" has at most {limit} tokens, not about {}",
                tokens(&text)
            )));
        }
        Ok(self.bridge.context_set(&self.identity.session, &label, text, own.is_some()).await?)
    }
}

/// A right over one label, in words. The label is a guest's.
fn right(name: &str, label: &str) -> String {
    format!("`{name}` for \"{}\"", label.escape_debug())
}

/// About so many tokens, as Think counts them: a quarter of the characters or 1.3 a word, whichever is more.
fn tokens(text: &str) -> u32 {
    let characters = text.chars().count().div_ceil(4);
    let words = (text.split_whitespace().count() * 13).div_ceil(10);
    u32::try_from(characters.max(words)).unwrap_or(u32::MAX)
}

impl wit::messages::Host for State {
    async fn recent(&mut self, limit: u32) -> Answer<Vec<wit::messages::Message>> {
        self.check(self.identity.rights.grant.messages, "`messages`")?;
        let limit = usize::try_from(limit.min(MESSAGES)).unwrap_or(usize::MAX);
        let messages = self.bridge.messages(&self.identity.session, limit).await?;
        let message = |message: crate::extensions::BridgeMessage| wit::messages::Message {
            id: message.id,
            role: message.role,
            content: message.content,
        };
        Ok(messages.into_iter().map(message).collect())
    }
}

impl wit::session::Host for State {
    async fn info(&mut self) -> Answer<wit::session::SessionInfo> {
        self.check(self.identity.rights.grant.session_info, "`session-info`")?;
        let name = self.identity.session.to_string();
        let count = self.bridge.message_count(&name).await?;
        Ok(wit::session::SessionInfo { name, message_count: u32::try_from(count).unwrap_or(u32::MAX) })
    }

    async fn send_message(&mut self, text: String) -> Answer<()> {
        self.check(self.identity.rights.grant.send_message, "`send-message`")?;
        within("a message", MESSAGE_BYTES, text.len())?;
        if self.sent == SENT {
            return Err(wit::bridge_error::Error::TooLarge(format!(
                "an instance adds at most {SENT} messages"
            )));
        }
        self.sent += 1;
        Ok(self.bridge.send_message(&self.identity.session, text).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_estimated_as_think_does() {
        for (text, count) in [("", 0), ("abcd", 2), ("abcdefghij", 3), ("a b c d", 6)] {
            assert_eq!(tokens(text), count, "{text}");
        }
    }
}
