use serde::{Deserialize, Serialize};

use super::manifest::Permissions;
use crate::hooks::Hook;

/// What the operator allows an extension: `[extension.NAME.grant]` in `lathe.toml`. Only what its manifest asks for
/// takes effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Grant {
    /// Hooks whose answers count: `beforeStep`, `beforeToolCall`, `afterToolCall`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decide: Vec<Gate>,
    /// Choose another model.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub model: bool,
    /// Tell the model in its own words why a call was blocked. Asked for together with `decide`; without it the model
    /// reads a fixed text, since free text from a guest is a way to speak to the model in the host's name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reasons: bool,
}

/// A hook that can decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "named as the hooks")]
pub enum Gate {
    BeforeStep,
    BeforeToolCall,
    AfterToolCall,
}

impl Gate {
    /// The hook that it is.
    #[must_use]
    pub fn hook(self) -> Hook {
        match self {
            Self::BeforeStep => Hook::BeforeStep,
            Self::BeforeToolCall => Hook::BeforeToolCall,
            Self::AfterToolCall => Hook::AfterToolCall,
        }
    }
}

impl Grant {
    /// What of it takes effect for an extension that asks for so much.
    #[must_use]
    pub fn within(&self, asked: &Permissions) -> Self {
        let decide: Vec<Gate> =
            self.decide.iter().copied().filter(|gate| asked.decide.contains(&gate.hook())).collect();
        Self { model: self.model && asked.model, reasons: self.reasons && !decide.is_empty(), decide }
    }

    /// Whether the answers to a hook count.
    #[must_use]
    pub fn decides(&self, hook: Hook) -> bool {
        self.decide.iter().any(|gate| gate.hook() == hook)
    }

    /// The names of what is granted.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::Object(fields)) => fields.into_iter().map(|(name, _)| name).collect(),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_asked_for_takes_effect() {
        let granted =
            Grant { decide: vec![Gate::BeforeStep, Gate::BeforeToolCall], model: true, reasons: true };
        assert_eq!(granted.within(&Permissions::default()), Grant::default());
        let asked =
            Permissions { decide: vec![Hook::BeforeToolCall, Hook::OnChunk], ..Permissions::default() };
        let effective = granted.within(&asked);
        assert_eq!(effective, Grant { decide: vec![Gate::BeforeToolCall], model: false, reasons: true });
        assert!(effective.decides(Hook::BeforeToolCall) && !effective.decides(Hook::BeforeStep));
        assert_eq!(effective.names(), ["decide", "reasons"]);
    }
}
