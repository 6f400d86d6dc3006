//! Sessions as wholes.

use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;

use super::StoreError;
use super::holder::Holder;

/// What a list says of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// Its name.
    pub name: String,
    /// How many messages it has, those of all branches.
    pub messages: u64,
    /// How many bytes they have as they are stored.
    pub bytes: u64,
    /// When it began, as `2026-01-31T12:00:00.000Z`.
    pub created_at: String,
    /// When a message came, changed or was deleted last.
    pub changed_at: String,
}

const COLUMNS: &str =
    "SELECT name, messages, bytes, created_at, coalesce(changed_at, created_at) FROM sessions";

fn info(row: &Row<'_>) -> rusqlite::Result<SessionInfo> {
    Ok(SessionInfo {
        name: row.get(0)?,
        messages: row.get::<_, i64>(1)?.try_into().unwrap_or(0),
        bytes: row.get::<_, i64>(2)?.try_into().unwrap_or(0),
        created_at: row.get(3)?,
        changed_at: row.get(4)?,
    })
}

/// Those that have changed last first.
pub(super) fn list(connection: &Connection) -> Result<Vec<SessionInfo>, StoreError> {
    let mut statement = connection.prepare_cached(&format!("{COLUMNS} ORDER BY 5 DESC, name"))?;
    let rows = statement.query_map([], info)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn get(connection: &Connection, session: &str) -> Result<Option<SessionInfo>, StoreError> {
    let mut statement = connection.prepare_cached(&format!("{COLUMNS} WHERE name = ?"))?;
    Ok(statement.query_row([session], info).optional()?)
}

pub(super) fn id(connection: &Connection, session: &str) -> Result<Option<i64>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT id FROM sessions WHERE name = ?")?;
    Ok(statement.query_row([session], |row| row.get(0)).optional()?)
}

/// The session of that name, which must be there.
pub(super) fn known(connection: &Connection, session: &str) -> Result<i64, StoreError> {
    id(connection, session)?.ok_or_else(|| StoreError::NoSession(session.to_owned()))
}

/// A new session of that name.
pub(super) fn create(connection: &Connection, session: &str) -> Result<i64, StoreError> {
    if id(connection, session)?.is_some() {
        return Err(StoreError::Taken(session.to_owned()));
    }
    Ok(connection.prepare_cached("INSERT INTO sessions (name) VALUES (?)")?.insert([session])?)
}

pub(super) fn rename(
    connection: &Connection,
    holder: &Holder,
    session: &str,
    name: &str,
) -> Result<(), StoreError> {
    let session_id = known(connection, session)?;
    holder.may_change(connection, session)?;
    if session == name {
        return Ok(());
    }
    if id(connection, name)?.is_some() {
        return Err(StoreError::Taken(name.to_owned()));
    }
    connection.execute("UPDATE sessions SET name = ? WHERE id = ?", (name, session_id))?;
    connection.execute("UPDATE context_blocks SET session = ? WHERE session = ?", (name, session))?;
    Ok(())
}

pub(super) fn delete(connection: &Connection, holder: &Holder, session: &str) -> Result<bool, StoreError> {
    holder.may_change(connection, session)?;
    connection.execute("DELETE FROM context_blocks WHERE session = ?", [session])?;
    Ok(connection.execute("DELETE FROM sessions WHERE name = ?", [session])? > 0)
}

