use std::sync::Arc;

use async_trait::async_trait;

use super::holder::Holder;
use super::worker::Worker;
use super::{
    Added, Entry, Hit, Incoming, Increment, JournalChange, LastRequest, NewSubmission, Received, SessionInfo,
    Store, StoreError, Submission, Unfinished, Window, branches, compaction, context, health, journal,
    messages, notes, search, sessions, storage, submissions, tree,
};
use crate::session::{Compaction, begin_with_question};
use crate::turn::{SubmissionStatus, ToolDefinition, UiMessage};

/// A store in one SQLite file, in WAL mode. One thread reads and writes: a second connection would have to read again
/// what the first has just written.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    pub(super) worker: Arc<Worker>,
    pub(super) holder: Arc<Holder>,
}

impl SqliteStore {
    async fn read(&self, session: &str, window: Window) -> Result<Vec<UiMessage>, StoreError> {
        let name = session.to_owned();
        let rows = self.worker.read(move |connection| messages::rows(connection, &name, window)).await?;
        messages::parse(session, &rows)
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn messages(&self, session: &str) -> Result<Vec<UiMessage>, StoreError> {
        self.read(session, Window::Shown(None)).await
    }

    async fn recent(&self, session: &str, bytes: u64) -> Result<Vec<UiMessage>, StoreError> {
        let name = session.to_owned();
        let (rows, whole) =
            self.worker.read(move |connection| messages::recent(connection, &name, bytes)).await?;
        let mut messages = messages::parse(session, &rows)?;
        if !whole {
            begin_with_question(&mut messages);
        }
        Ok(messages)
    }

    async fn path(&self, session: &str) -> Result<Vec<UiMessage>, StoreError> {
        self.read(session, Window::Stored).await
    }

    async fn compact(&self, session: &str, compaction: &Compaction) -> Result<bool, StoreError> {
        let (session, compaction) = (session.to_owned(), compaction.clone());
        self.worker.write(move |connection| compaction::compact(connection, &session, &compaction)).await
    }

    async fn put(&self, session: &str, message: &UiMessage, parent: Option<&str>) -> Result<(), StoreError> {
        let (session, message, parent) = (session.to_owned(), message.clone(), parent.map(str::to_owned));
        self.worker
            .write(move |connection| messages::put(connection, &session, &message, parent.as_deref()))
            .await
    }

    async fn set_client_tools(&self, session: &str, tools: Vec<ToolDefinition>) -> Result<(), StoreError> {
        let session = session.to_owned();
        self.worker.write(move |connection| messages::set_client_tools(connection, &session, tools)).await
    }

    async fn receive(&self, session: &str, incoming: Incoming) -> Result<Received, StoreError> {
        let session = session.to_owned();
        self.worker.write(move |connection| messages::receive(connection, &session, incoming)).await
    }

    async fn open_session(&self, session: &str) -> Result<Vec<Unfinished>, StoreError> {
        let (session, holder) = (session.to_owned(), self.holder.clone());
        self.worker
            .write(move |connection| {
                holder.take(connection, &session)?;
                journal::unfinished(connection, &session)
            })
            .await
    }

    async fn unfinished(&self, session: &str) -> Result<Vec<Unfinished>, StoreError> {
        let session = session.to_owned();
        self.worker.read(move |connection| journal::unfinished(connection, &session)).await
    }

    fn release_session(&self, session: &str) {
        let (session, holder) = (session.to_owned(), self.holder.clone());
        self.worker.post(move |connection| holder.release(connection, &session));
    }

    async fn interrupted(&self) -> Result<Vec<String>, StoreError> {
        self.worker.read(journal::interrupted).await
    }

    async fn commit(
        &self,
        session: &str,
        request_id: &str,
        messages: Vec<UiMessage>,
        parent: Option<&str>,
        change: JournalChange,
    ) -> Result<(), StoreError> {
        let (session, request_id) = (session.to_owned(), request_id.to_owned());
        let parent = parent.map(str::to_owned);
        self.worker
            .write(move |connection| {
                journal::commit(connection, &session, &request_id, &messages, parent.as_deref(), &change)
            })
            .await
    }

    async fn append(
        &self,
        session: &str,
        request_id: &str,
        pack: i64,
        chunks: String,
    ) -> Result<(), StoreError> {
        let (session, request_id) = (session.to_owned(), request_id.to_owned());
        self.worker
            .write(move |connection| journal::append(connection, &session, &request_id, pack, &chunks))
            .await
    }

    async fn incident(&self, session: &str, root: &str) -> Result<(Option<String>, u64), StoreError> {
        let (session, root) = (session.to_owned(), root.to_owned());
        self.worker.read(move |connection| journal::incident(connection, &session, &root)).await
    }

    async fn set_incident(
        &self,
        session: &str,
        root: &str,
        incident: Option<String>,
    ) -> Result<(), StoreError> {
        let (session, root) = (session.to_owned(), root.to_owned());
        self.worker
            .write(move |connection| journal::set_incident(connection, &session, &root, incident.as_deref()))
            .await
    }

    async fn submit(&self, session: &str, new: NewSubmission) -> Result<Added, StoreError> {
        let session = session.to_owned();
        self.worker.write(move |connection| submissions::add(connection, &session, &new)).await
    }

    async fn submission(&self, session: &str, id: &str) -> Result<Option<Submission>, StoreError> {
        let (session, id) = (session.to_owned(), id.to_owned());
        self.worker.read(move |connection| submissions::get(connection, &session, &id)).await
    }

    async fn submissions(
        &self,
        session: &str,
        status: Option<SubmissionStatus>,
        limit: u32,
    ) -> Result<Vec<Submission>, StoreError> {
        let session = session.to_owned();
        self.worker.read(move |connection| submissions::list(connection, &session, status, limit)).await
    }

    async fn open_submissions(&self, session: &str) -> Result<Vec<Submission>, StoreError> {
        let session = session.to_owned();
        self.worker.read(move |connection| submissions::open(connection, &session)).await
    }

    async fn set_submission(
        &self,
        session: &str,
        id: &str,
        from: &'static [SubmissionStatus],
        to: SubmissionStatus,
        error: Option<String>,
    ) -> Result<bool, StoreError> {
        let (session, id) = (session.to_owned(), id.to_owned());
        self.worker
            .write(move |connection| {
                submissions::set_status(connection, &session, &id, from, to, error.as_deref())
            })
            .await
    }

    async fn delete_submissions(
        &self,
        session: &str,
        id: Option<&str>,
        status: Option<SubmissionStatus>,
        limit: u32,
    ) -> Result<usize, StoreError> {
        let (session, id) = (session.to_owned(), id.map(str::to_owned));
        self.worker
            .write(move |connection| submissions::delete(connection, &session, id.as_deref(), status, limit))
            .await
    }

    async fn last_request(&self, session: &str) -> Result<LastRequest, StoreError> {
        let session = session.to_owned();
        self.worker.read(move |connection| messages::last_request(connection, &session)).await
    }

    async fn history(&self, session: &str, message: &str) -> Result<Vec<UiMessage>, StoreError> {
        let (name, message) = (session.to_owned(), message.to_owned());
        let rows = self.worker.read(move |connection| branches::history(connection, &name, &message)).await?;
        messages::parse(session, &rows)
    }

    async fn siblings(&self, session: &str, message: &str) -> Result<Vec<UiMessage>, StoreError> {
        let (name, message) = (session.to_owned(), message.to_owned());
        let rows =
            self.worker.read(move |connection| branches::siblings(connection, &name, &message)).await?;
        messages::parse(session, &rows)
    }

    async fn delete_messages(&self, session: &str, messages: &[String]) -> Result<usize, StoreError> {
        let (session, messages) = (session.to_owned(), messages.to_owned());
        self.worker.write(move |connection| branches::delete(connection, &session, &messages)).await
    }

    async fn clear(&self, session: &str) -> Result<(), StoreError> {
        let session = session.to_owned();
        self.worker.write(move |connection| sessions::clear(connection, &session)).await
    }

    async fn search(&self, session: Option<&str>, phrase: &str) -> Result<Vec<Hit>, StoreError> {
        let (session, phrase) = (session.map(str::to_owned), phrase.to_owned());
        loop {
            let session = session.clone();
            if self.worker.write(move |connection| search::index(connection, session.as_deref())).await? {
                break;
            }
        }
        self.worker.read(move |connection| search::search(connection, session.as_deref(), &phrase)).await
    }

    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        self.worker.read(sessions::list).await
    }

