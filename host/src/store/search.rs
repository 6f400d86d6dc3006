//! Finding messages by what they say.

use rusqlite::Connection;
use serde::Serialize;

use super::{StoreError, messages, sessions};
use crate::turn::{UiMessage, UiPart};

/// The most hits of a search.
pub const HITS: usize = 20;

/// Messages whose words are taken up at a time: in between, others get at the store. About 20 ms.
const BATCH: usize = 500;

/// Characters of a message that are shown before what was found in it, and in all.
const BEFORE: usize = 40;
const SHOWN: usize = 160;

/// A message that says what was searched for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hit {
    /// Where.
    pub session: String,
    /// Which.
    pub message_id: String,
    /// Who says it: `user`, `assistant` or `system`.
    pub role: String,
    /// When it came, as `2026-01-31T12:00:00.000Z`.
    pub created_at: String,
    /// What it says around the first place, in one line.
    pub excerpt: String,
}

/// Takes up the words of some messages that are not in the index yet, of one session or of all; true if that were all.
pub(super) fn index(connection: &Connection, session: Option<&str>) -> Result<bool, StoreError> {
    let (condition, session_id) = match session {
        None => ("?1 IS NULL", None),
        Some(session) => match sessions::id(connection, session)? {
            None => return Ok(true),
            id => ("unindexed.session_id = ?1", id),
        },
    };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT number, unindexed.session_id, message_id, body FROM unindexed CROSS JOIN messages USING (number) \
         WHERE {condition} LIMIT ?2"
    ))?;
    let rows: Vec<(i64, i64, messages::Row)> = statement
        .query_map((session_id, BATCH as i64), |row| {
            Ok((row.get(0)?, row.get(1)?, (row.get(2)?, row.get(3)?)))
        })?
        .collect::<Result<_, _>>()?;
    for (number, session_id, row) in &rows {
        // What cannot be read has no words; the rest is found all the same.
        let text = messages::parse_one("", row).map(|message| words(&message)).unwrap_or_default();
        connection
            .prepare_cached("INSERT OR REPLACE INTO message_texts (rowid, session, text) VALUES (?, ?, ?)")?
            .execute((number, format!("s{session_id}"), text))?;
        connection
            .prepare_cached("DELETE FROM unindexed WHERE session_id = ? AND number = ?")?
            .execute((session_id, number))?;
    }
    Ok(rows.len() < BATCH)
}

fn words(message: &UiMessage) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        UiPart::Text { text, .. } => Some(&**text),
        _ => None,
    });
    texts.collect::<Vec<&str>>().join("\n")
}

