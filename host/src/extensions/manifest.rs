use serde::{Deserialize, Serialize};

use super::bindings::exports::lathe::extension::extension_manifest as wit;
use super::bindings::lathe::extension::types::Hook as WitHook;
use super::network::HostPattern;
use crate::hooks::Hook;
use crate::turn::{Json, Replay};

/// What an extension says of itself, checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Its identity: `a-z`, `0-9` and `-`.
    pub name: String,
    /// Free text.
    pub version: String,
    /// One sentence for people.
    pub description: String,
    /// The hooks it is called for.
    pub hooks: Vec<Hook>,
    /// Its tools, under their own names.
    pub tools: Vec<ToolManifest>,
    /// What it asks for.
    pub permissions: Permissions,
    /// Context blocks of its own.
    pub context: Vec<ContextBlock>,
    /// A JSON Schema of its settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings_schema: Option<Json>,
}

/// A tool as the manifest lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolManifest {
    /// Without the prefix.
    pub name: String,
    /// For the model.
    pub description: String,
    /// JSON Schema of the input, an object.
    pub input_schema: Json,
    /// What may happen to a call whose outcome is unknown.
    pub replay: Replay,
    /// True if it must not run beside another call of its step.
    pub sequential: bool,
    /// True if a person has to approve each call.
    pub needs_approval: bool,
}

/// What an extension asks for, in the words of `wit/manifest.wit`. Absent means not asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
#[allow(missing_docs, reason = "documented field by field in the contract")]
pub struct Permissions {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Workspace>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<HostPattern>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context_read: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context_write: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub messages: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub send_message: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub session_info: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decide: Vec<Hook>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub model: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_bytes: Option<u64>,
}

/// How far an extension uses the workspace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "documented in the contract")]
pub enum Workspace {
    #[default]
    Read,
    ReadWrite,
}

/// A context block of an extension.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "documented in the contract")]
pub struct ContextBlock {
    pub label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
}

/// What is wrong with a manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// The name is not a word of the allowed characters.
    #[error(
        "its name \"{0}\" is not usable: a name is made of a-z, 0-9 and -, with at least one letter or digit and at most 64 characters"
    )]
    Name(String),
    /// A tool's name is not a word of the allowed characters.
    #[error("its tool \"{0}\" needs a name of a-z, A-Z, 0-9, _ and -, at most 64 characters with the prefix")]
    ToolName(String),
    /// Two tools have one name.
    #[error("it has two tools named \"{0}\"")]
    ToolTwice(String),
    /// A schema is not one.
    #[error("the input schema of its tool \"{tool}\" is not usable: {reason}")]
    ToolSchema {
        /// The tool.
        tool: String,
        /// What is wrong.
        reason: String,
    },
    /// The settings schema is not one.
    #[error("its settings schema is not usable: {0}")]
    SettingsSchema(String),
    /// A host that it asks for is none.
    #[error("it asks for the network, but {0}")]
    Host(String),
    /// A context block's label is not a word of the allowed characters.
    #[error("its context block \"{0}\" needs a label of a-z, A-Z, 0-9, _ and -, at most 64 characters")]
    Label(String),
    /// It has more than the host takes.
    #[error("it has {count} tools, and {limit} is the most")]
    TooManyTools {
        /// How many it has.
        count: usize,
        /// How many it may have.
        limit: usize,
    },
}

/// Tools of one extension: more would fill any model's context with their descriptions.
const TOOLS: usize = 256;

/// What the providers accept as a tool's name.
const TOOL_NAME: usize = 64;

/// A context block's label, in characters: as a tool's name.
const LABEL: usize = 64;

