//! The context blocks of sessions.

use rusqlite::{Connection, OptionalExtension};

use super::StoreError;

pub(super) fn get(connection: &Connection, session: &str, label: &str) -> Result<Option<String>, StoreError> {
    let text = connection
        .prepare_cached("SELECT text FROM context_blocks WHERE session = ? AND label = ?")?
        .query_row([session, label], |row| row.get(0))
        .optional()?;
    Ok(text)
}

pub(super) fn set(
    connection: &Connection,
    session: &str,
    label: &str,
    text: &str,
    create: bool,
) -> Result<bool, StoreError> {
    let statement = if create {
        "INSERT INTO context_blocks (session, label, text) VALUES (?1, ?2, ?3) \
         ON CONFLICT (session, label) DO UPDATE SET text = excluded.text"
    } else {
        "UPDATE context_blocks SET text = ?3 WHERE session = ?1 AND label = ?2"
    };
    Ok(connection.prepare_cached(statement)?.execute([session, label, text])? > 0)
}

/// What the system prompt says of them.
pub(super) fn prompt(connection: &Connection, session: &str) -> Result<Option<String>, StoreError> {
    let found: Option<Option<String>> = connection
        .prepare_cached("SELECT context_prompt FROM sessions WHERE name = ?")?
        .query_row([session], |row| row.get(0))
        .optional()?;
    Ok(found.flatten())
}

pub(super) fn set_prompt(
    connection: &Connection,
    session: &str,
    prompt: Option<&str>,
) -> Result<(), StoreError> {
    connection
        .prepare_cached("UPDATE sessions SET context_prompt = ? WHERE name = ?")?
        .execute((prompt, session))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::store::{SqliteStore, Store};

    #[tokio::test]
    async fn blocks_belong_to_their_session_and_are_made_only_where_that_is_meant() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("lathe.db")).await.unwrap();
        assert!(!store.set_context("s", "memory", "one", false).await.unwrap());
        assert_eq!(store.context("s", "memory").await.unwrap(), None);
        assert!(store.set_context("s", "memory", "one", true).await.unwrap());
        assert!(store.set_context("s", "memory", "two", false).await.unwrap());
        assert!(store.set_context("s", "memory", "three", true).await.unwrap());
        assert_eq!(store.context("s", "memory").await.unwrap().as_deref(), Some("three"));
        assert_eq!(store.context("t", "memory").await.unwrap(), None);
    }
}
