//! How extensions fare, as their hosts write it down.

use super::{SqliteStore, StoreError};

pub(super) async fn get(store: &SqliteStore, extension: &str) -> Result<Option<(String, u64)>, StoreError> {
    let row: Option<(String, i64)> = sqlx::query_as(
        "SELECT body, CAST(unixepoch('subsec') * 1000 AS INTEGER) - written_at FROM extension_health \
         WHERE extension = ?",
    )
    .bind(extension)
    .fetch_optional(&store.pool)
    .await?;
    // A clock that was put back makes no age.
    Ok(row.map(|(body, age_ms)| (body, u64::try_from(age_ms).unwrap_or(0))))
}

pub(super) async fn set(store: &SqliteStore, extension: &str, body: &str) -> Result<(), StoreError> {
    sqlx::query("INSERT OR REPLACE INTO extension_health (extension, body) VALUES (?, ?)")
        .bind(extension)
        .bind(body)
        .execute(&store.pool)
        .await?;
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
        sqlx::query("UPDATE extension_health SET written_at = written_at - 5000 WHERE extension = 'a'")
            .execute(&store.pool)
            .await
            .unwrap();
        let (body, age_ms) = store.health("a").await.unwrap().unwrap();
        assert_eq!(body, "2");
        assert!(age_ms >= 5_000, "{age_ms}");
        sqlx::query("UPDATE extension_health SET written_at = written_at + 9000000")
            .execute(&store.pool)
            .await
            .unwrap();
        assert_eq!(store.health("a").await.unwrap(), Some(("2".into(), 0)), "a clock that was put back");
    }
}
