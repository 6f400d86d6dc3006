use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::advice;
use super::manifest::{Manifest, Permissions, Workspace};
use super::network::HostGrant;
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
    /// A folder that it finds as `/workspace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceGrant>,
    /// Hosts that it may reach.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<HostGrant>,
    /// Environment variables of the host that it may read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    /// Context blocks that it may read: full labels, or `all`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context_read: Vec<String>,
    /// Context blocks that it may write: full labels, or `own`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context_write: Vec<String>,
    /// Read the conversation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub messages: bool,
    /// Read the session's name and how many messages it has.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub session_info: bool,
    /// Add user messages to the conversation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub send_message: bool,
}

/// A folder that an extension may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct WorkspaceGrant {
    /// The folder. A relative one is taken from the folder of `lathe.toml`.
    pub dir: PathBuf,
    /// `read` or `read-write`. Default: `read`.
    #[serde(default)]
    pub access: Workspace,
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
    pub fn within(&self, manifest: &Manifest) -> Self {
        let asked = &manifest.permissions;
        let decide: Vec<Gate> =
            self.decide.iter().copied().filter(|gate| asked.decide.contains(&gate.hook())).collect();
        let workspace = self.workspace.as_ref().zip(asked.workspace).map(|(granted, asked)| WorkspaceGrant {
            dir: granted.dir.clone(),
            access: granted.access.min(asked),
        });
        Self {
            model: self.model && asked.model,
            reasons: self.reasons && !decide.is_empty(),
            decide,
            workspace,
            network: self.network.iter().filter(|host| wants(asked, host)).cloned().collect(),
            environment: both(&self.environment, &asked.environment),
            context_read: with_wildcard(&self.context_read, &asked.context_read),
            context_write: both(&own(&self.context_write, manifest), &own(&asked.context_write, manifest)),
            messages: self.messages && asked.messages,
            session_info: self.session_info && asked.session_info,
            send_message: self.send_message && asked.send_message,
        }
    }

    /// What of it the extension does not ask for, in a word or two each, such as `model` or `network a.org`.
    #[must_use]
    pub fn unasked(&self, manifest: &Manifest) -> Vec<String> {
        advice::unasked(manifest, self)
    }

    /// Whether the answers to a hook count.
    #[must_use]
    pub fn decides(&self, hook: Hook) -> bool {
        self.decide.iter().any(|gate| gate.hook() == hook)
    }

    /// Whether a context block may be read.
    #[must_use]
    pub fn reads(&self, label: &str) -> bool {
        self.context_read.iter().any(|granted| granted == label || granted == ALL)
    }

    /// Whether a context block may be written; of what takes effect, since `own` means others for each extension.
    #[must_use]
    pub fn writes(&self, label: &str) -> bool {
        self.context_write.iter().any(|granted| granted == label)
    }

    /// The names of what is granted.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::Object(fields)) => fields.into_iter().map(|(name, _)| name).collect(),
            _ => Vec::new(),
        }
    }

    /// The same with its paths taken from a folder.
    #[must_use]
    pub fn relative_to(mut self, folder: &Path) -> Self {
        if let Some(workspace) = &mut self.workspace {
            workspace.dir = folder.join(&workspace.dir);
        }
        self
    }
}

/// Stands for every label.
pub(super) const ALL: &str = "all";

/// Stands for the extension's own labels.
pub(super) const OWN: &str = "own";

/// Whether some host is both in what is asked for and in this grant.
pub(super) fn wants(asked: &Permissions, granted: &HostGrant) -> bool {
    asked.network.iter().any(|asked| granted.host.covers(asked) || asked.covers(&granted.host))
}

fn both(granted: &[String], asked: &[String]) -> Vec<String> {
    let both: BTreeSet<&String> = granted.iter().filter(|name| asked.contains(name)).collect();
    both.into_iter().cloned().collect()
}

/// What both lists name, where `all` names everything.
fn with_wildcard(granted: &[String], asked: &[String]) -> Vec<String> {
    let all = |list: &[String]| list.iter().any(|label| label == ALL);
    match (all(granted), all(asked)) {
        (true, true) => vec![ALL.to_owned()],
        (true, false) => asked.to_vec(),
        (false, true) => granted.to_vec(),
        (false, false) => both(granted, asked),
    }
}

