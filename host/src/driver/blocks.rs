//! The context blocks of one session.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Active, Conversation, Setup, TurnDriver};
use crate::session::{ContextBlock, ContextError, ContextMode};
use crate::store::{Store, StoreError};

/// The blocks that a turn begins with, in order, and where their texts are.
#[derive(Clone)]
pub(crate) struct Blocks {
    session: String,
    store: Arc<dyn Store>,
    /// The agent's and the extensions'.
    lasting: Vec<ContextBlock>,
    /// Those that were added to the session while it runs.
    added: Vec<ContextBlock>,
}

/// What the system prompt says of the blocks, as it is kept until it is rendered anew.
#[derive(Serialize, Deserialize)]
struct Frozen {
    /// The lasting blocks that it is of: with other ones, such as those of an extension that was loaded since, it is
    /// rendered anew.
    of: String,
    text: String,
}

fn failed(error: &StoreError) -> ContextError {
    ContextError::Failed(error.to_string())
}

impl Blocks {
    pub(crate) fn new(setup: &Setup, active: &Active, conversation: &Conversation) -> Self {
        let mut lasting = setup.blocks.clone();
        // A block that its extension may not write would stay empty.
        for extension in &active.extensions {
            for block in &extension.manifest.context {
                let label = extension.manifest.context_label(block);
                if extension.grant.writes(&label) && !lasting.iter().any(|other| other.label() == label) {
                    let mut own = ContextBlock::new(label);
                    if let Some(description) = &block.description {
                        own = own.description(description);
                    }
                    if let Some(tokens) = block.max_tokens {
                        own = own.max_tokens(tokens.into());
                    }
                    lasting.push(own);
                }
            }
        }
        Self {
            session: conversation.name.clone(),
            store: setup.store.clone(),
            lasting,
            added: conversation.blocks.read().clone(),
        }
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &ContextBlock> {
        self.lasting.iter().chain(&self.added)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// The labels of those of one kind.
    pub(super) fn labels(&self, mode: ContextMode) -> Vec<&str> {
        self.all().filter(|block| block.mode() == mode).map(ContextBlock::label).collect()
    }

    pub(super) fn find(&self, label: &str, mode: ContextMode) -> Result<&ContextBlock, ContextError> {
        self.all()
            .find(|block| block.label() == label && block.mode() == mode)
            .ok_or_else(|| ContextError::Unknown(label.to_owned()))
    }

    /// The text of a block as it is now.
    pub(crate) async fn text(&self, block: &ContextBlock) -> Result<String, ContextError> {
        match block.provider() {
            Ok(provider) => provider.get(&self.session).await,
            Err(Some(text)) => Ok(text.to_owned()),
            Err(None) => {
                let stored = self.store.context(&self.session, block.label()).await;
                match stored.map_err(|error| failed(&error))? {
                    Some(text) => Ok(text),
                    None => {
                        // There from now on, for extensions that may write it.
                        let text = block.initial();
                        let made = self.store.set_context(&self.session, block.label(), text, true).await;
                        made.map(|_| text.to_owned()).map_err(|error| failed(&error))
                    }
                }
            }
        }
    }

    /// Replaces the text of a block, or adds to it, in a line of its own. Returns the block and the text that it has now.
    pub(crate) async fn write(
        &self,
        label: &str,
        text: &str,
        append: bool,
    ) -> Result<(&ContextBlock, String), ContextError> {
        let block = self.find(label, ContextMode::Writable)?;
        let mut whole = if append { self.text(block).await? } else { String::new() };
        if !whole.is_empty() && !text.is_empty() {
            whole.push('\n');
        }
        whole.push_str(text);
        block.fits(&whole)?;
        match block.provider() {
            Ok(provider) => provider.set(&self.session, &whole).await?,
            Err(_) => {
                let set = self.store.set_context(&self.session, label, &whole, true).await;
                set.map_err(|error| failed(&error))?;
            }
        }
        Ok((block, whole))
    }

    pub(super) fn session(&self) -> &str {
        &self.session
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// What the system prompt says of the blocks: as it was rendered last.
    pub(crate) async fn prompt(&self) -> Result<String, ContextError> {
        let frozen = self.store.context_prompt(&self.session).await.map_err(|error| failed(&error))?;
        // What another version has written is rendered anew.
        if let Some(Ok(Frozen { of, text })) = frozen.map(|frozen| serde_json::from_str(&frozen))
            && of == self.of()
        {
            return Ok(text);
        }
        self.refresh().await
    }

    /// Renders it anew.
    pub(crate) async fn refresh(&self) -> Result<String, ContextError> {
        let mut parts = Vec::new();
        for block in self.all() {
            parts.push(block.render(&self.text(block).await?));
        }
        let frozen = Frozen { of: self.of(), text: parts.join("\n\n") };
        let kept = serde_json::to_string(&frozen).map_err(|error| ContextError::Failed(error.to_string()))?;
        let kept = self.store.set_context_prompt(&self.session, Some(&kept)).await;
        kept.map(|()| frozen.text).map_err(|error| failed(&error))
    }

    fn of(&self) -> String {
        self.lasting.iter().map(ContextBlock::about).collect::<Vec<String>>().join("\n")
    }
}

impl TurnDriver {
    /// The system prompt with what it says of context blocks. Without blocks it is what it was.
    pub(super) async fn system(&self) -> Result<String, ContextError> {
        let own = &self.conversation.system;
        let blocks = Blocks::new(&self.setup, &self.input.active, &self.conversation);
        if blocks.is_empty() {
            return Ok(own.clone());
        }
        let prompt = blocks.prompt().await?;
        Ok(if own.is_empty() { prompt } else { format!("{own}\n\n{prompt}") })
    }
}
