use std::path::Path;

use anyhow::Context;
use lathe::extensions::Limits;
use serde::Deserialize;

/// What `tests/hostile/table.toml` says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    pub(super) guest: Vec<Guest>,
}

/// A hostile guest: how it is made, and what must become of it. The fields are explained where the table is.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Guest {
    pub(super) row: u32,
    pub(super) name: String,
    pub(super) wat: Option<String>,
    pub(super) rogue: Option<String>,
    pub(super) bytes: Option<String>,
    #[serde(default = "one")]
    pub(super) hooks: u8,
    #[serde(default = "one_tool")]
    pub(super) tools: u16,
    #[serde(default)]
    pub(super) decide: bool,
    #[serde(default)]
    pub(super) limits: Limits,
    pub(super) load: Option<String>,
    pub(super) hook: Option<String>,
    pub(super) tool: Option<String>,
    pub(super) text: Option<String>,
    pub(super) health: Option<String>,
    pub(super) check: Option<String>,
    pub(super) skip: Option<String>,
}

fn one() -> u8 {
    1
}

fn one_tool() -> u16 {
    1
}

impl Guest {
    /// The name of the extension, which is always the same for the Rust guest.
    pub(super) fn extension(&self) -> &str {
        if self.rogue.is_some() { "rogue" } else { &self.name }
    }

    /// The name under which a model is offered its tool.
    pub(super) fn tool_name(&self) -> String {
        format!("{}_act", self.extension().replace('-', "_"))
    }

    /// Whether it can be put into an extensions folder, beside others or alone.
    pub(super) fn is_a_file(&self) -> bool {
        self.check.is_none() && self.skip.is_none()
    }
}

pub(super) fn read(file: &Path) -> anyhow::Result<Table> {
    let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    Ok(toml::from_str(&text)?)
}
