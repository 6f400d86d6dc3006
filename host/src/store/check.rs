//! Looking a database over. What is derived is made anew; what was said is never touched.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, OpenFlags};
use serde::Serialize;

use super::{StoreError, messages, search};

/// What the state of a database is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Checkup {
    /// How many sessions there are, as far as they can be counted.
    pub sessions: usize,
    /// How many messages could be read.
    pub messages: usize,
    /// What is wrong and stays so.
    pub faults: Vec<Fault>,
    /// What was wrong and was made anew.
    pub mended: Vec<String>,
    /// Whether the file itself is damaged, and not only what is in it.
    pub damaged: bool,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// The session that it is in, if it is in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What.
    pub reason: String,
}

/// What SQLite says of a search index that contradicts itself.
const INDEX: &str = "message_texts";

/// The most that is told of damage to the file: after that it is known.
const TOLD: u32 = 20;

impl Checkup {
    fn add(&mut self, session: Option<&str>, reason: impl Into<String>) {
        self.faults.push(Fault { session: session.map(str::to_owned), reason: reason.into() });
    }

    /// What can be said without writing. An error here is that the file cannot even be opened.
    pub(super) fn read(file: &Path) -> Result<Self, StoreError> {
        let mut checkup = Self::default();
        let opened =
            |error: rusqlite::Error| StoreError::Open { file: file.into(), reason: error.to_string() };
        let connection =
            Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(opened)?;
        connection.busy_timeout(super::open::BUSY).map_err(opened)?;
        // Reads the first page: what is no database ends here, and a file that has lost its end.
        match connection.pragma_query_value(None, "schema_version", |_| Ok(())) {
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
                checkup.damaged = true;
                checkup.add(None, error.to_string());
                return Ok(checkup);
            }
            read => read.map_err(opened)?,
        }
        if let Err(error) = checkup.file(&connection) {
            checkup.damaged = true;
            checkup.add(None, error.to_string());
        }
        if let Err(error) = checkup.rows(&connection) {
            checkup.add(None, error.to_string());
        }
        Ok(checkup)
    }

    fn file(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut statement = connection.prepare(&format!("PRAGMA integrity_check({TOLD})"))?;
        for line in statement.query_map([], |row| row.get::<_, String>(0))? {
            let line = line?;
            if line != "ok" && !line.contains(INDEX) {
                self.damaged = true;
                self.add(None, line);
            }
        }
        let mut statement = connection.prepare("PRAGMA foreign_key_check")?;
        for row in statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(2)?)))? {
            let (table, parent) = row?;
            self.add(None, format!("a row of {table} belongs to a row of {parent} that is not there"));
        }
        Ok(())
    }

    fn rows(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut statement = connection.prepare("SELECT id, name FROM sessions ORDER BY name")?;
        let sessions: Vec<(i64, String)> =
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
        self.sessions = sessions.len();
        let mut statement = connection
            .prepare("SELECT message_id, body FROM messages WHERE session_id = ? ORDER BY number")?;
        for (id, session) in sessions {
            let mut rows = statement.query([id])?;
            loop {
                match rows.next() {
                    Ok(None) => break,
                    Ok(Some(row)) => {
                        let row = row.get(0).and_then(|id| row.get(1).map(|body| (id, body)));
                        let read = row.map_err(StoreError::from);
                        match read.and_then(|row| messages::parse_one(&session, &row)) {
                            Ok(_) => self.messages += 1,
                            Err(error) => self.add(Some(&session), error.to_string()),
                        }
                    }
                    // The rest of this one cannot be reached; other sessions may be.
                    Err(error) => {
                        self.add(Some(&session), format!("some of its messages cannot be read: {error}"));
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Makes anew what is derived and wrong.
    pub(super) fn mend(mut self, connection: &Connection) -> Result<Self, StoreError> {
        if !sound(connection)? {
            search::forget(connection)?;
            while !search::index(connection, None)? {}
            self.mended.push("the search index".into());
        }
        let sizes = connection.execute(
            "UPDATE sessions SET (messages, bytes) = (SELECT count(*), coalesce(sum(octet_length(body)), 0) \
                 FROM messages WHERE session_id = sessions.id) \
             WHERE (messages, bytes) IS NOT (SELECT count(*), coalesce(sum(octet_length(body)), 0) \
                 FROM messages WHERE session_id = sessions.id)",
            [],
        )?;
        if sizes > 0 {
            self.mended.push(format!("what the list says of sessions: {sizes}"));
        }
        let ends = connection.execute(
            "UPDATE sessions SET leaf_number = (SELECT max(number) FROM messages WHERE session_id = sessions.id) \
             WHERE NOT EXISTS (SELECT 1 FROM messages WHERE number = leaf_number AND session_id = sessions.id) \
                 AND EXISTS (SELECT 1 FROM messages WHERE session_id = sessions.id)",
            [],
        )?;
        if ends > 0 {
            self.mended.push(format!("where conversations stand: {ends}"));
        }
        Ok(self)
    }
}

/// Whether the search index agrees with itself and with the messages.
fn sound(connection: &Connection) -> Result<bool, StoreError> {
    if connection.execute("INSERT INTO message_texts (message_texts) VALUES ('integrity-check')", []).is_err()
    {
        return Ok(false);
    }
    Ok(connection.query_row(
        "SELECT NOT EXISTS (SELECT 1 FROM messages WHERE number NOT IN (SELECT id FROM message_texts_docsize) \
             AND NOT EXISTS (SELECT 1 FROM unindexed WHERE session_id = messages.session_id AND number = messages.number)) \
         AND NOT EXISTS (SELECT 1 FROM message_texts_docsize WHERE id NOT IN (SELECT number FROM messages))",
        [],
        |row| row.get(0),
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{SqliteStore, Store};
    use crate::turn::UiMessage;

    async fn with_talk(folder: &tempfile::TempDir) -> std::path::PathBuf {
        let file = folder.path().join("lathe.db");
        let store = SqliteStore::open(&file).await.unwrap();
        for session in ["a", "b"] {
            for n in 0..50 {
                let message = UiMessage::user(n.to_string(), format!("kettle {n} {}", "word ".repeat(200)));
                store.put(session, &message, None).await.unwrap();
            }
        }
        assert_eq!(store.search(None, "kettle").await.unwrap().len(), 20);
        store.close().await;
        file
    }

    #[tokio::test]
    async fn a_sound_database_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = with_talk(&folder).await;
        let checkup = SqliteStore::check(&file).await.unwrap();
        assert_eq!(checkup, Checkup { sessions: 2, messages: 100, ..Checkup::default() });
    }

    #[tokio::test]
    async fn what_is_derived_is_made_anew() {
        let folder = tempfile::tempdir().unwrap();
        let file = with_talk(&folder).await;
        let connection = Connection::open(&file).unwrap();
        connection
            .execute_batch(
                "INSERT INTO message_texts (message_texts) VALUES ('delete-all'); \
                 UPDATE sessions SET messages = 7, bytes = 7 WHERE name = 'a'; \
                 UPDATE sessions SET leaf_number = NULL WHERE name = 'b'",
            )
            .unwrap();
        drop(connection);
        let checkup = SqliteStore::check(&file).await.unwrap();
        assert_eq!((checkup.faults, checkup.mended.len()), (vec![], 3));
        let store = SqliteStore::open(&file).await.unwrap();
        assert_eq!(store.search(Some("a"), "kettle 7").await.unwrap().len(), 1);
        assert_eq!(store.messages("b").await.unwrap().len(), 50);
        assert_eq!(store.session("a").await.unwrap().unwrap().messages, 50);
        assert!(SqliteStore::check(&file).await.unwrap().mended.is_empty());
    }

    #[tokio::test]
    async fn a_damaged_index_costs_nothing_that_was_said() {
        let folder = tempfile::tempdir().unwrap();
        let file = with_talk(&folder).await;
        let connection = Connection::open(&file).unwrap();
        connection.execute("UPDATE message_texts_data SET block = zeroblob(30) WHERE id > 10", []).unwrap();
        drop(connection);
        let checkup = SqliteStore::check(&file).await.unwrap();
        assert_eq!((checkup.faults, checkup.mended), (vec![], vec!["the search index".to_owned()]));
        let store = SqliteStore::open(&file).await.unwrap();
        assert_eq!(store.search(Some("a"), "kettle 7").await.unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_row_of_a_later_version_is_named_and_left() {
        let folder = tempfile::tempdir().unwrap();
        let file = with_talk(&folder).await;
        let connection = Connection::open(&file).unwrap();
        let later = r#"{"id": "7", "role": "oracle", "parts": []}"#;
        connection
            .execute("UPDATE messages SET body = ? WHERE session_id = 1 AND message_id = '7'", [later])
            .unwrap();
        let checkup = SqliteStore::check(&file).await.unwrap();
        assert_eq!((checkup.messages, checkup.damaged, &*checkup.mended), (99, false, &[][..]));
        let [fault] = &*checkup.faults else { panic!("{checkup:?}") };
        assert_eq!(fault.session.as_deref(), Some("a"));
        assert!(fault.reason.contains("\"7\"") && fault.reason.contains("oracle"), "{fault:?}");
        let store = SqliteStore::open(&file).await.unwrap();
        assert!(store.messages("a").await.is_err());
        assert_eq!(store.messages("b").await.unwrap().len(), 50);
    }

    #[tokio::test]
    async fn a_torn_file_is_said_to_be_one_and_not_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let file = with_talk(&folder).await;
        let whole = std::fs::read(&file).unwrap();
        let mut flipped = whole.clone();
        // Pages of messages, behind the schema's.
        let middle = flipped.len() / 2 / 4096 * 4096;
        flipped[middle..middle + 4096].fill(0x5a);
        for torn in [&whole[..whole.len() / 2], &flipped] {
            std::fs::write(&file, torn).unwrap();
            let checkup = SqliteStore::check(&file).await.unwrap();
            assert!(checkup.damaged && !checkup.faults.is_empty(), "{checkup:?}");
            assert_eq!(std::fs::read(&file).unwrap(), torn);
        }
        std::fs::write(&file, &whole[..100]).unwrap();
        match SqliteStore::check(&file).await {
            Ok(checkup) => assert!(checkup.damaged, "{checkup:?}"),
            Err(error) => assert!(error.to_string().contains("lathe.db"), "{error}"),
        }
    }
}
