//! Where the host differs on purpose from what was recorded: a table of `tests/conformance/differences.toml`.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use crate::compare::{Found, compare};

/// One that is intended.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Difference {
    /// Only in these cases; in all if there are none.
    #[serde(default)]
    cases: Vec<String>,
    /// Where: names from the top, without the numbers of processes and the places in lists. What lies below counts too.
    fields: Vec<String>,
    /// Only where the recording has nothing.
    #[serde(default)]
    beyond: bool,
    /// Only where the host has nothing.
    #[serde(default)]
    missing: bool,
    /// Only if the recording has this in front of the host's own text.
    in_front: Option<String>,
    /// Why it is better so.
    reason: String,
    #[serde(skip)]
    used: BTreeSet<String>,
}

#[derive(Debug)]
pub(crate) struct Differences {
    known: Vec<Difference>,
    played: BTreeSet<String>,
}

impl Differences {
    /// Of the suite that has a table of that name.
    pub(crate) fn read(file: &Path, table: &str) -> anyhow::Result<Self> {
        let read = || -> anyhow::Result<_> {
            let mut tables: toml::Table = toml::from_str(&std::fs::read_to_string(file)?)?;
            let known = tables.remove(table).with_context(|| format!("it has no [[{table}]]"))?;
            Ok(Self { known: known.try_into()?, played: BTreeSet::new() })
        };
        read().with_context(|| file.display().to_string())
    }

    /// In what a case differs though it should not.
    pub(crate) fn without(&mut self, case: &str, expected: &Value, got: &Value) -> Vec<String> {
        self.played.insert(case.to_owned());
        let mut found = compare(expected, got);
        for difference in &mut self.known {
            if !difference.cases.is_empty() && !difference.cases.iter().any(|own| own == case) {
                continue;
            }
            let before = found.len();
            found.retain(|found| !difference.covers(found));
            if found.len() < before {
                difference.used.insert(case.to_owned());
            }
        }
        found.iter().map(Found::to_string).collect()
    }

    /// Says which were met, and which were not though their case was played.
    #[allow(clippy::print_stdout, reason = "it is what a suite prints")]
    pub(crate) fn report(&self) {
        for Difference { cases, fields, reason, used, .. } in &self.known {
            if !used.is_empty() {
                let used: Vec<&str> = used.iter().map(|case| &**case).collect();
                println!("differs in {}: {reason} ({})", fields.join(", "), used.join(", "));
            }
            for case in cases.iter().filter(|case| self.played.contains(*case) && !used.contains(*case)) {
                println!("does not differ any more in {}: {case}", fields.join(", "));
            }
        }
    }
}

impl Difference {
    fn covers(&self, found: &Found) -> bool {
        let path: Vec<&str> =
            found.path.iter().map(|name| &**name).filter(|name| name.parse::<usize>().is_err()).collect();
        let lies_below = |field: &String| {
            let names: Vec<&str> = field.split('.').collect();
            names.len() <= path.len() && names.iter().zip(&path).all(|(name, at)| name == at)
        };
        let in_front = |text: &String| match (&found.expected, &found.got) {
            (Some(Value::String(expected)), Some(Value::String(got))) => {
                expected.strip_prefix(&**text) == Some(&**got)
            }
            _ => false,
        };
        self.fields.iter().any(lies_below)
            && self.in_front.as_ref().is_none_or(in_front)
            && (!self.beyond || found.expected.is_none())
            && (!self.missing || found.got.is_none())
    }
}
