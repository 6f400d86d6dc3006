//! The imports of the component, with the same signatures as the generated ones and the answers of the host.

use serde_json::Value;

use super::STATE;
use super::call::Call;
use super::state::State;
use crate::bindings::lathe::extension::bridge_error::Error;

type Answer<T> = Result<T, Error>;

/// Does what was asked, and writes it down.
fn record<T>(function: &str, arguments: Vec<Value>, work: impl FnOnce(&mut State) -> Answer<T>) -> Answer<T> {
    STATE.with_borrow_mut(|state| {
        let answer = work(state);
        let error = answer.as_ref().err().cloned().map(Into::into);
        state.calls.push(Call { function: function.to_owned(), arguments, error });
        answer
    })
}

fn within(what: &str, limit: usize, bytes: usize) -> Answer<()> {
    if bytes <= limit {
        return Ok(());
    }
    Err(Error::TooLarge(format!("{what} has at most {limit} bytes, not {bytes}")))
}

pub(crate) mod log {
    use crate::testing::{Level, Record, level_name};

    pub(crate) fn log(level: Level, message: &str) {
        let _ = super::record("log.log", vec![level_name(level).into(), message.into()], |state| {
            state.log.push(Record { level, message: message.to_owned() });
            Ok(())
        });
    }
}

pub(crate) mod settings {
    pub(crate) fn get() -> String {
        super::record("settings.get", Vec::new(), |state| Ok(state.settings.clone())).unwrap_or_default()
    }
}

pub(crate) mod storage {
    use super::{Answer, record, within};
    use crate::testing::call::bytes;
    use crate::testing::state::STORAGE_BYTES;

    const KEY_BYTES: usize = 512;

    pub(crate) fn get(key: &str) -> Answer<Option<Vec<u8>>> {
        record("storage.get", vec![key.into()], |state| Ok(state.storage.get(key).cloned()))
    }

    pub(crate) fn set(key: &str, value: &[u8]) -> Answer<()> {
        record("storage.set", vec![key.into(), bytes(value)], |state| {
            within("a key", KEY_BYTES, key.len())?;
            state.storage_set(key, value, STORAGE_BYTES)
        })
    }

    pub(crate) fn delete(key: &str) -> Answer<bool> {
        record("storage.delete", vec![key.into()], |state| Ok(state.storage.remove(key).is_some()))
    }

    pub(crate) fn keys(prefix: &str) -> Answer<Vec<String>> {
        record("storage.keys", vec![prefix.into()], |state| Ok(state.storage_keys(prefix)))
    }

    pub(crate) fn increment(key: &str, delta: i64) -> Answer<i64> {
        record("storage.increment", vec![key.into(), delta.into()], |state| {
            within("a key", KEY_BYTES, key.len())?;
            state.storage_increment(key, delta, STORAGE_BYTES)
        })
    }
}

pub(crate) mod context {
    use super::{Answer, Error, record, within};

    pub(crate) fn get(label: &str) -> Answer<Option<String>> {
        record("context.get", vec![label.into()], |state| {
            state.rights.read(label)?;
            Ok(state.context.get(label).cloned())
        })
    }

    pub(crate) fn set(label: &str, text: &str) -> Answer<()> {
        record("context.set", vec![label.into(), text.into()], |state| {
            state.rights.write(label)?;
            within("a context block", 64 << 10, text.len())?;
            let block = state.rights.block(label);
            if let Some(Some(limit)) = block
                && tokens(text) > limit
            {
                return Err(Error::TooLarge(format!(
                    "\"{label}\" has at most {limit} tokens, not about {}",
                    tokens(text)
                )));
            }
            state.context_set(label, text, block.is_some())
        })
    }

    /// As the host counts them: a quarter of the characters or 1.3 a word, whichever is more.
    fn tokens(text: &str) -> u32 {
        let characters = text.chars().count().div_ceil(4);
        let words = (text.split_whitespace().count() * 13).div_ceil(10);
        u32::try_from(characters.max(words)).unwrap_or(u32::MAX)
    }
}

pub(crate) mod messages {
    use super::{Answer, record};
    use crate::messages::Message;

    pub(crate) fn recent(limit: u32) -> Answer<Vec<Message>> {
        record("messages.recent", vec![limit.into()], |state| {
            state.rights.messages()?;
            Ok(state.recent(usize::try_from(limit.min(1_000)).unwrap_or(usize::MAX)))
        })
    }
}

pub(crate) mod session {
    use super::{Answer, record, within};
    use crate::session::SessionInfo;
    use crate::testing::SESSION;

    pub(crate) fn info() -> Answer<SessionInfo> {
        record("session.info", Vec::new(), |state| {
            state.rights.session_info()?;
            let message_count = u32::try_from(state.messages.len()).unwrap_or(u32::MAX);
            Ok(SessionInfo { name: SESSION.to_owned(), message_count })
        })
    }

    pub(crate) fn send_message(text: &str) -> Answer<()> {
        record("session.send-message", vec![text.into()], |state| {
            state.rights.send_message()?;
            within("a message", 64 << 10, text.len())?;
            state.add_message("user", text);
            Ok(())
        })
    }
}

#[cfg(feature = "http")]
pub(crate) mod http {
    use super::{Answer, Error, record};
    use crate::testing::call::bytes;
    use crate::testing::reply::Reply;

    pub(crate) fn send(request: &http::Request<Vec<u8>>) -> Answer<Reply> {
        let (method, uri) = (request.method().as_str(), request.uri().to_string());
        let arguments = vec![method.into(), uri.as_str().into(), bytes(request.body())];
        record("http.send", arguments, |state| {
            // As a grant of a host without more: with TLS, and on the port for it.
            let secure = request.uri().scheme() == Some(&http::uri::Scheme::HTTPS)
                && request.uri().port_u16().is_none_or(|port| port == 443);
            if !secure || !state.rights.reaches(request.uri().host().unwrap_or_default()) {
                return Err(Error::Denied(format!("{uri}: the request is not granted")));
            }
            state.reply(method, &uri).map_err(Error::Failed)
        })
    }
}
