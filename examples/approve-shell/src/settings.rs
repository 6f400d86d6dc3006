//! What the operator may set.

use lathe_guest::prelude::Value;
use schemars::JsonSchema;
use serde::Deserialize;

/// Which calls are stopped. The first rule that fits a call is the one that counts; a call that none fits is run.
#[derive(Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Settings {
    /// In order, before those that are built in.
    pub(crate) rules: Vec<Rule>,
    /// Whether the built-in rules follow.
    pub(crate) builtin: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { rules: Vec::new(), builtin: true }
    }
}

/// One rule.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Rule {
    /// Which tools, by the name that the model knows: `*` and `?` stand for any characters, `{a,b}` for one of these.
    pub(crate) tools: String,
    /// A regular expression, as the crate `regex-lite` has them, for any text of the input; a list of texts is also tried
    /// joined with spaces. Absent, every call fits.
    pub(crate) pattern: Option<String>,
    /// What becomes of the call.
    pub(crate) then: Action,
    /// For the log, and for the model where the operator grants `reasons`.
    #[serde(default = "unexplained")]
    pub(crate) reason: String,
}

fn unexplained() -> String {
    "a rule of the operator is against it".to_owned()
}

/// What becomes of a call.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Action {
    /// It is run, whatever the rules below say: let the pattern fit all of the command, with `^` and `$`.
    Allow,
    /// It is not run.
    Block,
    /// It is not run, and this is its output.
    Substitute(Value),
}
