use super::{EntryError, Session};
use crate::store::Hit;
use crate::turn::UiMessage;

/// The conversation as the tree that it is.
impl Session {
    /// The answers to the same message as that one, itself among them, in the order in which they came: what
    /// [`regenerate`](Self::regenerate) has made.
    ///
    /// # Errors
    ///
    /// If there is no such message, or the store fails.
    pub async fn branches(&self, message_id: &str) -> Result<Vec<UiMessage>, EntryError> {
        Ok(self.store().siblings(self.name(), message_id).await?)
    }

    /// The conversation that leads to a message, which is its last one.
    ///
    /// # Errors
    ///
    /// If there is no such message, or the store fails.
    pub async fn history(&self, message_id: &str) -> Result<Vec<UiMessage>, EntryError> {
        Ok(self.store().history(self.name(), message_id).await?)
    }

    /// The last messages of the conversation, as many as have `bytes` together as they are stored; at least one.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn recent_history(&self, bytes: u64) -> Result<Vec<UiMessage>, EntryError> {
        Ok(self.store().recent(self.name(), bytes).await?)
    }

    /// The message where the conversation stands; none if nothing was said yet.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn latest_leaf(&self) -> Result<Option<UiMessage>, EntryError> {
        Ok(self.recent_history(0).await?.pop())
    }

    /// Deletes messages, and the summaries that tell of them. What answered one of them answers what that one answered.
    /// Returns how many there were.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn delete_messages(&self, message_ids: &[String]) -> Result<usize, EntryError> {
        Ok(self.store().delete_messages(self.name(), message_ids).await?)
    }

    /// The messages that say a phrase, those of all branches; see [`Store::search`](crate::store::Store::search).
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn search(&self, phrase: &str) -> Result<Vec<Hit>, EntryError> {
        Ok(self.store().search(Some(self.name()), phrase).await?)
    }

    /// Deletes all messages. Context blocks stay.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn clear_messages(&self) -> Result<(), EntryError> {
        Ok(self.store().clear(self.name()).await?)
    }
}
