use std::sync::Arc;

use super::{Line, lines};
use crate::extensions::advice;
use crate::extensions::bindings::exports::lathe::extension::extension_manifest as wit;
use crate::extensions::bindings::lathe::extension::types::Hook;
use crate::extensions::extension::ExtensionSettings;
use crate::extensions::grant::Grant;
use crate::extensions::manifest::Manifest;
use crate::extensions::network::SystemResolver;
use crate::extensions::rights::{Rights, Surroundings};
use crate::tools::InputCheck;
use crate::turn::Json;

/// A manifest as `describe` answers it, and all that is made of it: names, schemas, rights, advice.
///
/// Fields: those of `wit/manifest.wit`; `tool`, `description`, `input-schema`, `replay`, `sequential` and
/// `needs-approval` of the last `tool`; `max-tokens` of the last `block`; `grant`, a line of the operator's grants;
/// `input`, given to every tool.
///
/// # Panics
///
/// If a manifest that is taken has a name, a schema, a right or an advice that it must not have.
#[must_use]
pub fn manifest(bytes: &[u8]) -> bool {
    let (raw, told) = read(bytes);
    let asked = raw.permissions.clone();
    let manifest = match Manifest::check(raw) {
        Ok(manifest) => manifest,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "a refusal without a word");
            return false;
        }
    };
    names(&manifest);
    let text = serde_json::to_string(&manifest).unwrap_or_default();
    let again: Result<Manifest, _> = serde_json::from_str(&text);
    assert_eq!(again.ok().as_ref(), Some(&manifest), "the cache gives back another manifest");

    for tool in &manifest.tools {
        let check = InputCheck::new(&tool.input_schema);
        for input in &told.inputs {
            // What is taken is taken again: nothing changes it a second time.
            if let Ok(taken) = check.check(input.clone()) {
                assert_eq!(check.check(taken.clone()), Ok(taken), "{}", tool.input_schema);
            }
        }
    }

    rights(&manifest, &asked, &Grant::default());
    if let Ok(grant) = toml::from_str(&told.grant) {
        rights(&manifest, &asked, &grant);
    }
    true
}

/// What a manifest is played with.
#[derive(Default)]
struct Told {
    grant: String,
    inputs: Vec<Json>,
}

fn read(bytes: &[u8]) -> (wit::Manifest, Told) {
    let mut told = Told::default();
    let mut manifest = wit::Manifest {
        name: String::new(),
        version: String::new(),
        description: String::new(),
        hooks: Vec::new(),
        tools: Vec::new(),
        permissions: wit::Permissions {
            workspace: wit::WorkspaceAccess::None,
            network: Vec::new(),
            context_read: Vec::new(),
            context_write: Vec::new(),
            messages: false,
            send_message: false,
            session_info: false,
            decide: Vec::new(),
            model: false,
            environment: Vec::new(),
            storage_bytes: None,
        },
        context: Vec::new(),
        settings_schema: None,
    };
    for line in lines(bytes) {
        let asked = &mut manifest.permissions;
        match &*line.name {
            "name" => manifest.name = line.value,
            "version" => manifest.version = line.value,
            "hook" => manifest.hooks.extend(hook(&line.value)),
            "settings-schema" => manifest.settings_schema = Some(line.value),
            "workspace" => {
                asked.workspace = match &*line.value {
                    "read" => wit::WorkspaceAccess::Read,
                    "read-write" => wit::WorkspaceAccess::ReadWrite,
                    _ => wit::WorkspaceAccess::None,
                }
            }
            "network" => asked.network.push(line.value),
            "context-read" => asked.context_read.push(line.value),
            "context-write" => asked.context_write.push(line.value),
            "messages" => asked.messages = true,
            "send-message" => asked.send_message = true,
            "session-info" => asked.session_info = true,
            "decide" => asked.decide.extend(hook(&line.value)),
            "model" => asked.model = true,
            "environment" => asked.environment.push(line.value),
            "storage-bytes" => asked.storage_bytes = line.read(),
            "block" => {
                let block = wit::ContextBlock { label: line.value, description: None, max_tokens: None };
                manifest.context.push(block);
            }
            "max-tokens" => {
                if let Some(block) = manifest.context.last_mut() {
                    block.max_tokens = line.read();
                }
            }
            "grant" => told.grant += &(line.value + "\n"),
            "input" => told.inputs.extend(serde_json::from_str::<Json>(&line.value)),
            _ => tool(&mut manifest, line),
        }
    }
    (manifest, told)
}