/// The messages that say a phrase, in one session or in all, the newest first.
pub(super) fn search(
    connection: &Connection,
    session: Option<&str>,
    phrase: &str,
) -> Result<Vec<Hit>, StoreError> {
    // Without a word in it, FTS5 would find everything.
    if !phrase.contains(char::is_alphanumeric) {
        return Ok(Vec::new());
    }
    let mut query = format!("text : \"{}\"", phrase.replace(['"', '\0'], " "));
    if let Some(session) = session {
        let Some(session_id) = sessions::id(connection, session)? else { return Ok(Vec::new()) };
        query = format!("session : s{session_id} AND {query}");
    }
    let mut statement = connection.prepare_cached(
        "SELECT sessions.name, message_id, role, messages.created_at, body \
         FROM (SELECT rowid AS number FROM message_texts WHERE message_texts MATCH ? ORDER BY rowid DESC LIMIT ?) \
         CROSS JOIN messages USING (number) CROSS JOIN sessions ON sessions.id = session_id ORDER BY number DESC",
    )?;
    let rows = statement.query_map((query, HITS as i64), |row| {
        let body: String = row.get(4)?;
        let text = serde_json::from_str(&body).map(|message| words(&message)).unwrap_or_default();
        Ok(Hit {
            session: row.get(0)?,
            message_id: row.get(1)?,
            role: row.get(2)?,
            created_at: row.get(3)?,
            excerpt: excerpt(&text, phrase),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Throws the index away; searches make it again.
pub(super) fn forget(connection: &Connection) -> Result<(), StoreError> {
    if connection.execute("INSERT INTO message_texts (message_texts) VALUES ('delete-all')", []).is_err() {
        let made: String = connection.query_row(
            "SELECT sql FROM sqlite_schema WHERE name = 'message_texts'",
            [],
            |row| row.get(0),
        )?;
        connection.execute_batch(&format!("DROP TABLE message_texts; {made}"))?;
    }
    connection.execute_batch(
        "INSERT OR IGNORE INTO unindexed SELECT session_id, number FROM messages; \
         DELETE FROM unindexed WHERE number NOT IN (SELECT number FROM messages)",
    )?;
    Ok(())
}

/// What a text says around the first word of a phrase.
fn excerpt(text: &str, phrase: &str) -> String {
    let text: Vec<char> = text.split_whitespace().collect::<Vec<&str>>().join(" ").chars().collect();
    let lower = |c: &char| c.to_lowercase().next().unwrap_or(*c);
    let word: Vec<char> = phrase
        .split(|c: char| !c.is_alphanumeric())
        .find(|word| !word.is_empty())
        .unwrap_or_default()
        .chars()
        .map(|c| lower(&c))
        .collect();
    let found =
        text.windows(word.len().max(1)).position(|window| window.iter().map(lower).eq(word.iter().copied()));
    let start = found.unwrap_or(0).saturating_sub(BEFORE);
    let shown: String = text.iter().skip(start).take(SHOWN).collect();
    let (before, after) = (start > 0, text.len() > start + SHOWN);
    format!("{}{shown}{}", if before { "…" } else { "" }, if after { "…" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{SqliteStore, Store};

    async fn store(folder: &tempfile::TempDir) -> SqliteStore {
        let store = SqliteStore::open(&folder.path().join("lathe.db")).await.unwrap();
        for (session, id, text) in [
            ("a", "1", "The kettle is on the stove."),
            ("a", "2", "on the kettle, \"quoted\" s2"),
            ("b", "1", "the KETTLE is on"),
        ] {
            store.put(session, &UiMessage::user(id, text), None).await.unwrap();
        }
        store
    }

    async fn found(store: &SqliteStore, session: Option<&str>, phrase: &str) -> Vec<(String, String)> {
        let hits = store.search(session, phrase).await.unwrap();
        hits.into_iter().map(|hit| (hit.session, hit.message_id)).collect()
    }

    fn hit(session: &str, id: &str) -> (String, String) {
        (session.into(), id.into())
    }

    #[tokio::test]
    async fn phrases_are_found_in_one_session_and_in_all() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder).await;
        assert_eq!(found(&store, Some("a"), "kettle").await, [hit("a", "2"), hit("a", "1")]);
        assert_eq!(found(&store, None, "kettle is on").await, [hit("b", "1"), hit("a", "1")]);
        assert_eq!(
            found(&store, Some("b"), "s2").await,
            [],
            "the session's own word is none of its messages"
        );
        for odd in ["\"quoted\"", "kettle\" OR \"x", "", "!!", "text : kettle", "kett*", "\0"] {
            store.search(Some("a"), odd).await.unwrap();
        }
        assert_eq!(found(&store, Some("a"), "\"quoted\"").await, [hit("a", "2")]);
        assert_eq!(found(&store, None, "!!").await, []);
        assert_eq!(found(&store, Some("never"), "kettle").await, []);
    }

    #[tokio::test]
    async fn what_has_changed_or_is_gone_is_found_so() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder).await;
        assert_eq!(found(&store, None, "kettle").await.len(), 3);
        store.put("a", &UiMessage::user("1", "a teapot"), None).await.unwrap();
        store.delete_messages("a", &["2".into()]).await.unwrap();
        assert_eq!(found(&store, None, "kettle").await, [hit("b", "1")]);
        assert_eq!(found(&store, None, "teapot").await, [hit("a", "1")]);
        store.delete("b").await.unwrap();
        assert_eq!(found(&store, None, "kettle").await, []);
        for n in 0..BATCH * 2 {
            store.put("many", &UiMessage::user(n.to_string(), "kettle"), None).await.unwrap();
        }
        assert_eq!(found(&store, None, "kettle").await.len(), HITS);
    }

    #[test]
    fn an_excerpt_is_what_stands_around() {
        assert_eq!(excerpt("It  is\nÄpfel", "äpfel und"), "It is Äpfel");
        let long = format!("{} needle {}", "before ".repeat(50), "after ".repeat(50));
        let shown = excerpt(&long, "Needle");
        assert!(shown.starts_with('…') && shown.ends_with('…') && shown.contains(" needle after"), "{shown}");
        assert_eq!(excerpt("", "x"), "");
    }
}
