//! A store that keeps what is said and nothing of how a turn goes on.

use async_trait::async_trait;
use lathe::session::Compaction;
use lathe::store::{
    Added, Entry, Hit, Incoming, Increment, JournalChange, LastRequest, NewSubmission, Received, SessionInfo,
    SqliteStore, Store, StoreError, Submission, Unfinished,
};
use lathe::turn::{SubmissionStatus, ToolDefinition, UiMessage};

/// Neither a stream nor the beginning of a turn is stored. A question is noted with its turn and an answer ends it, each in the
/// transaction that stores it, as with the journal.
#[derive(Clone)]
pub(crate) struct Unjournaled(pub(crate) SqliteStore);

#[async_trait]
impl Store for Unjournaled {
    async fn append(&self, _: &str, _: &str, _: i64, _: String) -> Result<(), StoreError> {
        Ok(())
    }

    async fn commit(
        &self,
        session: &str,
        request_id: &str,
        messages: Vec<UiMessage>,
        parent: Option<&str>,
        change: JournalChange,
    ) -> Result<(), StoreError> {
        if messages.is_empty() && matches!(change, JournalChange::Begin(_)) {
            return Ok(());
        }
        self.0.commit(session, request_id, messages, parent, change).await
    }

    async fn messages(&self, session: &str) -> Result<Vec<UiMessage>, StoreError> {
        self.0.messages(session).await
    }

    async fn recent(&self, session: &str, bytes: u64) -> Result<Vec<UiMessage>, StoreError> {
        self.0.recent(session, bytes).await
    }

    async fn path(&self, session: &str) -> Result<Vec<UiMessage>, StoreError> {
        self.0.path(session).await
    }

    async fn compact(&self, session: &str, compaction: &Compaction) -> Result<bool, StoreError> {
        self.0.compact(session, compaction).await
    }

    async fn put(&self, session: &str, message: &UiMessage, parent: Option<&str>) -> Result<(), StoreError> {
        self.0.put(session, message, parent).await
    }

    async fn last_request(&self, session: &str) -> Result<LastRequest, StoreError> {
        self.0.last_request(session).await
    }

    async fn set_client_tools(&self, session: &str, tools: Vec<ToolDefinition>) -> Result<(), StoreError> {
        self.0.set_client_tools(session, tools).await
    }

    async fn noted(&self, session: &str, key: &str) -> Result<Option<String>, StoreError> {
        self.0.noted(session, key).await
    }

    async fn set_noted(&self, session: &str, key: &str, text: Option<&str>) -> Result<(), StoreError> {
        self.0.set_noted(session, key, text).await
    }

    async fn receive(&self, session: &str, incoming: Incoming) -> Result<Received, StoreError> {
        self.0.receive(session, incoming).await
    }

    async fn open_session(&self, session: &str) -> Result<Vec<Unfinished>, StoreError> {
        self.0.open_session(session).await
    }

    async fn unfinished(&self, session: &str) -> Result<Vec<Unfinished>, StoreError> {
        self.0.unfinished(session).await
    }

    fn release_session(&self, session: &str) {
        self.0.release_session(session);
    }

    async fn interrupted(&self) -> Result<Vec<String>, StoreError> {
        self.0.interrupted().await
    }

    async fn incident(&self, session: &str, root: &str) -> Result<(Option<String>, u64), StoreError> {
        self.0.incident(session, root).await
    }

    async fn set_incident(
        &self,
        session: &str,
        root: &str,
        incident: Option<String>,
    ) -> Result<(), StoreError> {
        self.0.set_incident(session, root, incident).await
    }

    async fn submit(&self, session: &str, new: NewSubmission) -> Result<Added, StoreError> {
        self.0.submit(session, new).await
    }

    async fn submission(&self, session: &str, id: &str) -> Result<Option<Submission>, StoreError> {
        self.0.submission(session, id).await
    }

    async fn submissions(
        &self,
        session: &str,
        status: Option<SubmissionStatus>,
        limit: u32,
    ) -> Result<Vec<Submission>, StoreError> {
        self.0.submissions(session, status, limit).await
    }

