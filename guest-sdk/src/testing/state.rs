//! What the host of a test holds, and does for an extension that may have it done.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::call::Call;
use super::reply::Reply;
use super::rights::Rights;
use crate::bindings::lathe::extension::bridge_error::Error;
use crate::bindings::lathe::extension::log::Level;
use crate::messages::Message;

/// What keys and values may have together, unless the operator sets another limit.
pub(crate) const STORAGE_BYTES: u64 = 16 << 20;

/// A line that the extension logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// How loud it is.
    pub level: Level,
    /// What it says.
    pub message: String,
}

pub(crate) struct State {
    pub(crate) settings: String,
    pub(crate) storage: BTreeMap<String, Vec<u8>>,
    pub(crate) context: BTreeMap<String, String>,
    pub(crate) messages: Vec<Message>,
    pub(crate) replies: BTreeMap<String, Reply>,
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) rights: Rights,
    pub(crate) log: Vec<Record>,
    pub(crate) calls: Vec<Call>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            settings: "{}".to_owned(),
            storage: BTreeMap::new(),
            context: BTreeMap::new(),
            messages: Vec::new(),
            replies: BTreeMap::new(),
            workspace: None,
            rights: Rights::default(),
            log: Vec::new(),
            calls: Vec::new(),
        }
    }
}

type Answer<T> = Result<T, Error>;

impl State {
    pub(crate) fn storage_set(&mut self, key: &str, value: &[u8], limit: u64) -> Answer<()> {
        let others = self.storage.iter().filter(|(other, _)| *other != key);
        let others: usize = others.map(|(key, value)| key.len() + value.len()).sum();
        if (others + key.len() + value.len()) as u64 > limit {
            return Err(Error::TooLarge(format!("keys and values may have {limit} bytes together")));
        }
        self.storage.insert(key.to_owned(), value.to_vec());
        Ok(())
    }

    pub(crate) fn storage_keys(&self, prefix: &str) -> Vec<String> {
        self.storage.keys().filter(|key| key.starts_with(prefix)).cloned().collect()
    }

    pub(crate) fn storage_increment(&mut self, key: &str, delta: i64, limit: u64) -> Answer<i64> {
        let number = match self.storage.get(key) {
            None => Some(0),
            Some(bytes) => str::from_utf8(bytes).ok().and_then(|text| text.parse::<i64>().ok()),
        };
        let sum = number.and_then(|number| number.checked_add(delta)).ok_or_else(|| {
            Error::Failed(format!("\"{key}\" holds no whole number, or the sum would not fit"))
        })?;
        self.storage_set(key, sum.to_string().as_bytes(), limit)?;
        Ok(sum)
    }

    pub(crate) fn context_set(&mut self, label: &str, text: &str, create: bool) -> Answer<()> {
        if !create && !self.context.contains_key(label) {
            return Err(Error::NotFound(format!("there is no context block \"{label}\"")));
        }
        self.context.insert(label.to_owned(), text.to_owned());
        Ok(())
    }

    pub(crate) fn recent(&self, limit: usize) -> Vec<Message> {
        let skip = self.messages.len().saturating_sub(limit);
        self.messages.iter().skip(skip).cloned().collect()
    }

    pub(crate) fn add_message(&mut self, role: &str, content: &str) {
        let id = format!("message-{}", self.messages.len());
        self.messages.push(Message { id, role: role.to_owned(), content: content.to_owned() });
    }

    /// The answer to a request. What no test has set is a server that is not there.
    pub(crate) fn reply(&self, method: &str, url: &str) -> Result<Reply, String> {
        let set = self.replies.get(&format!("{method} {url}")).cloned();
        set.ok_or_else(|| format!("the test has set no answer to {method} {url}"))
    }
}
