//! What the operator may set.

use schemars::JsonSchema;
use serde::Deserialize;

/// Where GitHub is, and how much of an issue is read.
#[derive(Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Settings {
    /// Where the API is, without a slash at the end. For a proxy on another port: the host has to stay `api.github.com`,
    /// which is all that the manifest asks for.
    pub(crate) api: String,
    /// The most characters of a body that the model is shown.
    pub(crate) body_characters: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { api: "https://api.github.com".to_owned(), body_characters: 4_000 }
    }
}
