use std::path::Path;

use async_trait::async_trait;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};

use super::{Increment, Store, StoreError, health, storage};
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
            "SELECT message_id, body FROM messages JOIN sessions ON sessions.id = session_id \
             WHERE name = ? ORDER BY number",
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

    async fn put(&self, session: &str, message: &UiMessage) -> Result<(), StoreError> {
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
        sqlx::query(
            "INSERT INTO messages (session_id, message_id, parent_number, role, body) \
             SELECT id, ?2, (SELECT max(number) FROM messages WHERE session_id = sessions.id), ?3, ?4 \
             FROM sessions WHERE name = ?1 \
             ON CONFLICT (session_id, message_id) DO UPDATE SET role = excluded.role, body = excluded.body",
        )
        .bind(session)
        .bind(&message.id)
        .bind(role.as_str())
        .bind(body)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
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
            store.put(session, &UiMessage::user(id, text)).await.unwrap();
        }
        store.close().await;
        let messages = open(&folder).await.messages("a").await.unwrap();
        assert_eq!(messages, [UiMessage::user("1", "ONE"), UiMessage::user("2", "two")]);
        assert_eq!(open(&folder).await.messages("c").await.unwrap(), []);
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
        store.put("a", &UiMessage::user("m7", "x")).await.unwrap();
        sqlx::query("UPDATE messages SET body = '{\"id\": 7}'").execute(&store.pool).await.unwrap();
        let error = store.messages("a").await.unwrap_err().to_string();
        assert!(error.contains("m7"), "{error}");
    }
}
