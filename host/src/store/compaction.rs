//! Ranges of conversations that one message stands for.

use rusqlite::{Connection, OptionalExtension};

use super::messages::{self, Row};
use super::{StoreError, Window};
use crate::session::Compaction;

/// The message with that id; of a summary, the last message that it stands for.
pub(super) fn number(
    connection: &Connection,
    session_id: i64,
    message: &str,
) -> Result<Option<i64>, StoreError> {
    let own = connection
        .prepare_cached("SELECT number FROM messages WHERE session_id = ? AND message_id = ?")?
        .query_row((session_id, message), |row| row.get(0))
        .optional()?;
    if own.is_some() {
        return Ok(own);
    }
    Ok(range(connection, session_id, message)?.map(|(_, to)| to))
}

/// The first and the last message that a summary stands for.
fn range(connection: &Connection, session_id: i64, summary: &str) -> Result<Option<(i64, i64)>, StoreError> {
    let found = connection
        .prepare_cached(
            "SELECT from_number, to_number FROM compactions WHERE session_id = ? AND summary_id = ?",
        )?
        .query_row((session_id, summary), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found)
}

/// All summaries of a session, those too that later ones stand for.
pub(super) fn summaries(connection: &Connection, session: &str) -> Result<Vec<Row>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT summary_id, summary FROM sessions JOIN compactions ON session_id = id WHERE name = ? \
         ORDER BY to_number, from_number DESC",
    )?;
    let rows = statement.query_map([session], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// False, and nothing stored, if the summary is not smaller than what it stands for.
pub(super) fn compact(
    connection: &Connection,
    session: &str,
    compaction: &Compaction,
) -> Result<bool, StoreError> {
    let missing = |message: &str| StoreError::Missing { session: session.into(), message: message.into() };
    let shown = messages::rows(connection, session, Window::Shown(None))?;
    let place =
        |message: &str| shown.iter().position(|(id, _)| id == message).ok_or_else(|| missing(message));
    let (from, to) = (place(&compaction.from)?, place(&compaction.to)?);
    let Some(covered) = shown.get(from..=to) else { return Err(missing(&compaction.to)) };
    let summary = messages::body(session, &compaction.summary)?;
    if summary.len() >= covered.iter().map(|(_, body)| body.len()).sum() {
        return Ok(false);
    }
    let (session_id, _) = messages::place(connection, session)?;
    // Where a summary is at an end of the range, what it stands for is.
    let number = |message: &str, first: bool| -> Result<i64, StoreError> {
        let number = match range(connection, session_id, message)? {
            Some((from, _)) if first => Some(from),
            Some((_, to)) => Some(to),
            None => number(connection, session_id, message)?,
        };
        number.ok_or_else(|| missing(message))
    };
    let (from, to) = (number(&compaction.from, true)?, number(&compaction.to, false)?);
    insert(connection, session_id, (from, to), &compaction.summary.id, &summary)?;
    Ok(true)
}

/// Has a summary stand for a range, by the numbers of its first and last message.
pub(super) fn insert(
    connection: &Connection,
    session_id: i64,
    (from, to): (i64, i64),
    id: &str,
    summary: &str,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO compactions (session_id, from_number, to_number, summary_id, summary) \
             VALUES (?, ?, ?, ?, ?)",
        )?
        .execute((session_id, from, to, id, summary))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{SqliteStore, Store};
    use crate::turn::UiMessage;

    async fn talk(many: usize) -> (tempfile::TempDir, SqliteStore) {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("lathe.db")).await.unwrap();
        for n in 0..many {
            let message = UiMessage::user(n.to_string(), "said at some length, ".repeat(40));
            store.put("s", &message, None).await.unwrap();
        }
        (folder, store)
    }

    async fn ids(store: &SqliteStore) -> Vec<String> {
        store.messages("s").await.unwrap().into_iter().map(|message| message.id).collect()
    }

    fn named(id: &str, from: &str, to: &str) -> Compaction {
        let mut compaction = Compaction::new(from, to, format!("in short: {id}"));
        compaction.summary.id = id.into();
        compaction
    }

    #[tokio::test]
    async fn one_message_is_read_in_the_place_of_many_and_none_is_lost() {
        let (_folder, store) = talk(6).await;
        assert!(store.compact("s", &named("A", "1", "3")).await.unwrap());
        assert_eq!(ids(&store).await, ["0", "A", "4", "5"]);
        let summary = &store.messages("s").await.unwrap()[1];
        assert_eq!(*summary, named("A", "1", "3").summary);
        assert_eq!(store.path("s").await.unwrap().len(), 6);
        assert_eq!(store.messages("other").await.unwrap(), []);
    }

    #[tokio::test]
    async fn a_later_summary_stands_for_the_former_one_too() {
        let (_folder, store) = talk(8).await;
        store.compact("s", &named("A", "1", "3")).await.unwrap();
        assert!(store.compact("s", &named("B", "A", "5")).await.unwrap());
        assert_eq!(ids(&store).await, ["0", "B", "6", "7"]);
        assert!(store.compact("s", &named("C", "0", "B")).await.unwrap());
        assert_eq!(ids(&store).await, ["C", "6", "7"]);
        store.put("s", &UiMessage::user("6b", "x"), Some("C")).await.unwrap();
        assert_eq!(ids(&store).await, ["C", "6b"], "a summary can be answered");
    }

    #[tokio::test]
    async fn a_branch_from_within_a_range_shows_what_is_there() {
        let (_folder, store) = talk(6).await;
        store.compact("s", &named("A", "1", "2")).await.unwrap();
        store.compact("s", &named("B", "A", "4")).await.unwrap();
        assert_eq!(ids(&store).await, ["0", "B", "5"]);
        store.put("s", &UiMessage::user("4b", "x"), Some("3")).await.unwrap();
        assert_eq!(ids(&store).await, ["0", "A", "3", "4b"], "the former summary still fits");
        store.put("s", &UiMessage::user("2b", "x"), Some("1")).await.unwrap();
        assert_eq!(ids(&store).await, ["0", "1", "2b"]);
    }

    #[tokio::test]
    async fn what_shortens_nothing_or_names_what_is_not_there_changes_nothing() {
        let (_folder, store) = talk(6).await;
        let long = Compaction::new("1", "2", "long ".repeat(1_000));
        assert!(!store.compact("s", &long).await.unwrap());
        for (from, to, named_as) in [("9", "2", "9"), ("3", "1", "1"), ("1", "9", "9")] {
            let error = store.compact("s", &named("A", from, to)).await.unwrap_err().to_string();
            assert!(error.contains(&format!("\"{named_as}\"")), "{error}");
        }
        store.compact("s", &named("A", "1", "4")).await.unwrap();
        assert!(store.compact("s", &named("B", "2", "3")).await.is_err(), "they are not read any more");
        assert_eq!(ids(&store).await, ["0", "A", "5"]);
    }

    #[tokio::test]
    async fn the_last_messages_are_read_alone() {
        let (_folder, store) = talk(6).await;
        let all = store.messages("s").await.unwrap();
        let size = serde_json::to_string(&all[0]).unwrap().len() as u64;
        let last = async |bytes| store.recent("s", bytes).await.unwrap().len();
        assert_eq!((last(size * 2).await, last(size * 2 - 1).await), (2, 1));
        assert_eq!(last(0).await, 1, "the last one is always there");
        assert_eq!(last(u64::MAX).await, 6);
        store.compact("s", &named("A", "0", "4")).await.unwrap();
        assert_eq!(last(size * 2).await, 2, "a summary counts as what it is");
    }
}
