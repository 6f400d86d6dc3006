//! Ids of tool calls: one call, one id, in the whole conversation.

use std::collections::{HashMap, HashSet};

use rig_core::message::CallId;
use uuid::Uuid;

use super::super::registry::ProviderKind;
use super::peek::Peek;
use crate::turn::{ModelMessage, Part};

/// The ids of an answer's calls: the provider's own, or one of ours where it gives none or one that is taken.
pub(super) struct CallIds {
    used: HashSet<String>,
    peek: Peek,
}

impl CallIds {
    /// Ids for an answer to those messages, whose calls keep theirs.
    pub(super) fn taken_by(messages: &[ModelMessage], peek: Peek) -> Self {
        let used = messages.iter().flat_map(|message| &message.content).filter_map(|part| match part {
            Part::ToolCall { tool_call_id, .. } => Some(tool_call_id.clone()),
            _ => None,
        });
        Self { used: used.collect(), peek }
    }

    /// The id of the next call to begin.
    pub(super) fn next(&mut self) -> String {
        match self.peek.next_call() {
            Some(id) if self.used.insert(id.clone()) => id,
            _ => {
                // 37 characters of the plainest kind: OpenAI takes 40, Anthropic only letters, digits, `_` and `-`.
                let id = format!("call_{}", Uuid::now_v7().simple());
                self.used.insert(id.clone());
                id
            }
        }
    }
}

/// The ids that calls of earlier answers go back with: the provider's own, as long as it is no other call's.
pub(super) struct SentIds {
    kind: ProviderKind,
    by_call: HashMap<String, String>,
    used: HashSet<String>,
}

impl SentIds {
    pub(super) fn new(kind: ProviderKind) -> Self {
        Self { kind, by_call: HashMap::new(), used: HashSet::new() }
    }

    /// The id of a call that the provider named `own`, or as the host does.
    pub(super) fn call(&mut self, id: &str, own: Option<&str>) -> CallId {
        let sent = match own {
            Some(own) if !self.used.contains(own) => own.to_owned(),
            _ => self.legal(id),
        };
        self.used.insert(sent.clone());
        self.by_call.insert(id.to_owned(), sent.clone());
        CallId::from_wire(sent)
    }

    /// The id of the call that a result answers.
    pub(super) fn result(&self, id: &str) -> CallId {
        CallId::from_wire(self.by_call.get(id).cloned().unwrap_or_else(|| self.legal(id)))
    }

    /// An id as the provider takes it; one of another provider, or of a script, may hold anything. Chat servers take
    /// anything, and some read their own ids.
    fn legal(&self, id: &str) -> String {
        if self.kind == ProviderKind::Openai {
            return id.to_owned();
        }
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        id.chars().map(plain).take(64).collect()
    }
}
