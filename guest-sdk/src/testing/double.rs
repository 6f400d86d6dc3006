//! The imports of the component, with the same signatures as the generated ones.

pub(crate) mod log {
    use crate::testing::{Level, Record, STATE};

    pub(crate) fn log(level: Level, message: &str) {
        let message = message.to_owned();
        STATE.with_borrow_mut(|state| state.log.push(Record { level, message }));
    }
}

pub(crate) mod settings {
    use crate::testing::STATE;

    pub(crate) fn get() -> String {
        STATE.with_borrow(|state| state.settings.clone())
    }
}

pub(crate) mod storage {
    use crate::bindings::lathe::extension::bridge_error::Error;
    use crate::testing::STATE;

    pub(crate) fn get(key: &str) -> Result<Option<Vec<u8>>, Error> {
        Ok(STATE.with_borrow(|state| state.storage.get(key).cloned()))
    }

    pub(crate) fn set(key: &str, value: &[u8]) -> Result<(), Error> {
        if key.len() > 512 {
            return Err(Error::TooLarge("a key has at most 512 bytes".to_owned()));
        }
        STATE.with_borrow_mut(|state| state.storage.insert(key.to_owned(), value.to_vec()));
        Ok(())
    }

    pub(crate) fn delete(key: &str) -> Result<bool, Error> {
        Ok(STATE.with_borrow_mut(|state| state.storage.remove(key).is_some()))
    }

    pub(crate) fn keys(prefix: &str) -> Result<Vec<String>, Error> {
        let fits = |key: &&String| key.starts_with(prefix);
        Ok(STATE.with_borrow(|state| state.storage.keys().filter(fits).cloned().collect()))
    }

    pub(crate) fn increment(key: &str, delta: i64) -> Result<i64, Error> {
        let number = match get(key)? {
            None => 0,
            Some(bytes) => str::from_utf8(&bytes)
                .ok()
                .and_then(|text| text.parse::<i64>().ok())
                .ok_or_else(|| Error::Failed(format!("`{key}` holds no whole number")))?,
        };
        let sum =
            number.checked_add(delta).ok_or_else(|| Error::TooLarge(format!("`{key}` would overflow")))?;
        set(key, sum.to_string().as_bytes())?;
        Ok(sum)
    }
}

pub(crate) mod context {
    use crate::bindings::lathe::extension::bridge_error::Error;
    use crate::testing::STATE;

    pub(crate) fn get(label: &str) -> Result<Option<String>, Error> {
        Ok(STATE.with_borrow(|state| state.context.get(label).cloned()))
    }

    pub(crate) fn set(label: &str, text: &str) -> Result<(), Error> {
        STATE.with_borrow_mut(|state| match state.context.get_mut(label) {
            Some(block) => {
                text.clone_into(block);
                Ok(())
            }
            None => Err(Error::NotFound(format!("no context block `{label}`"))),
        })
    }
}

pub(crate) mod messages {
    use crate::bindings::lathe::extension::bridge_error::Error;
    use crate::messages::Message;
    use crate::testing::STATE;

    pub(crate) fn recent(limit: u32) -> Result<Vec<Message>, Error> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(STATE.with_borrow(|state| {
            let skip = state.messages.len().saturating_sub(limit);
            state.messages[skip..].to_vec()
        }))
    }
}

pub(crate) mod session {
    use crate::bindings::lathe::extension::bridge_error::Error;
    use crate::session::SessionInfo;
    use crate::testing::STATE;

    pub(crate) fn info() -> Result<SessionInfo, Error> {
        let count = STATE.with_borrow(|state| state.messages.len());
        Ok(SessionInfo { name: "test".to_owned(), message_count: u32::try_from(count).unwrap_or(u32::MAX) })
    }

    pub(crate) fn send_message(text: &str) -> Result<(), Error> {
        STATE.with_borrow_mut(|state| state.add_message("user", text));
        Ok(())
    }
}