/// The labels, with the extension's own ones in place of `own`.
pub(super) fn own(labels: &[String], manifest: &Manifest) -> Vec<String> {
    let own = || manifest.context.iter().map(|block| manifest.context_label(block)).collect();
    labels.iter().flat_map(|label| if label == OWN { own() } else { vec![label.clone()] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extensions::manifest::ContextBlock;

    fn asking(permissions: Permissions) -> Manifest {
        let block = |label: &str| ContextBlock { label: label.into(), ..ContextBlock::default() };
        Manifest {
            name: "my-notes".into(),
            context: vec![block("todo"), block("done")],
            permissions,
            ..Manifest::default()
        }
    }

    fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
        words.map(str::to_owned).into()
    }

    fn hosts<const N: usize>(hosts: [&str; N]) -> Vec<HostGrant> {
        hosts.map(|host| HostGrant::new(host.parse().unwrap())).into()
    }

    fn everything() -> Grant {
        Grant {
            decide: vec![Gate::BeforeStep, Gate::BeforeToolCall],
            model: true,
            reasons: true,
            workspace: Some(WorkspaceGrant { dir: "/w".into(), access: Workspace::ReadWrite }),
            network: hosts(["*.example.org", "other.net"]),
            environment: words(["A", "B"]),
            context_read: words(["all"]),
            context_write: words(["own", "memory"]),
            messages: true,
            session_info: true,
            send_message: true,
        }
    }

    #[test]
    fn nothing_asked_is_nothing_granted() {
        assert_eq!(everything().within(&asking(Permissions::default())), Grant::default());
    }

    #[test]
    fn nothing_granted_is_nothing_granted() {
        let asked = Permissions {
            messages: true,
            model: true,
            network: vec!["*".parse().unwrap()],
            ..Permissions::default()
        };
        assert_eq!(Grant::default().within(&asking(asked)), Grant::default());
    }

    #[test]
    fn only_what_is_asked_for_takes_effect() {
        let asked = Permissions {
            decide: vec![Hook::BeforeToolCall, Hook::OnChunk],
            workspace: Some(Workspace::Read),
            network: vec!["api.example.org".parse().unwrap()],
            environment: words(["B", "C"]),
            context_read: words(["memory"]),
            context_write: words(["my_notes_todo", "elsewhere"]),
            session_info: true,
            ..Permissions::default()
        };
        let effective = everything().within(&asking(asked));
        let expected = Grant {
            decide: vec![Gate::BeforeToolCall],
            reasons: true,
            workspace: Some(WorkspaceGrant { dir: "/w".into(), access: Workspace::Read }),
            network: hosts(["*.example.org"]),
            environment: words(["B"]),
            context_read: words(["memory"]),
            context_write: words(["my_notes_todo"]),
            session_info: true,
            ..Grant::default()
        };
        assert_eq!(effective, expected);
        assert!(effective.decides(Hook::BeforeToolCall) && !effective.decides(Hook::BeforeStep));
        assert_eq!(
            effective.names(),
            [
                "decide",
                "reasons",
                "workspace",
                "network",
                "environment",
                "context-read",
                "context-write",
                "session-info"
            ]
        );
    }

    #[test]
    fn labels_of_context_blocks_are_full_ones_or_a_word_for_many() {
        let asked = Permissions {
            context_read: words(["all"]),
            context_write: words(["own", "memory"]),
            ..Permissions::default()
        };
        let grant = Grant {
            context_read: words(["memory"]),
            context_write: words(["my_notes_done"]),
            ..Grant::default()
        };
        let effective = grant.within(&asking(asked.clone()));
        assert!(effective.reads("memory") && !effective.reads("my_notes_todo"));
        assert_eq!(effective.context_write, ["my_notes_done"]);
        let effective = everything().within(&asking(asked));
        assert!(effective.reads("anything"));
        assert_eq!(effective.context_write, ["memory", "my_notes_done", "my_notes_todo"]);
        assert!(!effective.writes("own"));
    }
}
