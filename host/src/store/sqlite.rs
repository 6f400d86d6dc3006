use std::path::Path;

use async_trait::async_trait;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};

use super::{Increment, LastRequest, Store, StoreError, context, health, storage};
use crate::turn::UiMessage;

static MIGRATIONS: Migrator = sqlx::migrate!("./migrations");

/// How long a writer waits for another process to finish. 5 s: a write takes well under a millisecond.
const BUSY: std::time::Duration = std::time::Duration::from_secs(5);

/// Readers at once. Writers take turns by SQLite's own lock.
const CONNECTIONS: u32 = 4;

/// A store in one SQLite file, in WAL mode.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    pub(super) pool: SqlitePool,
}

impl SqliteStore {
    /// Opens a database, and makes it and its folder if they are not there.
    ///
    /// # Errors
    ///
    /// If the file is no database, belongs to a newer host, or cannot be opened or written.
    pub async fn open(file: &Path) -> Result<Self, StoreError> {
        let failed = |reason: String| StoreError::Open { file: file.to_owned(), reason };
        if let Some(folder) = file.parent() {
            tokio::fs::create_dir_all(folder).await.map_err(|error| failed(error.to_string()))?;
        }
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // Safe when the process dies, which is what a crash of the host is.
            .synchronous(SqliteSynchronous::Normal)
            .busy_timeout(BUSY)
            .foreign_keys(true);
        let pool = SqlitePoolOptions::new()
            .max_connections(CONNECTIONS)
            .connect_with(options)
            .await
            .map_err(|error| failed(said(&error)))?;
        let store = Self { pool };
        let known = MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or(0);
        match MIGRATIONS.run(&store.pool).await {
            Ok(()) => Ok(store),
            Err(MigrateError::VersionMissing(found)) if found > known => {
                Err(StoreError::Newer { file: file.to_owned(), found, known })
            }
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// Closes the file, with everything written into it.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

/// The database's own words, without sqlx's around them.
fn said(error: &sqlx::Error) -> String {
    error.as_database_error().map_or_else(|| error.to_string(), |error| error.message().to_owned())
}

#[async_trait]
impl Store for SqliteStore {
    async fn messages(&self, session: &str) -> Result<Vec<UiMessage>, StoreError> {
        let rows: Vec<(String, String)> = sqlx::query_as(
            "WITH RECURSIVE path (number) AS ( \
                 SELECT leaf_number FROM sessions WHERE name = ? AND leaf_number IS NOT NULL \
                 UNION ALL SELECT parent_number FROM messages JOIN path USING (number) \
                 WHERE parent_number IS NOT NULL) \
             SELECT message_id, body FROM messages JOIN path USING (number) ORDER BY number",
        )
        .bind(session)
        .fetch_all(&self.pool)
        .await?;
        rows.into_iter()
            .map(|(message, body)| {
                serde_json::from_str(&body).map_err(|error| StoreError::Row {
                    session: session.to_owned(),
                    message,
                    reason: error.to_string(),
                })
            })
            .collect()
    }

    async fn put(&self, session: &str, message: &UiMessage, parent: Option<&str>) -> Result<(), StoreError> {
        let body = serde_json::to_string(message).map_err(|error| StoreError::Row {
            session: session.to_owned(),
            message: message.id.clone(),
            reason: error.to_string(),
        })?;
        let role = serde_json::to_value(message.role).unwrap_or_default();
        let mut transaction = self.pool.begin_with("BEGIN IMMEDIATE").await?;
        sqlx::query("INSERT INTO sessions (name) VALUES (?) ON CONFLICT (name) DO NOTHING")
            .bind(session)
            .execute(&mut *transaction)
            .await?;
        let replaced = sqlx::query(
            "UPDATE messages SET role = ?3, body = ?4 \
             WHERE session_id = (SELECT id FROM sessions WHERE name = ?1) AND message_id = ?2",
        )
        .bind(session)
        .bind(&message.id)
        .bind(role.as_str())
        .bind(&body)
        .execute(&mut *transaction)
        .await?;
        if replaced.rows_affected() > 0 {
            transaction.commit().await?;
            return Ok(());
        }
        let (session_id, leaf): (i64, Option<i64>) =
            sqlx::query_as("SELECT id, leaf_number FROM sessions WHERE name = ?")
                .bind(session)
                .fetch_one(&mut *transaction)
                .await?;
        let parent_number = match parent {
            None => leaf,
            Some(parent) => {
                let found: Option<(i64,)> =
                    sqlx::query_as("SELECT number FROM messages WHERE session_id = ? AND message_id = ?")
                        .bind(session_id)
                        .bind(parent)
                        .fetch_optional(&mut *transaction)
                        .await?;
                let missing =
                    || StoreError::Parent { session: session.to_owned(), parent: parent.to_owned() };
                Some(found.ok_or_else(missing)?.0)
            }
        };
        let added = sqlx::query(
            "INSERT INTO messages (session_id, message_id, parent_number, role, body) VALUES (?, ?, ?, ?, ?)",
        )
        .bind(session_id)
        .bind(&message.id)
        .bind(parent_number)
        .bind(role.as_str())
        .bind(body)
        .execute(&mut *transaction)
        .await?;
        sqlx::query("UPDATE sessions SET leaf_number = ? WHERE id = ?")
            .bind(added.last_insert_rowid())
            .bind(session_id)
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        Ok(())
    }

    async fn last_request(&self, session: &str) -> Result<LastRequest, StoreError> {
        let found: Option<(Option<String>,)> =
            sqlx::query_as("SELECT last_request FROM sessions WHERE name = ?")
                .bind(session)
                .fetch_optional(&self.pool)
                .await?;
        // A request that this version cannot read is as good as none: the next one replaces it.
        let read = |text: String| serde_json::from_str(&text).ok();
        Ok(found.and_then(|(text,)| text).and_then(read).unwrap_or_default())
    }

    async fn set_last_request(&self, session: &str, request: &LastRequest) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO sessions (name, last_request) VALUES (?1, ?2) \
             ON CONFLICT (name) DO UPDATE SET last_request = excluded.last_request",
        )
        .bind(session)
        .bind(serde_json::to_string(request).unwrap_or_default())
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    async fn value(&self, extension: &str, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        storage::value(self, extension, key).await
    }

    async fn set_value(
        &self,
        extension: &str,
        key: &str,
        value: &[u8],
        limit: u64,
    ) -> Result<bool, StoreError> {
        storage::set(self, extension, key, value, limit).await
    }

    async fn delete_value(&self, extension: &str, key: &str) -> Result<bool, StoreError> {
        storage::delete(self, extension, key).await
    }

    async fn keys(&self, extension: &str, prefix: &str) -> Result<Vec<String>, StoreError> {
        storage::keys(self, extension, prefix).await
    }

    async fn increment(
        &self,
        extension: &str,
        key: &str,
        delta: i64,
        limit: u64,
    ) -> Result<Increment, StoreError> {
        storage::increment(self, extension, key, delta, limit).await
    }

    async fn context(&self, session: &str, label: &str) -> Result<Option<String>, StoreError> {
        context::get(self, session, label).await
    }

    async fn set_context(
        &self,
        session: &str,
        label: &str,
        text: &str,
        create: bool,
    ) -> Result<bool, StoreError> {
        context::set(self, session, label, text, create).await
    }

    async fn health(&self, extension: &str) -> Result<Option<(String, u64)>, StoreError> {
        health::get(self, extension).await
    }

    async fn set_health(&self, extension: &str, health: &str) -> Result<(), StoreError> {
        health::set(self, extension, health).await
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
        sqlx::query("INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'later', 1, x'00', 1)")
            .execute(&store.pool)
            .await
            .unwrap();
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
        sqlx::query("UPDATE messages SET body = '{\"id\": 7}'").execute(&store.pool).await.unwrap();
        let error = store.messages("a").await.unwrap_err().to_string();
        assert!(error.contains("m7"), "{error}");
    }
}