fn tool(manifest: &mut wit::Manifest, line: Line) {
    if line.name == "tool" {
        manifest.tools.push(wit::ToolDefinition {
            name: line.value,
            description: String::new(),
            input_schema: "{}".to_owned(),
            replay: wit::Replay::Never,
            sequential: false,
            needs_approval: false,
        });
        return;
    }
    let last = manifest.tools.last_mut();
    match (&*line.name, last) {
        ("description", Some(tool)) => tool.description = line.value,
        ("description", None) => manifest.description = line.value,
        ("input-schema", Some(tool)) => tool.input_schema = line.value,
        ("replay", Some(tool)) => tool.replay = wit::Replay::Safe,
        ("sequential", Some(tool)) => tool.sequential = true,
        ("needs-approval", Some(tool)) => tool.needs_approval = true,
        _ => {}
    }
}

fn hook(name: &str) -> Option<Hook> {
    Some(match name {
        "before-turn" => Hook::BeforeTurn,
        "before-step" => Hook::BeforeStep,
        "before-tool-call" => Hook::BeforeToolCall,
        "after-tool-call" => Hook::AfterToolCall,
        "on-step-finish" => Hook::OnStepFinish,
        "on-chunk" => Hook::OnChunk,
        "on-chat-response" => Hook::OnChatResponse,
        "on-chat-error" => Hook::OnChatError,
        _ => return None,
    })
}

/// What providers, the store and terminals are told is made of harmless letters.
fn names(manifest: &Manifest) {
    let is_word = |name: &str| {
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        !name.is_empty() && name.chars().all(letter)
    };
    assert!(is_word(&manifest.name) && is_word(&manifest.prefix()), "{}", manifest.name);
    let mut tools: Vec<String> = manifest.tools.iter().map(|tool| manifest.tool_name(tool)).collect();
    assert!(tools.iter().all(|name| is_word(name) && name.len() <= 64), "{tools:?}");
    tools.sort();
    tools.dedup();
    assert_eq!(tools.len(), manifest.tools.len(), "two tools of one name");
    let mut labels = manifest.context.iter().map(|block| manifest.context_label(block));
    assert!(labels.all(|label| is_word(&label)), "{:?}", manifest.context);
}

/// What takes effect of a grant is asked for and granted, and the lines that would grant the rest say what they seem to.
fn rights(manifest: &Manifest, asked: &wit::Permissions, granted: &Grant) {
    let effective = granted.within(manifest);
    for (took, asked, granted) in [
        (effective.model, asked.model, granted.model),
        (effective.messages, asked.messages, granted.messages),
        (effective.session_info, asked.session_info, granted.session_info),
        (effective.send_message, asked.send_message, granted.send_message),
        (
            effective.workspace.is_some(),
            asked.workspace != wit::WorkspaceAccess::None,
            granted.workspace.is_some(),
        ),
    ] {
        assert_eq!(took, asked && granted);
    }
    let both = |name: &String| asked.environment.contains(name) && granted.environment.contains(name);
    assert!(effective.environment.iter().all(both), "{:?}", effective.environment);
    let labels =
        |list: &[String], label: &String| list.contains(label) || list.iter().any(|all| all == "all");
    let both = |label: &String| labels(&asked.context_read, label) && labels(&granted.context_read, label);
    assert!(effective.context_read.iter().all(both), "{:?}", effective.context_read);
    let granted_hosts = effective.network.iter().all(|host| granted.network.contains(host));
    assert!(granted_hosts, "{:?}", effective.network);

    let settings = ExtensionSettings::default();
    for line in advice::missing(manifest, &effective, &settings) {
        assert!(!line.chars().any(char::is_control), "{line:?}");
        let (_, rest) = line.split_once('`').unwrap_or_default();
        let (key, _) = rest.rsplit_once('`').unwrap_or_default();
        let added: Result<toml::Table, _> = toml::from_str(key);
        assert_eq!(added.ok().map(|table| table.len()), Some(1), "{line}");
    }
    for line in advice::idle(manifest, granted) {
        assert!(line.starts_with("[extension."), "{line}");
    }
    let nowhere = Surroundings {
        variable: Box::new(|_| None),
        resolver: Arc::new(SystemResolver),
        transport: None,
        fixed: None,
    };
    let rights = Rights::new(manifest, effective, &nowhere);
    assert!(rights.environment.is_empty(), "variables out of nothing");
}
