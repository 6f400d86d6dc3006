//! What the host of a test holds.

use std::collections::BTreeMap;

use crate::bindings::lathe::extension::log::Level;
use crate::messages::Message;

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
    pub(crate) log: Vec<Record>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            settings: "{}".to_owned(),
            storage: BTreeMap::new(),
            context: BTreeMap::new(),
            messages: Vec::new(),
            log: Vec::new(),
        }
    }
}

impl State {
    pub(crate) fn add_message(&mut self, role: &str, content: &str) {
        let id = format!("message-{}", self.messages.len());
        self.messages.push(Message { id, role: role.to_owned(), content: content.to_owned() });
    }
}