    async fn session(&self, session: &str) -> Result<Option<SessionInfo>, StoreError> {
        let session = session.to_owned();
        self.worker.read(move |connection| sessions::get(connection, &session)).await
    }

    async fn fork(&self, session: &str, message: Option<&str>, name: &str) -> Result<(), StoreError> {
        let (session, message, name) = (session.to_owned(), message.map(str::to_owned), name.to_owned());
        self.worker
            .write(move |connection| branches::fork(connection, &session, message.as_deref(), &name))
            .await
    }

    async fn rename(&self, session: &str, name: &str) -> Result<(), StoreError> {
        let (session, name, holder) = (session.to_owned(), name.to_owned(), self.holder.clone());
        self.worker.write(move |connection| sessions::rename(connection, &holder, &session, &name)).await
    }

    async fn delete(&self, session: &str) -> Result<bool, StoreError> {
        let (session, holder) = (session.to_owned(), self.holder.clone());
        self.worker.write(move |connection| sessions::delete(connection, &holder, &session)).await
    }

    async fn export(&self, session: &str) -> Result<Vec<Entry>, StoreError> {
        let session = session.to_owned();
        self.worker.read(move |connection| tree::export(connection, &session)).await
    }

    async fn import(&self, session: &str, entries: Vec<Entry>) -> Result<(), StoreError> {
        let session = session.to_owned();
        self.worker.write(move |connection| tree::import(connection, &session, &entries)).await
    }

