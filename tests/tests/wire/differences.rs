//! Where the host differs on purpose from what was recorded: the `[[wire]]` of `tests/conformance/differences.toml`.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context;
use lathe_tests::compare::{Found, compare};
use serde::Deserialize;
use serde_json::Value;

/// One that is intended.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Difference {
    /// Only in these cases; in all if there are none.
    #[serde(default)]
    cases: Vec<String>,
    /// Where: names from the top, without the names of connections and the places in lists. What lies below counts too.
    fields: Vec<String>,
    /// Only where the recording has nothing.
    #[serde(default)]
    beyond: bool,
    /// Only where the host has nothing.
    #[serde(default)]
    missing: bool,
    /// Why it is better so.
    reason: String,
    #[serde(skip)]
    used: BTreeSet<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Differences {
    wire: Vec<Difference>,
    #[serde(skip)]
    played: BTreeSet<String>,
}

impl Differences {
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        toml::from_str(&text).with_context(|| file.display().to_string())
    }

    /// In what a case differs though it should not.
    pub(crate) fn without(&mut self, case: &str, expected: &Value, got: &Value) -> Vec<String> {
        self.played.insert(case.to_owned());
        let mut found = compare(expected, got);
        for difference in &mut self.wire {
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
    pub(crate) fn report(&self) {
        for Difference { cases, fields, reason, used, .. } in &self.wire {
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
        self.fields.iter().any(lies_below)
            && (!self.beyond || found.expected.is_none())
            && (!self.missing || found.got.is_none())
    }
}
