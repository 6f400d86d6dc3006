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