/// Deletes all messages, and what the last request said. The session and its context blocks stay.
pub(super) fn clear(connection: &Connection, session: &str) -> Result<(), StoreError> {
    let Some(session_id) = id(connection, session)? else { return Ok(()) };
    connection.execute(
        "UPDATE sessions SET leaf_number = NULL, last_request = NULL, context_prompt = NULL WHERE id = ?",
        [session_id],
    )?;
    connection.execute("DELETE FROM messages WHERE session_id = ?", [session_id])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::session::Compaction;
    use crate::store::{SqliteStore, Store, StoreError};
    use crate::turn::UiMessage;

    async fn open(folder: &tempfile::TempDir) -> SqliteStore {
        SqliteStore::open(&folder.path().join("lathe.db")).await.unwrap()
    }

    async fn say(store: &SqliteStore, session: &str, ids: &[&str]) {
        for id in ids {
            store.put(session, &UiMessage::user(*id, "word ".repeat(50)), None).await.unwrap();
        }
    }

    async fn ids(store: &SqliteStore, session: &str) -> Vec<String> {
        store.messages(session).await.unwrap().into_iter().map(|message| message.id).collect()
    }

    #[tokio::test]
    async fn a_list_says_what_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder).await;
        say(&store, "older", &["1"]).await;
        say(&store, "newer", &["1", "2", "3"]).await;
        store.put("newer", &UiMessage::user("2", "longer".repeat(100)), None).await.unwrap();
        store.delete_messages("newer", &["3".into(), "never".into()]).await.unwrap();
        let all = store.sessions().await.unwrap();
        let sizes = async |session: &str| -> u64 {
            let messages = store.messages(session).await.unwrap();
            messages.iter().map(|message| serde_json::to_string(message).unwrap().len() as u64).sum()
        };
        let shown: Vec<_> = all.iter().map(|one| (&*one.name, one.messages, one.bytes)).collect();
        assert_eq!(shown, [("newer", 2, sizes("newer").await), ("older", 1, sizes("older").await)]);
        assert!(all[0].changed_at >= all[0].created_at);
        assert_eq!(store.session("older").await.unwrap().as_ref(), Some(&all[1]));
        assert_eq!(store.session("never").await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_fork_goes_its_own_way() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder).await;
        say(&store, "a", &["1", "2", "3", "4", "5"]).await;
        store.set_context("a", "memory", "kept", true).await.unwrap();
        let summary = Compaction::new("2", "3", "short");
        store.compact("a", &summary).await.unwrap();
        store.fork("a", Some("4"), "b").await.unwrap();
        say(&store, "b", &["5b"]).await;
        assert_eq!(ids(&store, "b").await, ["1", &summary.summary.id, "4", "5b"]);
        assert_eq!(ids(&store, "a").await, ["1", &summary.summary.id, "4", "5"]);
        assert_eq!(store.path("b").await.unwrap().len(), 5);
        assert_eq!(store.context("b", "memory").await.unwrap().as_deref(), Some("kept"));
        store.fork("a", None, "c").await.unwrap();
        assert_eq!(ids(&store, "c").await, ids(&store, "a").await);
        store.fork("a", Some("2"), "d").await.unwrap();
        assert_eq!(ids(&store, "d").await, ["1", "2"]);
        assert!(matches!(store.fork("a", None, "b").await, Err(StoreError::Taken(_))));
        assert!(matches!(store.fork("x", None, "y").await, Err(StoreError::NoSession(_))));
        assert!(matches!(store.fork("a", Some("9"), "y").await, Err(StoreError::Missing { .. })));
        assert_eq!(store.session("y").await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_session_takes_all_that_it_has_to_its_new_name() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder).await;
        say(&store, "a", &["1"]).await;
        say(&store, "b", &["1"]).await;
        store.set_context("a", "memory", "kept", true).await.unwrap();
        store.rename("a", "c").await.unwrap();
        assert_eq!(ids(&store, "c").await, ["1"]);
        assert_eq!(store.context("c", "memory").await.unwrap().as_deref(), Some("kept"));
        assert_eq!(store.context("a", "memory").await.unwrap(), None);
        assert!(matches!(store.rename("c", "b").await, Err(StoreError::Taken(_))));
        assert!(matches!(store.rename("a", "d").await, Err(StoreError::NoSession(_))));
    }

    #[tokio::test]
    async fn what_is_deleted_is_gone_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder).await;
        say(&store, "a", &["1", "2", "3"]).await;
        say(&store, "b", &["1", "2", "3"]).await;
        store.compact("a", &Compaction::new("1", "2", "short")).await.unwrap();
        store.set_context("a", "memory", "gone", true).await.unwrap();
        assert!(store.delete("a").await.unwrap());
        assert!(!store.delete("a").await.unwrap());
        assert_eq!(store.context("a", "memory").await.unwrap(), None);
        store.clear("b").await.unwrap();
        assert_eq!(ids(&store, "b").await, [""; 0]);
        say(&store, "b", &["1"]).await;
        assert_eq!(store.session("b").await.unwrap().unwrap().messages, 1);
        assert_eq!(store.sessions().await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn answers_to_a_deleted_message_answer_what_it_answered() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder).await;
        say(&store, "a", &["1", "2", "3", "4", "5", "6"]).await;
        store.compact("a", &Compaction::new("2", "4", "it tells of 3")).await.unwrap();
        assert_eq!(store.delete_messages("a", &["3".into(), "6".into()]).await.unwrap(), 2);
        assert_eq!(ids(&store, "a").await, ["1", "2", "4", "5"], "the summary told of it");
        assert_eq!(store.delete_messages("a", &["1".into()]).await.unwrap(), 1);
        say(&store, "a", &["7"]).await;
        assert_eq!(ids(&store, "a").await, ["2", "4", "5", "7"]);
    }

    #[tokio::test]
    async fn of_a_session_that_was_only_asked_for_nothing_stays() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder).await;
        store.set_context("block", "memory", "kept", true).await.unwrap();
        for session in ["blank", "block", "empty", "said"] {
            store.open_session(session).await.unwrap();
        }
        say(&store, "empty", &["1"]).await;
        store.clear("empty").await.unwrap();
        say(&store, "said", &["1"]).await;
        store.open_session("blank").await.unwrap();
        store.release_session("blank");
        assert!(store.session("blank").await.unwrap().is_some(), "somebody else has it still");
        for session in ["blank", "block", "empty", "said"] {
            store.release_session(session);
        }
        let mut names: Vec<String> =
            store.sessions().await.unwrap().into_iter().map(|session| session.name).collect();
        names.sort();
        assert_eq!(names, ["block", "empty", "said"]);
    }
}
