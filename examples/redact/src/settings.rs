//! What the operator may set.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// What is masked. The defaults mask every known kind, in inputs and outputs.
#[derive(Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Settings {
    /// Whether tools get their inputs masked too; without, outputs are masked alone. Turn it off for tools that need a
    /// secret which the model has to write.
    pub(crate) inputs: bool,
    /// Kinds that are left as they are, by name: `jwt`, `urlPassword`.
    pub(crate) without: Vec<crate::kind::Name>,
    /// More patterns, by the name that stands in place of what they match. A regular expression as the crate `regex-lite`
    /// has them; where it has a group, the group alone is masked.
    pub(crate) patterns: BTreeMap<String, String>,
    /// Fields of JSON objects whose texts are masked whole. Case, `_` and `-` do not matter.
    pub(crate) fields: Vec<String>,
}

/// Not `token` and `secret`: tools call page tokens and names of secrets so.
const FIELDS: [&str; 8] = [
    "password",
    "passwd",
    "apiKey",
    "accessToken",
    "refreshToken",
    "clientSecret",
    "secretAccessKey",
    "privateKey",
];

impl Default for Settings {
    fn default() -> Self {
        Self {
            inputs: true,
            without: Vec::new(),
            patterns: BTreeMap::new(),
            fields: FIELDS.map(String::from).into(),
        }
    }
}

impl Settings {
    /// Whether the text of a field of this name is masked whole.
    pub(crate) fn is_secret(&self, field: &str) -> bool {
        let letters = |name: &str| -> String {
            name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
        };
        let field = letters(field);
        self.fields.iter().any(|secret| letters(secret) == field)
    }
}
