//! The tools with which a model uses context blocks.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;

use super::blocks::Blocks;
use super::{Active, Conversation, Setup};
use crate::session::{ContextError, ContextMode};
use crate::tools::{CallContext, NameTaken, Tool, ToolAnswer, ToolSet};
use crate::turn::{Json, Replay, ToolDefinition, ToolError, ToolState};

/// One of them.
struct BlockTool {
    does: Does,
    definition: ToolDefinition,
    blocks: Arc<Blocks>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Does {
    Set,
    Load,
    Unload,
    Search,
}

impl Does {
    fn name(self) -> &'static str {
        match self {
            Self::Set => "set_context",
            Self::Load => "load_context",
            Self::Unload => "unload_context",
            Self::Search => "search_context",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Set => {
                "Writes to a context block of the system prompt: replaces its text, or appends to it. What you write is kept at \
                 once; the system prompt shows it from its next refresh."
            }
            Self::Load => "Loads a text that a context block lists, by its key.",
            Self::Unload => "Takes a loaded text out of the conversation again, to make room.",
            Self::Search => "Searches a context block.",
        }
    }

    /// The kind of block that it is for.
    fn mode(self) -> ContextMode {
        match self {
            Self::Set => ContextMode::Writable,
            Self::Load | Self::Unload => ContextMode::Loadable,
            Self::Search => ContextMode::Searchable,
        }
    }

    fn schema(self, labels: &[&str]) -> Json {
        let text = |description: &str| json!({"type": "string", "description": description});
        let mut properties =
            json!({"label": {"type": "string", "enum": labels, "description": "The block."}});
        let more = match self {
            Self::Set => {
                properties["action"] =
                    json!({"type": "string", "enum": ["replace", "append"], "default": "replace"});
                properties["content"] = text("The text.");
                "content"
            }
            Self::Load | Self::Unload => {
                properties["key"] = text("The key, as the block lists it.");
                "key"
            }
            Self::Search => {
                properties["query"] = text("What to look for.");
                "query"
            }
        };
        json!({"type": "object", "properties": properties, "required": ["label", more]})
    }
}

/// What stands in the place of a text that was unloaded.
const UNLOADED: &str = "(unloaded; load_context loads it again)";

impl BlockTool {
    async fn run(&self, input: &Json) -> Result<String, ContextError> {
        let word = |name: &str| input.get(name).and_then(Json::as_str).unwrap_or_default();
        let (label, blocks) = (word("label"), &*self.blocks);
        match self.does {
            Does::Set => {
                let append = word("action") == "append";
                let (block, text) = blocks.write(label, word("content"), append).await?;
                Ok(format!("Written to {label}. {}", block.fill(&text)).trim_end().to_owned())
            }
            Does::Load => {
                let provider = blocks.find(label, self.does.mode())?.provider().ok();
                let key = word("key");
                let text = match provider {
                    Some(provider) => provider.load(blocks.session(), key).await?,
                    None => None,
                };
                text.ok_or_else(|| ContextError::Failed(format!("{label} has no \"{key}\"")))
            }
            Does::Unload => unload(blocks, label, word("key")).await,
            Does::Search => {
                let Ok(provider) = blocks.find(label, self.does.mode())?.provider() else {
                    return Err(ContextError::Unknown(label.to_owned()));
                };
                provider.search(blocks.session(), word("query")).await
            }
        }
    }
}

/// Leaves out of the stored conversation what was loaded.
async fn unload(blocks: &Blocks, label: &str, key: &str) -> Result<String, ContextError> {
    let failed = |error: crate::store::StoreError| ContextError::Failed(error.to_string());
    blocks.find(label, ContextMode::Loadable)?;
    let mut freed = 0_usize;
    for mut message in blocks.store().path(blocks.session()).await.map_err(failed)? {
        let mut changed = false;
        for tool in message.tools_mut().filter(|tool| tool.tool_name == Does::Load.name()) {
            let meant = tool.input.get("label").is_some_and(|word| word == label)
                && tool.input.get("key").is_some_and(|word| word == key);
            if let ToolState::OutputAvailable(output) = &mut tool.state
                && meant
                && output != UNLOADED
            {
                *output = UNLOADED.into();
                changed = true;
            }
        }
        if changed {
            blocks.store().put(blocks.session(), &message, None).await.map_err(failed)?;
            freed += 1;
        }
    }
    if freed == 0 {
        return Err(ContextError::Failed(format!(
            "\"{key}\" of {label} is not loaded, or was loaded in this turn: that can be unloaded in the next one"
        )));
    }
    Ok(format!("Unloaded \"{key}\" of {label}; it is gone from the next turn on."))
}

#[async_trait]
impl Tool for BlockTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn execute(&self, input: Json, _call: &CallContext) -> Result<ToolAnswer, ToolError> {
        match self.run(&input).await {
            Ok(text) => Ok(Json::from(text).into()),
            Err(error) => Err(ToolError::failed(error.to_string())),
        }
    }
}

/// The tools that these blocks need: each only if some block supports it.
pub(crate) fn tools(blocks: &Blocks) -> Result<ToolSet, NameTaken> {
    let shared = Arc::new(blocks.clone());
    let mut set = ToolSet::default();
    for does in [Does::Set, Does::Load, Does::Unload, Does::Search] {
        let labels = blocks.labels(does.mode());
        if labels.is_empty() {
            continue;
        }
        let definition = ToolDefinition {
            name: does.name().into(),
            description: does.description().into(),
            input_schema: does.schema(&labels),
            // What was appended would be there twice.
            replay: if does == Does::Set { Replay::Never } else { Replay::Safe },
            sequential: matches!(does, Does::Set | Does::Unload),
            client: false,
            needs_approval: false,
            dynamic: false,
        };
        set.add(Arc::new(BlockTool { does, definition, blocks: shared.clone() }))?;
    }
    Ok(set)
}

impl Setup {
    /// What a turn of a session works with: what is in use, and the tools of its context blocks.
    pub(crate) fn active_for(&self, conversation: &Conversation) -> Arc<Active> {
        let active = self.active();
        let blocks = Blocks::new(self, &active, conversation);
        if blocks.is_empty() {
            return active;
        }
        match tools(&blocks).and_then(|tools| active.with(&tools)) {
            Ok(active) => Arc::new(active),
            Err(taken) => {
                tracing::error!(
                    session = conversation.name,
                    "context blocks have no tools in this turn: {taken}"
                );
                active
            }
        }
    }
}
