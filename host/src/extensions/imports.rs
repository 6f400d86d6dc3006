//! What guests import beyond WASI. Rights are checked here, and nowhere later.

use super::bindings::lathe::extension as wit;
use super::bridge::{BridgeError, GuestCall};
use super::log::{LogLevel, LogSource};
use super::state::{LogLimits, State};
use crate::turn::Json;

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
        let call = self.watch("log.log", || vec![word(level).into(), message.as_str().into()]);
        self.told(call, &Ok(()));
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
        let call = self.watch("settings.get", Vec::new);
        self.told(call, &Ok(()));
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

fn word(level: wit::log::Level) -> &'static str {
    match level {
        wit::log::Level::Trace => "trace",
        wit::log::Level::Debug => "debug",
        wit::log::Level::Info => "info",
        wit::log::Level::Warn => "warn",
        wit::log::Level::Error => "error",
    }
}

fn within(what: &str, limit: usize, bytes: usize) -> Answer<()> {
    if bytes <= limit {
        return Ok(());
    }
    Err(wit::bridge_error::Error::TooLarge(format!("{what} has at most {limit} bytes, not {bytes}")))
}

impl State {
    /// A call, if somebody watches; else nothing is copied.
    fn watch(&self, function: &'static str, arguments: impl FnOnce() -> Vec<Json>) -> Option<GuestCall> {
        self.bridge.watches().then(|| GuestCall { function, arguments: arguments(), error: None })
    }

    /// Tells who watches of a call.
    fn told<T>(&self, call: Option<GuestCall>, answer: &Answer<T>) {
        let Some(mut call) = call else { return };
        call.error = answer.as_ref().err().map(|error| serde_json::to_value(error).unwrap_or_default());
        self.bridge.called(call);
    }
}

impl wit::storage::Host for State {
    async fn get(&mut self, key: String) -> Answer<Option<Vec<u8>>> {
        let call = self.watch("storage.get", || vec![key.as_str().into()]);
        let this = &mut *self;
        let answer = async move { Ok(this.bridge.storage_get(&this.identity.extension, &key).await?) }.await;
        self.told(call, &answer);
        answer
    }

    async fn set(&mut self, key: String, value: Vec<u8>) -> Answer<()> {
        let call = self.watch("storage.set", || vec![key.as_str().into(), bytes(&value)]);
        let this = &mut *self;
        let answer = async move {
            within("a key", KEY_BYTES, key.len())?;
            Ok(this
                .bridge
                .storage_set(&this.identity.extension, &key, value, this.identity.storage_bytes)
                .await?)
        }
        .await;
        self.told(call, &answer);
        answer
    }

    async fn delete(&mut self, key: String) -> Answer<bool> {
        let call = self.watch("storage.delete", || vec![key.as_str().into()]);
        let this = &mut *self;
        let answer =
            async move { Ok(this.bridge.storage_delete(&this.identity.extension, &key).await?) }.await;
        self.told(call, &answer);
        answer
    }

    async fn keys(&mut self, prefix: String) -> Answer<Vec<String>> {
        let call = self.watch("storage.keys", || vec![prefix.as_str().into()]);
        let this = &mut *self;
        let answer =
            async move { Ok(this.bridge.storage_keys(&this.identity.extension, &prefix).await?) }.await;
        self.told(call, &answer);
        answer
    }

    async fn increment(&mut self, key: String, delta: i64) -> Answer<i64> {
        let call = self.watch("storage.increment", || vec![key.as_str().into(), delta.into()]);
        let this = &mut *self;
        let answer = async move {
            within("a key", KEY_BYTES, key.len())?;
            Ok(this
                .bridge
                .storage_increment(&this.identity.extension, &key, delta, this.identity.storage_bytes)
                .await?)
        }
        .await;
        self.told(call, &answer);
        answer
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
        let call = self.watch("context.get", || vec![label.as_str().into()]);
        let this = &mut *self;
        let answer = async move {
            this.check(this.identity.rights.grant.reads(&label), &right("context-read", &label))?;
            Ok(this.bridge.context_get(&this.identity.session, &label).await?)
        }
        .await;
        self.told(call, &answer);
        answer
    }

    async fn set(&mut self, label: String, text: String) -> Answer<()> {
        let call = self.watch("context.set", || vec![label.as_str().into(), text.as_str().into()]);
        let this = &mut *self;
        let answer = async move {
            let rights = &this.identity.rights;
            this.check(
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
            Ok(this.bridge.context_set(&this.identity.session, &label, text, own.is_some()).await?)
        }
        .await;
        self.told(call, &answer);
        answer
    }
}

/// Bytes for who watches.
fn bytes(value: &[u8]) -> Json {
    str::from_utf8(value).map_or_else(|_| value.into(), Json::from)
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
        let call = self.watch("messages.recent", || vec![limit.into()]);
        let this = &mut *self;
        let answer = async move {
            this.check(this.identity.rights.grant.messages, "`messages`")?;
            let limit = usize::try_from(limit.min(MESSAGES)).unwrap_or(usize::MAX);
            let messages = this.bridge.messages(&this.identity.session, limit).await?;
            let message = |message: crate::extensions::BridgeMessage| wit::messages::Message {
                id: message.id,
                role: message.role,
                content: message.content,
            };
            Ok(messages.into_iter().map(message).collect())
        }
        .await;
        self.told(call, &answer);
        answer
    }
}

impl wit::session::Host for State {
    async fn info(&mut self) -> Answer<wit::session::SessionInfo> {
        let call = self.watch("session.info", Vec::new);
        let this = &mut *self;
        let answer = async move {
            this.check(this.identity.rights.grant.session_info, "`session-info`")?;
            let name = this.identity.session.to_string();
            let count = this.bridge.message_count(&name).await?;
            Ok(wit::session::SessionInfo { name, message_count: u32::try_from(count).unwrap_or(u32::MAX) })
        }
        .await;
        self.told(call, &answer);
        answer
    }

    async fn send_message(&mut self, text: String) -> Answer<()> {
        let call = self.watch("session.send-message", || vec![text.as_str().into()]);
        let this = &mut *self;
        let answer = async move {
            this.check(this.identity.rights.grant.send_message, "`send-message`")?;
            within("a message", MESSAGE_BYTES, text.len())?;
            if this.sent == SENT {
                return Err(wit::bridge_error::Error::TooLarge(format!(
                    "an instance adds at most {SENT} messages"
                )));
            }
            this.sent += 1;
            Ok(this.bridge.send_message(&this.identity.session, text).await?)
        }
        .await;
        self.told(call, &answer);
        answer
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