impl Manifest {
    pub(super) fn check(raw: wit::Manifest) -> Result<Self, ManifestError> {
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let name = raw.name;
        if name.len() > 64 || !name.chars().any(letters) || !name.chars().all(|c| letters(c) || c == '-') {
            return Err(ManifestError::Name(name));
        }
        if raw.tools.len() > TOOLS {
            return Err(ManifestError::TooManyTools { count: raw.tools.len(), limit: TOOLS });
        }
        let prefix = prefix(&name);
        let mut tools: Vec<ToolManifest> = Vec::with_capacity(raw.tools.len());
        for tool in raw.tools {
            let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let length = prefix.len() + 1 + tool.name.len();
            if tool.name.is_empty() || length > TOOL_NAME || !tool.name.chars().all(word) {
                return Err(ManifestError::ToolName(tool.name));
            }
            if tools.iter().any(|other| other.name == tool.name) {
                return Err(ManifestError::ToolTwice(tool.name));
            }
            let input_schema = schema(&tool.input_schema)
                .map_err(|reason| ManifestError::ToolSchema { tool: tool.name.clone(), reason })?;
            tools.push(ToolManifest {
                name: tool.name,
                description: tool.description,
                input_schema,
                replay: match tool.replay {
                    wit::Replay::Never => Replay::Never,
                    wit::Replay::Safe => Replay::Safe,
                },
                sequential: tool.sequential,
                needs_approval: tool.needs_approval,
            });
        }
        Ok(Self {
            name,
            version: raw.version,
            description: raw.description,
            hooks: hooks(&raw.hooks),
            tools,
            permissions: permissions(raw.permissions)?,
            context: raw.context.into_iter().map(context_block).collect::<Result<_, _>>()?,
            settings_schema: raw
                .settings_schema
                .map(|text| schema(&text).map_err(ManifestError::SettingsSchema))
                .transpose()?,
        })
    }

    /// What stands before the names of its tools.
    #[must_use]
    pub fn prefix(&self) -> String {
        prefix(&self.name)
    }

    /// The name under which a model is offered a tool.
    #[must_use]
    pub fn tool_name(&self, tool: &ToolManifest) -> String {
        format!("{}_{}", self.prefix(), tool.name)
    }

    /// The full label of one of its context blocks.
    #[must_use]
    pub fn context_label(&self, block: &ContextBlock) -> String {
        format!("{}_{}", self.prefix(), block.label)
    }
}

/// Every run of other characters as one `_`, none at the ends (`think.md` §3.4).
fn prefix(name: &str) -> String {
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("_")
}

fn schema(text: &str) -> Result<Json, String> {
    let schema: Json = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    if !schema.is_object() {
        return Err("it is not a JSON object".into());
    }
    jsonschema::validator_for(&schema).map_err(|error| error.to_string())?;
    Ok(schema)
}

fn hooks(listed: &[WitHook]) -> Vec<Hook> {
    let mut hooks: Vec<Hook> = listed.iter().map(|&hook| Hook::from(hook)).collect();
    hooks.sort_unstable();
    hooks.dedup();
    hooks
}

impl From<WitHook> for Hook {
    fn from(hook: WitHook) -> Self {
        match hook {
            WitHook::BeforeTurn => Self::BeforeTurn,
            WitHook::BeforeStep => Self::BeforeStep,
            WitHook::BeforeToolCall => Self::BeforeToolCall,
            WitHook::AfterToolCall => Self::AfterToolCall,
            WitHook::OnStepFinish => Self::OnStepFinish,
            WitHook::OnChunk => Self::OnChunk,
            WitHook::OnChatResponse => Self::OnChatResponse,
            WitHook::OnChatError => Self::OnChatError,
        }
    }
}

pub(super) fn permissions(raw: wit::Permissions) -> Result<Permissions, ManifestError> {
    let host = |text: String| text.parse().map_err(ManifestError::Host);
    Ok(Permissions {
        workspace: match raw.workspace {
            wit::WorkspaceAccess::None => None,
            wit::WorkspaceAccess::Read => Some(Workspace::Read),
            wit::WorkspaceAccess::ReadWrite => Some(Workspace::ReadWrite),
        },
        network: raw.network.into_iter().map(host).collect::<Result<_, _>>()?,
        context_read: raw.context_read,
        context_write: raw.context_write,
        messages: raw.messages,
        send_message: raw.send_message,
        session_info: raw.session_info,
        decide: hooks(&raw.decide),
        model: raw.model,
        environment: raw.environment,
        storage_bytes: raw.storage_bytes,
    })
}

