//! The branches of a session: what leads to a message, what stands beside it, and taking it away.

use std::collections::HashMap;

use rusqlite::Connection;

use super::messages::{self, Row, Window};
use super::{StoreError, compaction, sessions};

/// The conversation that leads to a message, which is its last one.
pub(super) fn history(connection: &Connection, session: &str, message: &str) -> Result<Vec<Row>, StoreError> {
    let session_id = sessions::known(connection, session)?;
    messages::rows_to(connection, number(connection, session, session_id, message)?, Window::Shown(None))
}

/// The messages that answer what that one answers, itself among them, in the order in which they came.
pub(super) fn siblings(
    connection: &Connection,
    session: &str,
    message: &str,
) -> Result<Vec<Row>, StoreError> {
    let session_id = sessions::known(connection, session)?;
    let number = number(connection, session, session_id, message)?;
    let mut statement = connection.prepare_cached(
        "SELECT message_id, body FROM messages WHERE session_id = ?1 \
         AND parent_number IS (SELECT parent_number FROM messages WHERE number = ?2) ORDER BY number",
    )?;
    let rows = statement.query_map((session_id, number), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn number(connection: &Connection, session: &str, session_id: i64, message: &str) -> Result<i64, StoreError> {
    let missing = || StoreError::Missing { session: session.to_owned(), message: message.to_owned() };
    compaction::number(connection, session_id, message)?.ok_or_else(missing)
}

/// The message that came last is where the conversation stands.
pub(super) fn newest_is_leaf(connection: &Connection, session_id: i64) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "UPDATE sessions SET leaf_number = (SELECT max(number) FROM messages WHERE session_id = ?1) WHERE id = ?1",
        )?
        .execute([session_id])?;
    Ok(())
}

/// Copies a conversation, or what of it leads to a message, into a new session, with its summaries and context blocks.
pub(super) fn fork(
    connection: &Connection,
    session: &str,
    message: Option<&str>,
    name: &str,
) -> Result<(), StoreError> {
    let session_id = sessions::known(connection, session)?;
    let end = match message {
        Some(message) => Some(number(connection, session, session_id, message)?),
        None => messages::leaf(connection, session)?,
    };
    let fork_id = sessions::create(connection, name)?;
    connection.execute(
        "INSERT INTO context_blocks (session, label, text) SELECT ?, label, text FROM context_blocks WHERE session = ?",
        (name, session),
    )?;
    let Some(end) = end else { return Ok(()) };
    let mut copies: HashMap<i64, i64> = HashMap::new();
    let mut last: Option<i64> = None;
    for number in messages::numbers_to(connection, end)? {
        let copy = connection
            .prepare_cached(
                "INSERT INTO messages (session_id, message_id, parent_number, role, body, created_at) \
                 SELECT ?, message_id, ?, role, body, created_at FROM messages WHERE number = ?",
            )?
            .insert((fork_id, last, number))?;
        copies.insert(number, copy);
        last = Some(copy);
    }
    let mut statement = connection.prepare_cached(
        "SELECT from_number, to_number, summary_id, summary FROM compactions WHERE session_id = ?",
    )?;
    let mut rows = statement.query([session_id])?;
    while let Some(row) = rows.next()? {
        let (from, to) = (copies.get(&row.get(0)?), copies.get(&row.get(1)?));
        if let (Some(from), Some(to)) = (from, to) {
            let (id, summary): (String, String) = (row.get(2)?, row.get(3)?);
            compaction::insert(connection, fork_id, (*from, *to), &id, &summary)?;
        }
    }
    newest_is_leaf(connection, fork_id)
}

/// Deletes messages; what answered one of them answers what that one answered. A summary that tells of it goes with it, and
/// what else it told of is read again. Returns how many there were.
pub(super) fn delete(
    connection: &Connection,
    session: &str,
    messages: &[String],
) -> Result<usize, StoreError> {
    let Some(session_id) = sessions::id(connection, session)? else { return Ok(0) };
    connection.execute("UPDATE sessions SET leaf_number = NULL WHERE id = ?", [session_id])?;
    let mut deleted = 0;
    for message in messages {
        let mut statement = connection
            .prepare_cached("SELECT number FROM messages WHERE session_id = ? AND message_id = ?")?;
        let Some(number) = statement.query_map((session_id, message), |row| row.get::<_, i64>(0))?.next()
        else {
            continue;
        };
        let number = number?;
        connection
            .prepare_cached(
                "UPDATE messages SET parent_number = (SELECT parent_number FROM messages WHERE number = ?1) \
                 WHERE parent_number = ?1",
            )?
            .execute([number])?;
        connection
            .prepare_cached(
                "DELETE FROM compactions WHERE session_id = ?1 AND from_number <= ?2 AND to_number >= ?2",
            )?
            .execute((session_id, number))?;
        deleted += connection.prepare_cached("DELETE FROM messages WHERE number = ?")?.execute([number])?;
    }
    newest_is_leaf(connection, session_id)?;
    Ok(deleted)
}

#[cfg(test)]
mod tests {
    use crate::store::{SqliteStore, Store};
    use crate::turn::UiMessage;

    #[tokio::test]
    async fn branches_are_found_from_any_of_their_messages() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("lathe.db")).await.unwrap();
        let put = async |session: &str, id: &str, parent| {
            store.put(session, &UiMessage::user(id, id), parent).await.unwrap();
        };
        put("other", "1", None).await;
        for (id, parent) in [("1", None), ("2", None), ("3", None), ("2b", Some("1")), ("3b", None)] {
            put("a", id, parent).await;
        }
        let ids = |messages: Vec<UiMessage>| -> Vec<String> {
            messages.into_iter().map(|message| message.id).collect()
        };
        assert_eq!(ids(store.siblings("a", "2").await.unwrap()), ["2", "2b"]);
        assert_eq!(ids(store.siblings("a", "1").await.unwrap()), ["1"]);
        assert_eq!(ids(store.history("a", "3").await.unwrap()), ["1", "2", "3"]);
        assert_eq!(ids(store.history("a", "2b").await.unwrap()), ["1", "2b"]);
        for error in [store.siblings("a", "9").await.unwrap_err(), store.history("b", "1").await.unwrap_err()]
        {
            assert!(error.to_string().contains("session"), "{error}");
        }
    }
}
