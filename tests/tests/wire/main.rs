//! Recorded frames of Think, compared with those of this host's server. `tests/conformance/think-wire/README.md` says what a
//! case is.
//!
//! `LATHE_WIRE_CASES=DIR` plays the cases of that folder instead, absolute or from the repository's root.

#![allow(clippy::print_stdout, reason = "a line for each case")]

mod client;
mod differences;
mod host;
mod normal;
mod play;

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

/// Cases at a time: most of what they do is waiting, and waiting for each other would change what is seen.
const AT_ONCE: usize = 4;

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
    let got = play::play(&case).await?;
    let expected = &case["expect"];
    Ok((expected.clone(), normal::normal(&case, &got)))
}

fn files() -> anyhow::Result<Vec<PathBuf>> {
    let folder = std::env::var_os("LATHE_WIRE_CASES");
    let folder = folder.map_or_else(|| "tests/conformance/think-wire".into(), PathBuf::from);
    let folder = root().join(folder);
    let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    Ok(files)
}
