//! Values by key, kept for this extension alone, over turns, sessions, restarts and upgrades.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bridge::BridgeError;
use crate::error::{Error, Result};
use crate::host::storage;

/// The bytes under a key; none if there is no such key.
///
/// # Errors
///
/// If the host cannot read it.
pub fn get(key: &str) -> Result<Option<Vec<u8>>, BridgeError> {
    Ok(storage::get(key)?)
}

/// Stores bytes under a key of at most 512 bytes. They are written when it returns.
///
/// # Errors
///
/// If they would be larger than the host allows.
pub fn set(key: &str, value: impl AsRef<[u8]>) -> Result<(), BridgeError> {
    Ok(storage::set(key, value.as_ref())?)
}

/// Removes a key. False if there was no such key.
///
/// # Errors
///
/// If the host cannot write.
pub fn delete(key: &str) -> Result<bool, BridgeError> {
    Ok(storage::delete(key)?)
}

/// The keys that start with `prefix`, sorted.
///
/// # Errors
///
/// If the host cannot read them.
pub fn keys(prefix: &str) -> Result<Vec<String>, BridgeError> {
    Ok(storage::keys(prefix)?)
}

/// Adds to a whole number, a missing one counts as 0, and returns the sum. Sessions that count at once lose nothing.
///
/// # Errors
///
/// If what is stored is no whole number, or the sum does not fit.
pub fn increment(key: &str, delta: i64) -> Result<i64, BridgeError> {
    Ok(storage::increment(key, delta)?)
}

/// The JSON value under a key; none if there is no such key.
///
/// # Errors
///
/// If it does not fit the type.
pub fn get_json<T: DeserializeOwned>(key: &str) -> Result<Option<T>> {
    let Some(bytes) = get(key)? else { return Ok(None) };
    serde_json::from_slice(&bytes)
        .map(Some)
        .map_err(|error| Error::new(format!("what is stored under `{key}` does not fit: {error}")))
}

/// Stores a value as JSON under a key.
///
/// # Errors
///
/// If it has no JSON form, or would be larger than the host allows.
pub fn set_json<T: Serialize + ?Sized>(key: &str, value: &T) -> Result<()> {
    Ok(set(key, serde_json::to_vec(value)?)?)
}
