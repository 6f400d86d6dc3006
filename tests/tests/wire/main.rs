//! Recorded frames of Think, compared with those of this host's server. `tests/conformance/think-wire/README.md` says what a
//! case is.

mod host;
mod play;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use lathe_tests::frames::normal;
use lathe_tests::guests::guest;
use lathe_tests::probe::Template;
use lathe_tests::suite::Suite;
use serde_json::Value;
use tokio::sync::OnceCell;

#[tokio::main]
async fn main() -> ExitCode {
    let suite = Suite {
        differences: "wire",
        variable: "LATHE_WIRE_CASES",
        folders: &["tests/conformance/think-wire", "tests/conformance/think-wire-more"],
        // More would wait for each other, and that would change what is seen.
        at_once: 4,
    };
    // Only cases with extensions need it.
    let probe = OnceCell::new();
    suite.play(async |file| case(&file, &probe).await).await
}

async fn case(file: &Path, probe: &OnceCell<Template>) -> anyhow::Result<(Value, Value)> {
    let case: Value = serde_json::from_str(&std::fs::read_to_string(file)?).context("it is not a case")?;
    let probe = match &case["extensions"] {
        Value::Array(extensions) if !extensions.is_empty() => {
            Some(probe.get_or_try_init(async || Template::read(&guest("probe"))).await?)
        }
        _ => None,
    };
    let got = play::play(&case, probe).await?;
    Ok((case["expect"].clone(), normal(&case, &got)))
}
