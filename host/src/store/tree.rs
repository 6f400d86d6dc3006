//! The messages of one session with all their branches.

use std::collections::HashMap;

use rusqlite::Connection;
use serde::{Deserialize, Serialize};

use super::{StoreError, branches, compaction, messages, sessions};
use crate::turn::UiMessage;

/// What a session consists of. As JSON it is a line of an exported session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Entry {
    /// A message. The last one is the end of the conversation.
    Message {
        /// The id of the message that it answers; none if it is a first one.
        parent: Option<String>,
        /// When it came, as `2026-01-31T12:00:00.000Z`; now if it is not said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        created_at: Option<String>,
        /// The message.
        message: UiMessage,
    },
    /// A message that is read in the place of a range.
    Compaction {
        /// The id of the first message of the range.
        from: String,
        /// The id of the last one.
        to: String,
        /// What is read in their place.
        summary: UiMessage,
    },
}

/// Messages before what answers them, then summaries, the wider later.
pub(super) fn export(connection: &Connection, session: &str) -> Result<Vec<Entry>, StoreError> {
    let session_id = sessions::known(connection, session)?;
    let mut statement = connection.prepare_cached(
        "SELECT messages.message_id, messages.body, parent.message_id, messages.created_at FROM messages \
         LEFT JOIN messages AS parent ON parent.number = messages.parent_number \
         WHERE messages.session_id = ? ORDER BY messages.number",
    )?;
    let rows = statement.query_map([session_id], |row| {
        Ok(((row.get(0)?, row.get(1)?), row.get::<_, Option<String>>(2)?, row.get::<_, String>(3)?))
    })?;
    let mut entries = Vec::new();
    for row in rows {
        let (row, parent, created_at) = row?;
        let message = messages::parse_one(session, &row)?;
        entries.push(Entry::Message { parent, created_at: Some(created_at), message });
    }
    let mut statement = connection.prepare_cached(
        "SELECT summary_id, summary, first.message_id, last.message_id FROM compactions \
         JOIN messages AS first ON first.number = from_number JOIN messages AS last ON last.number = to_number \
         WHERE compactions.session_id = ? ORDER BY to_number, from_number DESC",
    )?;
    let rows = statement.query_map([session_id], |row| {
        Ok(((row.get(0)?, row.get(1)?), row.get::<_, String>(2)?, row.get::<_, String>(3)?))
    })?;
    for row in rows {
        let (row, from, to) = row?;
        entries.push(Entry::Compaction { from, to, summary: messages::parse_one(session, &row)? });
    }
    Ok(entries)
}

/// Makes a session of what another one was exported as.
pub(super) fn import(connection: &Connection, session: &str, entries: &[Entry]) -> Result<(), StoreError> {
    let session_id = sessions::create(connection, session)?;
    let mut numbers: HashMap<&str, i64> = HashMap::new();
    let find = |numbers: &HashMap<&str, i64>, message: &str| {
        let missing = || StoreError::Missing { session: session.into(), message: message.into() };
        numbers.get(message).copied().ok_or_else(missing)
    };
    for entry in entries {
        match entry {
            Entry::Message { parent, created_at, message } => {
                let parent = parent.as_deref().map(|parent| find(&numbers, parent)).transpose()?;
                if numbers.contains_key(&*message.id) {
                    let twice = "two messages have this id".into();
                    return Err(StoreError::Row {
                        session: session.into(),
                        message: message.id.clone(),
                        reason: twice,
                    });
                }
                let number = connection
                    .prepare_cached(
                        "INSERT INTO messages (session_id, message_id, parent_number, role, body, created_at) VALUES \
                         (?, ?, ?, ?, ?, coalesce(?, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')))",
                    )?
                    .insert((
                        session_id,
                        &message.id,
                        parent,
                        messages::role(message),
                        messages::body(session, message)?,
                        created_at,
                    ))?;
                numbers.insert(&message.id, number);
            }
            Entry::Compaction { from, to, summary } => {
                let (from, to) = (find(&numbers, from)?, find(&numbers, to)?);
                let body = messages::body(session, summary)?;
                compaction::insert(connection, session_id, (from, to), &summary.id, &body)?;
            }
        }
    }
    branches::newest_is_leaf(connection, session_id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Compaction;
    use crate::store::{SqliteStore, Store};

    #[tokio::test]
    async fn what_is_imported_is_what_was_exported() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("lathe.db")).await.unwrap();
        let put =
            async |id: &str, parent| store.put("a", &UiMessage::user(id, "text ".repeat(50)), parent).await;
        for (id, parent) in
            [("1", None), ("2", None), ("3", None), ("2b", Some("1")), ("3b", None), ("4b", None)]
        {
            put(id, parent).await.unwrap();
        }
        store.compact("a", &Compaction::new("2b", "3b", "short")).await.unwrap();
        let entries = store.export("a").await.unwrap();
        assert_eq!(entries.len(), 7);
        let lines: Vec<String> = entries.iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
        let read = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        store.import("b", read).await.unwrap();
        assert_eq!(store.export("b").await.unwrap(), entries);
        assert_eq!(store.messages("b").await.unwrap(), store.messages("a").await.unwrap());
        let error = store.import("b", entries).await.unwrap_err().to_string();
        assert!(error.contains("\"b\""), "{error}");
    }

    #[tokio::test]
    async fn half_a_session_is_not_imported() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("lathe.db")).await.unwrap();
        let entry = |id: &str, parent: Option<&str>| Entry::Message {
            parent: parent.map(str::to_owned),
            created_at: None,
            message: UiMessage::user(id, "x"),
        };
        for (second, named) in [(entry("2", Some("9")), "\"9\""), (entry("1", None), "\"1\"")] {
            let error = store.import("a", vec![entry("1", None), second]).await.unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
            assert_eq!(store.session("a").await.unwrap(), None);
        }
    }
}
