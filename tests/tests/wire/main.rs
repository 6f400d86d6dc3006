//! Recorded frames of Think, compared with those of this host's server. `tests/conformance/think-wire/README.md` says what a
//! case is.

mod client;
mod host;
mod normal;
mod play;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use lathe_tests::suite::Suite;
use serde_json::Value;

#[tokio::main]
async fn main() -> ExitCode {
    let suite = Suite {
        differences: "wire",
        variable: "LATHE_WIRE_CASES",
        folders: &["tests/conformance/think-wire"],
        // More would wait for each other, and that would change what is seen.
        at_once: 4,
    };
    suite.play(async |file| case(&file).await).await
}

async fn case(file: &Path) -> anyhow::Result<(Value, Value)> {
    let case: Value = serde_json::from_str(&std::fs::read_to_string(file)?).context("it is not a case")?;
    let got = play::play(&case).await?;
    let expected = &case["expect"];
    Ok((expected.clone(), normal::normal(&case, &got)))
}
