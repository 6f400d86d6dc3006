use super::{EntryError, Session};
use crate::driver::Blocks;
use crate::session::{ContextBlock, ContextError};

/// Its context blocks.
impl Session {
    fn blocks(&self) -> Blocks {
        Blocks::new(&self.live.setup, &self.live.setup.active(), &self.live.conversation)
    }

    /// Adds a context block while the session is held by somebody; what is written to it stays stored. Its tools are there
    /// from the next turn on, its text after the next refresh of the system prompt.
    ///
    /// # Errors
    ///
    /// If there is a block of that label, or it is not usable.
    pub fn add_context(&self, block: ContextBlock) -> Result<(), EntryError> {
        block.check()?;
        if self.blocks().all().any(|other| other.label() == block.label()) {
            return Err(ContextError::Taken(block.label().to_owned()).into());
        }
        self.live.conversation.blocks.write().push(block);
        Ok(())
    }

    /// Takes away a block that was added; false if there is none. The system prompt shows it until its next refresh, and
    /// its text stays stored.
    #[must_use]
    pub fn remove_context(&self, label: &str) -> bool {
        let mut blocks = self.live.conversation.blocks.write();
        let before = blocks.len();
        blocks.retain(|block| block.label() != label);
        blocks.len() < before
    }

    /// The text of a context block as it is now, whether the model is shown it yet or not; none if there is no such block.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub async fn context(&self, label: &str) -> Result<Option<String>, EntryError> {
        let blocks = self.blocks();
        match blocks.all().find(|block| block.label() == label) {
            Some(block) => Ok(Some(blocks.text(block).await?)),
            None => Ok(None),
        }
    }

    /// Replaces the text of a context block that can be written. The model is shown it after the next refresh.
    ///
    /// # Errors
    ///
    /// If there is no such block, the text is too long for it, or it cannot be stored. Nothing has changed then.
    pub async fn set_context(&self, label: &str, text: &str) -> Result<(), EntryError> {
        self.blocks().write(label, text, false).await?;
        Ok(())
    }

    /// Renders what the system prompt says of context blocks anew, and returns it: the next turn is shown what was written
    /// meanwhile. Shortening the conversation and deleting all messages do the same.
    ///
    /// # Errors
    ///
    /// If a block cannot be read, or the store fails.
    pub async fn refresh_system_prompt(&self) -> Result<String, EntryError> {
        Ok(self.blocks().refresh().await?)
    }
}
