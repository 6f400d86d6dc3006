//! What a server notes of sessions.

use rusqlite::{Connection, OptionalExtension};

use super::{StoreError, messages};

pub(super) fn get(connection: &Connection, session: &str, key: &str) -> Result<Option<String>, StoreError> {
    let text = connection
        .prepare_cached(
            "SELECT text FROM notes WHERE session_id = (SELECT id FROM sessions WHERE name = ?) AND key = ?",
        )?
        .query_row([session, key], |row| row.get(0))
        .optional()?;
    Ok(text)
}

pub(super) fn set(
    connection: &Connection,
    session: &str,
    key: &str,
    text: Option<&str>,
) -> Result<(), StoreError> {
    let (session_id, _) = messages::place(connection, session)?;
    match text {
        Some(text) => connection
            .prepare_cached("INSERT OR REPLACE INTO notes (session_id, key, text) VALUES (?, ?, ?)")?
            .execute((session_id, key, text))?,
        None => connection
            .prepare_cached("DELETE FROM notes WHERE session_id = ? AND key = ?")?
            .execute((session_id, key))?,
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::store::{SqliteStore, Store};

    #[tokio::test]
    async fn a_note_goes_with_its_session() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("lathe.db")).await.unwrap();
        assert_eq!(store.noted("s", "state").await.unwrap(), None);
        for text in ["one", "two"] {
            store.set_noted("s", "state", Some(text)).await.unwrap();
        }
        assert_eq!(store.noted("s", "state").await.unwrap().as_deref(), Some("two"));
        assert_eq!(store.noted("s", "other").await.unwrap(), None);
        store.clear("s").await.unwrap();
        assert_eq!(store.noted("s", "state").await.unwrap().as_deref(), Some("two"));
        store.rename("s", "t").await.unwrap();
        assert_eq!(store.noted("s", "state").await.unwrap(), None);
        store.set_noted("t", "state", None).await.unwrap();
        assert_eq!(store.noted("t", "state").await.unwrap(), None);
        store.set_noted("t", "state", Some("three")).await.unwrap();
        assert!(store.delete("t").await.unwrap());
        assert_eq!(store.noted("t", "state").await.unwrap(), None);
    }
}
