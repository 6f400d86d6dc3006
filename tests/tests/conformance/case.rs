use std::path::Path;

use anyhow::{Context, ensure};
use lathe_tests::recording::entry;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::library::script::Script;

/// One case: what goes in, and what came of it when it was recorded. The format is in
/// `conformance/README.md` of the recordings.
#[derive(Debug, Deserialize)]
pub(crate) struct Case {
    #[serde(default)]
    pub(crate) name: String,
    /// What goes into it, if it is a case of the Go library.
    #[serde(skip)]
    pub(crate) library: Option<Script>,
    #[serde(default)]
    pub(crate) host: Host,
    #[serde(default)]
    pub(crate) extensions: Vec<Value>,
    #[serde(default)]
    pub(crate) model: Vec<Value>,
    #[serde(default)]
    turns: Option<Vec<Value>>,
    pub(crate) expect: Value,
}

/// The agent.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Host {
    pub(crate) system: Option<String>,
    pub(crate) tools: Map<String, Value>,
    pub(crate) hooks: Map<String, Value>,
    pub(crate) max_steps: Option<u32>,
}

impl Case {
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(file)?;
        let mut case: Self = serde_json::from_str(&text).context("it is not a case")?;
        // Only these say where they are from.
        if serde_json::from_str::<Value>(&text)?.get("source").is_some() {
            case.library = Some(serde_json::from_str(&text).context("it cannot be played")?);
        }
        if case.name.is_empty() {
            case.name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        }
        ensure!(!case.model.is_empty(), "the model has nothing to say");
        Ok(case)
    }

    pub(crate) fn system(&self) -> &str {
        self.host.system.as_deref().unwrap_or("SYS")
    }

    /// The user's messages.
    pub(crate) fn turns<'a>(&'a self) -> Vec<&'a str> {
        let text = |turn: &'a Value| turn["user"].as_str().unwrap_or_default();
        self.turns.as_ref().map_or_else(|| vec!["go"], |turns| turns.iter().map(text).collect())
    }

    /// The script in the words of the scripted model.
    pub(crate) fn script(&self) -> Value {
        self.model.iter().map(entry).collect()
    }

    /// The calls that the script can make: id, tool and input.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        let calls = self.model.iter().filter_map(|entry| entry["toolCalls"].as_array()).flatten();
        calls.map(|call| {
            (
                call["id"].as_str().unwrap_or_default(),
                call["name"].as_str().unwrap_or_default(),
                &call["input"],
            )
        })
    }
}
