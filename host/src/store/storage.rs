//! The values that extensions keep.

use rusqlite::{Connection, OptionalExtension};

use super::{Increment, StoreError};

pub(super) fn value(
    connection: &Connection,
    extension: &str,
    key: &str,
) -> Result<Option<Vec<u8>>, StoreError> {
    let value = connection
        .prepare_cached("SELECT value FROM extension_storage WHERE extension = ? AND key = ?")?
        .query_row([extension, key], |row| row.get(0))
        .optional()?;
    Ok(value)
}

/// Writes a value unless it does not fit beside the extension's others.
pub(super) fn set(
    connection: &Connection,
    extension: &str,
    key: &str,
    value: &[u8],
    limit: u64,
) -> Result<bool, StoreError> {
    let others: i64 = connection
        .prepare_cached(
            "SELECT coalesce(sum(octet_length(key) + length(value)), 0) FROM extension_storage \
             WHERE extension = ? AND key <> ?",
        )?
        .query_row([extension, key], |row| row.get(0))?;
    let size = u64::try_from(others).unwrap_or(0).saturating_add((key.len() + value.len()) as u64);
    if size > limit {
        return Ok(false);
    }
    connection
        .prepare_cached("INSERT OR REPLACE INTO extension_storage (extension, key, value) VALUES (?, ?, ?)")?
        .execute((extension, key, value))?;
    Ok(true)
}

pub(super) fn delete(connection: &Connection, extension: &str, key: &str) -> Result<bool, StoreError> {
    let done = connection
        .prepare_cached("DELETE FROM extension_storage WHERE extension = ? AND key = ?")?
        .execute([extension, key])?;
    Ok(done > 0)
}

pub(super) fn keys(
    connection: &Connection,
    extension: &str,
    prefix: &str,
) -> Result<Vec<String>, StoreError> {
    // Not LIKE: a prefix may hold its wildcards.
    let mut statement = connection.prepare_cached(
        "SELECT key FROM extension_storage WHERE extension = ?1 AND substr(key, 1, length(?2)) = ?2 ORDER BY key",
    )?;
    let keys = statement.query_map([extension, prefix], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(keys)
}

pub(super) fn increment(
    connection: &Connection,
    extension: &str,
    key: &str,
    delta: i64,
    limit: u64,
) -> Result<Increment, StoreError> {
    let now = match value(connection, extension, key)? {
        None => Some(0),
        Some(bytes) => str::from_utf8(&bytes).ok().and_then(|text| text.parse::<i64>().ok()),
    };
    let Some(sum) = now.and_then(|now| now.checked_add(delta)) else { return Ok(Increment::NotANumber) };
    let fits = set(connection, extension, key, sum.to_string().as_bytes(), limit)?;
    Ok(if fits { Increment::Sum(sum) } else { Increment::Full })
}

#[cfg(test)]
mod tests {
    use crate::store::{Increment, SqliteStore, Store};

    async fn store() -> (tempfile::TempDir, SqliteStore) {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("lathe.db")).await.unwrap();
        (folder, store)
    }

    #[tokio::test]
    async fn extensions_keep_apart_and_within_their_quota() {
        let (_folder, store) = store().await;
        assert!(store.set_value("a", "k", b"12345", 10).await.unwrap());
        assert!(
            store.set_value("a", "k", b"123456789", 10).await.unwrap(),
            "a replaced value does not count"
        );
        assert!(!store.set_value("a", "l", b"", 10).await.unwrap());
        assert!(store.set_value("b", "k", b"", 10).await.unwrap());
        assert_eq!(store.value("a", "k").await.unwrap().unwrap(), b"123456789");
        assert!(store.delete_value("a", "k").await.unwrap());
        assert!(!store.delete_value("a", "k").await.unwrap());
        assert_eq!(store.value("a", "k").await.unwrap(), None);
    }

    #[tokio::test]
    async fn keys_are_found_by_prefix_wildcards_and_all() {
        let (_folder, store) = store().await;
        for key in ["b", "a%2", "a1", "a%1", "ä"] {
            store.set_value("x", key, b"", 100).await.unwrap();
        }
        assert_eq!(store.keys("x", "a%").await.unwrap(), ["a%1", "a%2"]);
        assert_eq!(store.keys("x", "").await.unwrap(), ["a%1", "a%2", "a1", "b", "ä"]);
        assert_eq!(store.keys("y", "").await.unwrap(), [""; 0]);
    }

    #[tokio::test]
    async fn counting_at_once_loses_nothing() {
        let (_folder, store) = store().await;
        let adds = (0..50).map(|_| store.increment("x", "n", 2, 100));
        futures::future::try_join_all(adds).await.unwrap();
        assert_eq!(store.increment("x", "n", 0, 100).await.unwrap(), Increment::Sum(100));
    }

    #[tokio::test]
    async fn counting_stays_within_numbers_and_quota() {
        let (_folder, store) = store().await;
        store.increment("x", "n", i64::MAX, 100).await.unwrap();
        assert_eq!(store.increment("x", "n", 1, 100).await.unwrap(), Increment::NotANumber);
        store.set_value("x", "word", b"hello", 100).await.unwrap();
        assert_eq!(store.increment("x", "word", 1, 100).await.unwrap(), Increment::NotANumber);
        assert_eq!(store.increment("x", "m", 1, 20).await.unwrap(), Increment::Full);
    }
}