    async fn open_submissions(&self, session: &str) -> Result<Vec<Submission>, StoreError> {
        self.0.open_submissions(session).await
    }

    async fn set_submission(
        &self,
        session: &str,
        id: &str,
        from: &'static [SubmissionStatus],
        to: SubmissionStatus,
        error: Option<String>,
    ) -> Result<bool, StoreError> {
        self.0.set_submission(session, id, from, to, error).await
    }

    async fn delete_submissions(
        &self,
        session: &str,
        id: Option<&str>,
        status: Option<SubmissionStatus>,
        limit: u32,
    ) -> Result<usize, StoreError> {
        self.0.delete_submissions(session, id, status, limit).await
    }

    async fn history(&self, session: &str, message: &str) -> Result<Vec<UiMessage>, StoreError> {
        self.0.history(session, message).await
    }

    async fn siblings(&self, session: &str, message: &str) -> Result<Vec<UiMessage>, StoreError> {
        self.0.siblings(session, message).await
    }

    async fn delete_messages(&self, session: &str, messages: &[String]) -> Result<usize, StoreError> {
        self.0.delete_messages(session, messages).await
    }

    async fn clear(&self, session: &str) -> Result<(), StoreError> {
        self.0.clear(session).await
    }

    async fn search(&self, session: Option<&str>, phrase: &str) -> Result<Vec<Hit>, StoreError> {
        self.0.search(session, phrase).await
    }

    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        self.0.sessions().await
    }

    async fn session(&self, session: &str) -> Result<Option<SessionInfo>, StoreError> {
        self.0.session(session).await
    }

    async fn fork(&self, session: &str, message: Option<&str>, name: &str) -> Result<(), StoreError> {
        self.0.fork(session, message, name).await
    }

    async fn rename(&self, session: &str, name: &str) -> Result<(), StoreError> {
        self.0.rename(session, name).await
    }

    async fn delete(&self, session: &str) -> Result<bool, StoreError> {
        self.0.delete(session).await
    }

    async fn export(&self, session: &str) -> Result<Vec<Entry>, StoreError> {
        self.0.export(session).await
    }

    async fn import(&self, session: &str, entries: Vec<Entry>) -> Result<(), StoreError> {
        self.0.import(session, entries).await
    }

    async fn value(&self, extension: &str, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.value(extension, key).await
    }

    async fn set_value(
        &self,
        extension: &str,
        key: &str,
        value: &[u8],
        limit: u64,
    ) -> Result<bool, StoreError> {
        self.0.set_value(extension, key, value, limit).await
    }

    async fn delete_value(&self, extension: &str, key: &str) -> Result<bool, StoreError> {
        self.0.delete_value(extension, key).await
    }

    async fn keys(&self, extension: &str, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.0.keys(extension, prefix).await
    }

    async fn increment(
        &self,
        extension: &str,
        key: &str,
        delta: i64,
        limit: u64,
    ) -> Result<Increment, StoreError> {
        self.0.increment(extension, key, delta, limit).await
    }

    async fn context(&self, session: &str, label: &str) -> Result<Option<String>, StoreError> {
        self.0.context(session, label).await
    }

    async fn set_context(
        &self,
        session: &str,
        label: &str,
        text: &str,
        create: bool,
    ) -> Result<bool, StoreError> {
        self.0.set_context(session, label, text, create).await
    }

    async fn context_prompt(&self, session: &str) -> Result<Option<String>, StoreError> {
        self.0.context_prompt(session).await
    }

    async fn set_context_prompt(&self, session: &str, prompt: Option<&str>) -> Result<(), StoreError> {
        self.0.set_context_prompt(session, prompt).await
    }

    async fn health(&self, extension: &str) -> Result<Option<(String, u64)>, StoreError> {
        self.0.health(extension).await
    }

    async fn set_health(&self, extension: &str, health: &str) -> Result<(), StoreError> {
        self.0.set_health(extension, health).await
    }
}
