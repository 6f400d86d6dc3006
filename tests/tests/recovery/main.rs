//! Recorded interruptions of Think, played on this host: a process that is killed where a case says so, and started again on
//! the same store; and cases of this host's own. `tests/conformance/think-recovery/README.md` says what a case is.

mod play;
mod process;
mod sequence;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use lathe_tests::frames::normal;
use lathe_tests::suite::Suite;
use serde_json::Value;

#[tokio::main]
async fn main() -> ExitCode {
    let suite = Suite {
        differences: "recovery",
        variable: "LATHE_RECOVERY_CASES",
        folders: &["tests/conformance/think-recovery", "tests/conformance/lathe-recovery"],
        at_once: 8,
    };
    suite.play(async |file| case(&file).await).await
}

async fn case(file: &Path) -> anyhow::Result<(Value, Value)> {
    let case: Value = serde_json::from_str(&std::fs::read_to_string(file)?).context("it is not a case")?;
    let got = play::play(file, &case).await?;
    let compared = case["expect"].get("frames").is_some();
    let ready = |side: &Value| {
        let mut ready = sequence::ready(&case, side);
        if compared {
            ready["frames"] = normal(&case, &side["frames"]);
        }
        ready
    };
    Ok((ready(&case["expect"]), ready(&got)))
}
