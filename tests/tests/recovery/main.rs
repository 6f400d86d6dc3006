//! Recorded interruptions of Think, played on this host: a process that is killed where a case says so, and started again on
//! the same store; and cases of this host's own. `tests/conformance/think-recovery/README.md` says what a case is; its `frames`
//! are not compared.
//!
//! `LATHE_RECOVERY_CASES=DIR` plays the cases of that folder instead, absolute or from the repository's root.

#![allow(clippy::print_stdout, reason = "a line for each case")]

mod differences;
mod frames;
mod play;
mod process;
mod sequence;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use futures::StreamExt;
use lathe_tests::guests::root;
use serde_json::Value;

use differences::Differences;

/// Of one case, with all its pauses.
const PATIENCE: Duration = Duration::from_secs(120);

/// Cases at a time: most of what they do is waiting.
const AT_ONCE: usize = 8;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("the cases could not be played: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Plays every case; true if all passed.
async fn run() -> anyhow::Result<bool> {
    let mut differences = Differences::read(&root().join("tests/conformance/differences.toml"))?;
    let mut played = futures::stream::iter(files()?)
        .map(|file| async move {
            let played = match tokio::time::timeout(PATIENCE, case(&file)).await {
                Ok(played) => played,
                Err(_) => Err(anyhow::anyhow!("it took longer than {PATIENCE:?}")),
            };
            (file.file_stem().unwrap_or_default().to_string_lossy().into_owned(), played)
        })
        .buffered(AT_ONCE);
    let (mut passed, mut failed) = (0, 0);
    while let Some((name, played)) = played.next().await {
        let found = match played {
            Ok((expected, got)) => differences.without(&name, &expected, &got),
            Err(error) => vec![format!("it could not be played: {error:#}")],
        };
        if found.is_empty() {
            passed += 1;
            println!("ok {name}");
        } else {
            failed += 1;
            println!("FAIL {name}: {}", found.join("\n     "));
        }
    }
    differences.report();
    println!("{passed} passed, {failed} failed");
    Ok(failed == 0 && passed > 0)
}

/// Plays one case: what was expected and what happened, ready to be compared.
async fn case(file: &Path) -> anyhow::Result<(Value, Value)> {
    let case: Value = serde_json::from_str(&std::fs::read_to_string(file)?).context("it is not a case")?;
    let got = play::play(file, &case).await?;
    let ready = |side| sequence::ready(&case, side);
    Ok((ready(&case["expect"]), ready(&got)))
}

fn files() -> anyhow::Result<Vec<PathBuf>> {
    let folders = match std::env::var_os("LATHE_RECOVERY_CASES") {
        Some(folder) => vec![PathBuf::from(folder)],
        None => vec!["tests/conformance/think-recovery".into(), "tests/conformance/lathe-recovery".into()],
    };
    let mut files = Vec::new();
    for folder in folders {
        let folder = root().join(folder);
        let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        let entries = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
        let start = files.len();
        files.extend(entries.into_iter().filter(|file| file.extension().is_some_and(|own| own == "json")));
        files[start..].sort();
    }
    Ok(files)
}