    async fn value(&self, extension: &str, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let (extension, key) = (extension.to_owned(), key.to_owned());
        self.worker.read(move |connection| storage::value(connection, &extension, &key)).await
    }

    async fn set_value(
        &self,
        extension: &str,
        key: &str,
        value: &[u8],
        limit: u64,
    ) -> Result<bool, StoreError> {
        let (extension, key, value) = (extension.to_owned(), key.to_owned(), value.to_owned());
        self.worker.write(move |connection| storage::set(connection, &extension, &key, &value, limit)).await
    }

    async fn delete_value(&self, extension: &str, key: &str) -> Result<bool, StoreError> {
        let (extension, key) = (extension.to_owned(), key.to_owned());
        self.worker.write(move |connection| storage::delete(connection, &extension, &key)).await
    }

    async fn keys(&self, extension: &str, prefix: &str) -> Result<Vec<String>, StoreError> {
        let (extension, prefix) = (extension.to_owned(), prefix.to_owned());
        self.worker.read(move |connection| storage::keys(connection, &extension, &prefix)).await
    }

    async fn increment(
        &self,
        extension: &str,
        key: &str,
        delta: i64,
        limit: u64,
    ) -> Result<Increment, StoreError> {
        let (extension, key) = (extension.to_owned(), key.to_owned());
        self.worker
            .write(move |connection| storage::increment(connection, &extension, &key, delta, limit))
            .await
    }

    async fn noted(&self, session: &str, key: &str) -> Result<Option<String>, StoreError> {
        let (session, key) = (session.to_owned(), key.to_owned());
        self.worker.read(move |connection| notes::get(connection, &session, &key)).await
    }

    async fn set_noted(&self, session: &str, key: &str, text: Option<&str>) -> Result<(), StoreError> {
        let (session, key, text) = (session.to_owned(), key.to_owned(), text.map(str::to_owned));
        self.worker.write(move |connection| notes::set(connection, &session, &key, text.as_deref())).await
    }

    async fn context(&self, session: &str, label: &str) -> Result<Option<String>, StoreError> {
        let (session, label) = (session.to_owned(), label.to_owned());
        self.worker.read(move |connection| context::get(connection, &session, &label)).await
    }

