//! The peers, in a process and a workspace of their own: `tests/peers`.

#![allow(clippy::print_stderr, reason = "progress of a bench")]

use std::process::{Command, Stdio};

use lathe_tests::guests::root;
use serde_json::Value;

use crate::report::{Measure, Report};

/// Builds and runs them, and takes up what they print. Without them the bench goes on.
pub(crate) fn run(report: &mut Report) {
    let cargo = Command::new(env!("CARGO"))
        .current_dir(root().join("tests/peers"))
        .args(["run", "--release", "--locked"])
        // Under a folder of its own, since another lock file stands behind it.
        .env("CARGO_TARGET_DIR", lathe_tests::guests::target().join("peers"))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    match cargo {
        Ok(output) if output.status.success() => {
            let figures: Value = serde_json::from_slice(&output.stdout).unwrap();
            for figure in figures.as_array().unwrap() {
                let measure = Measure::of(figure["measure"].as_str().unwrap()).unwrap();
                report.peer(measure, figure["peer"].as_str().unwrap(), figure["ns"].as_f64().unwrap());
            }
        }
        _ => eprintln!("The peers in tests/peers do not build or run here: the figures stand without them."),
    }
}
