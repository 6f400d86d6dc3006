//! How extensions fare, as their hosts write it down.

use rusqlite::{Connection, OptionalExtension};

use super::StoreError;

pub(super) fn get(connection: &Connection, extension: &str) -> Result<Option<(String, u64)>, StoreError> {
    let row: Option<(String, i64)> = connection
        .prepare_cached(
            "SELECT body, CAST(unixepoch('subsec') * 1000 AS INTEGER) - written_at FROM extension_health \
             WHERE extension = ?",
        )?
        .query_row([extension], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    // A clock that was put back makes no age.
    Ok(row.map(|(body, age_ms)| (body, u64::try_from(age_ms).unwrap_or(0))))
}

pub(super) fn set(connection: &Connection, extension: &str, body: &str) -> Result<(), StoreError> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO extension_health (extension, body) VALUES (?, ?)")?
        .execute([extension, body])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::store::{SqliteStore, Store};

    #[tokio::test]
    async fn what_was_written_last_is_there_with_its_age() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("lathe.db")).await.unwrap();
        assert_eq!(store.health("a").await.unwrap(), None);
        store.set_health("a", "1").await.unwrap();
        store.set_health("b", "other").await.unwrap();
        store.set_health("a", "2").await.unwrap();
        store
            .execute("UPDATE extension_health SET written_at = written_at - 5000 WHERE extension = 'a'")
            .await;
        let (body, age_ms) = store.health("a").await.unwrap().unwrap();
        assert_eq!(body, "2");
        assert!(age_ms >= 5_000, "{age_ms}");
        store.execute("UPDATE extension_health SET written_at = written_at + 9000000").await;
        assert_eq!(store.health("a").await.unwrap(), Some(("2".into(), 0)), "a clock that was put back");
    }
}
