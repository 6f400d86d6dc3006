//! What the operator wrote for this extension in `lathe.toml`.

use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::host;

/// The settings, as a type of the extension's own. Where nothing is set, they are `{}`.
///
/// # Errors
///
/// If they do not fit the type.
pub fn settings<T: DeserializeOwned>() -> Result<T> {
    serde_json::from_str(&host::settings::get())
        .map_err(|error| Error::new(format!("the settings do not fit: {error}")))
}