    async fn set_context(
        &self,
        session: &str,
        label: &str,
        text: &str,
        create: bool,
    ) -> Result<bool, StoreError> {
        let (session, label, text) = (session.to_owned(), label.to_owned(), text.to_owned());
        self.worker.write(move |connection| context::set(connection, &session, &label, &text, create)).await
    }

    async fn context_prompt(&self, session: &str) -> Result<Option<String>, StoreError> {
        let session = session.to_owned();
        self.worker.read(move |connection| context::prompt(connection, &session)).await
    }

    async fn set_context_prompt(&self, session: &str, prompt: Option<&str>) -> Result<(), StoreError> {
        let (session, prompt) = (session.to_owned(), prompt.map(str::to_owned));
        self.worker
            .write(move |connection| context::set_prompt(connection, &session, prompt.as_deref()))
            .await
    }

    async fn health(&self, extension: &str) -> Result<Option<(String, u64)>, StoreError> {
        let extension = extension.to_owned();
        self.worker.read(move |connection| health::get(connection, &extension)).await
    }

    async fn set_health(&self, extension: &str, health: &str) -> Result<(), StoreError> {
        let (extension, health) = (extension.to_owned(), health.to_owned());
        self.worker.write(move |connection| health::set(connection, &extension, &health)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn open(folder: &tempfile::TempDir) -> SqliteStore {
        SqliteStore::open(&folder.path().join("deep/lathe.db")).await.unwrap()
    }

    #[tokio::test]
    async fn a_conversation_is_there_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder).await;
        for (session, id, text) in
            [("a", "1", "one"), ("b", "1", "other"), ("a", "2", "two"), ("a", "1", "ONE")]
        {
            store.put(session, &UiMessage::user(id, text), None).await.unwrap();
        }
        store.close().await;
        let messages = open(&folder).await.messages("a").await.unwrap();
        assert_eq!(messages, [UiMessage::user("1", "ONE"), UiMessage::user("2", "two")]);
        assert_eq!(open(&folder).await.messages("c").await.unwrap(), []);
    }

    #[tokio::test]
    async fn an_answer_to_an_earlier_message_is_a_branch_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder).await;
        let put = async |id: &str, parent| store.put("a", &UiMessage::user(id, id), parent).await;
        for (id, parent) in [("1", None), ("2", None), ("3", None), ("2b", Some("1")), ("3b", None)] {
            put(id, parent).await.unwrap();
        }
        let path = async || -> Vec<String> {
            store.messages("a").await.unwrap().into_iter().map(|message| message.id).collect()
        };
        assert_eq!(path().await, ["1", "2b", "3b"]);
        put("2", None).await.unwrap();
        assert_eq!(path().await, ["1", "2b", "3b"], "to change a message is not to go back to it");
        let error = put("4", Some("nowhere")).await.unwrap_err().to_string();
        assert!(error.contains("nowhere"), "{error}");
        assert_eq!(path().await, ["1", "2b", "3b"]);
    }

    #[tokio::test]
    async fn a_newer_schema_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder).await;
        store.execute("PRAGMA user_version = 9999").await;
        store.close().await;
        let error = SqliteStore::open(&folder.path().join("deep/lathe.db")).await.unwrap_err();
        assert!(matches!(error, StoreError::Newer { found: 9999, .. }), "{error}");
    }

    #[tokio::test]
    async fn what_is_no_database_is_said_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lathe.db");
        std::fs::write(
            &file,
            "a shopping list, longer than a header of a hundred bytes would be: ".repeat(4),
        )
        .unwrap();
        let before = std::fs::read(&file).unwrap();
        let error = SqliteStore::open(&file).await.unwrap_err().to_string();
        assert!(error.contains("lathe.db") && error.contains("not a database"), "{error}");
        assert_eq!(std::fs::read(&file).unwrap(), before);
    }

    #[tokio::test]
    async fn a_row_that_cannot_be_read_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder).await;
        store.put("a", &UiMessage::user("m7", "x"), None).await.unwrap();
        store.execute("UPDATE messages SET body = '{\"id\": 7}'").await;
        let error = store.messages("a").await.unwrap_err().to_string();
        assert!(error.contains("m7"), "{error}");
    }
}