fn context_block(raw: wit::ContextBlock) -> Result<ContextBlock, ManifestError> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if raw.label.is_empty() || raw.label.len() > LABEL || !raw.label.chars().all(word) {
        return Err(ManifestError::Label(raw.label));
    }
    Ok(ContextBlock { label: raw.label, description: raw.description, max_tokens: raw.max_tokens })
}

impl Permissions {
    /// The names of what is asked for.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        match serde_json::to_value(self) {
            Ok(Json::Object(fields)) => fields.into_iter().map(|(name, _)| name).collect(),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(name: &str, tools: &[(&str, &str)]) -> wit::Manifest {
        wit::Manifest {
            name: name.into(),
            version: "1".into(),
            description: String::new(),
            hooks: vec![WitHook::OnChunk, WitHook::BeforeTurn, WitHook::OnChunk],
            tools: tools
                .iter()
                .map(|(name, schema)| wit::ToolDefinition {
                    name: (*name).into(),
                    description: String::new(),
                    input_schema: (*schema).into(),
                    replay: wit::Replay::Never,
                    sequential: false,
                    needs_approval: false,
                })
                .collect(),
            permissions: wit::Permissions {
                workspace: wit::WorkspaceAccess::Read,
                network: vec!["example.org".into()],
                context_read: vec![],
                context_write: vec![],
                messages: false,
                send_message: false,
                session_info: true,
                decide: vec![],
                model: false,
                environment: vec![],
                storage_bytes: None,
            },
            context: vec![],
            settings_schema: None,
        }
    }

    #[test]
    fn names_are_words() {
        let long = "a".repeat(65);
        for bad in ["", "---", "Clock", "a_b", "a b", "ü", "a/../b", &long] {
            assert_eq!(Manifest::check(raw(bad, &[])), Err(ManifestError::Name(bad.into())));
        }
        for (good, prefix) in [("git-hub", "git_hub"), ("-a--b-", "a_b"), ("7", "7")] {
            assert_eq!(Manifest::check(raw(good, &[])).unwrap().prefix(), prefix);
        }
    }

    #[test]
    fn tools_need_a_usable_name_and_schema() {
        let check = |tools: &[(&str, &str)]| Manifest::check(raw("x", tools)).unwrap_err();
        let long = "t".repeat(63);
        assert_eq!(check(&[("", "{}")]), ManifestError::ToolName(String::new()));
        assert_eq!(check(&[("../x", "{}")]), ManifestError::ToolName("../x".into()));
        assert_eq!(check(&[(&long, "{}")]), ManifestError::ToolName(long.clone()));
        assert_eq!(check(&[("a", "{}"), ("a", "{}")]), ManifestError::ToolTwice("a".into()));
        for bad in ["", "[]", "{", "{\"type\": 7}"] {
            assert!(matches!(check(&[("a", bad)]), ManifestError::ToolSchema { .. }), "{bad}");
        }
    }

    #[test]
    fn hosts_and_labels_are_words() {
        let mut manifest = raw("x", &[]);
        manifest.permissions.network = vec!["https://example.org".into()];
        assert!(matches!(Manifest::check(manifest), Err(ManifestError::Host(_))));
        let mut manifest = raw("a-b", &[]);
        let block =
            |label: &str| wit::ContextBlock { label: label.into(), description: None, max_tokens: None };
        manifest.context = vec![block("todo")];
        let checked = Manifest::check(manifest.clone()).unwrap();
        assert_eq!(checked.context_label(&checked.context[0]), "a_b_todo");
        manifest.context = vec![block("to do")];
        assert_eq!(Manifest::check(manifest), Err(ManifestError::Label("to do".into())));
    }

    #[test]
    fn hooks_are_a_set_and_permissions_are_listed_by_name() {
        let manifest = Manifest::check(raw("x", &[("t", r#"{"type":"object"}"#)])).unwrap();
        assert_eq!(manifest.hooks, [Hook::BeforeTurn, Hook::OnChunk]);
        assert_eq!(manifest.permissions.asked(), ["workspace", "network", "session-info"]);
        assert_eq!(manifest.tool_name(&manifest.tools[0]), "x_t");
        let text = serde_json::to_string(&manifest).unwrap();
        assert_eq!(serde_json::from_str::<Manifest>(&text).unwrap(), manifest);
    }
}
