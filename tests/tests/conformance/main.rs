//! Recorded behaviour of the systems that this host follows, played on it with real guests.
//!
//! `LATHE_CONFORMANCE=DIR` plays the cases of that folder instead of those of `tests/conformance/`. `LATHE_PROBE=js` or
//! `python` plays those that have extensions, with a guest in that language.

#![allow(clippy::print_stdout, reason = "a line for each case")]

mod case;
mod differences;
mod host;
mod library;
mod play;
mod sequence;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use lathe_tests::guests::{guest, root};
use lathe_tests::scripts::script;

use case::Case;
use differences::Differences;
use play::Player;

/// Of one case, all its pauses included, and the compiling of each of its extensions: Python's are 18 MB.
const PATIENCE: Duration = Duration::from_secs(900);

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
    let files = files()?;
    let mut differences = Differences::read(&root().join("tests/conformance/differences.toml"))?;
    let Some((probe, rust)) = probe()? else { return Ok(true) };
    let player = Player::new(&probe)?;
    let (mut passed, mut failed) = (0, 0);
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let case = match Case::read(&file) {
            Ok(case) => case,
            Err(error) => {
                failed += 1;
                println!("FAIL {name}: {error:#}");
                continue;
            }
        };
        // The others would be played as before.
        if !rust && case.extensions.is_empty() {
            continue;
        }
        let played = async {
            match &case.library {
                Some(script) => library::play(script).await,
                None => player.play(&case).await,
            }
        };
        let found = match tokio::time::timeout(PATIENCE, played).await {
            Ok(Ok(got)) => differences.without(&case, &case.expect, &got),
            Ok(Err(error)) => vec![format!("it could not be played: {error:#}")],
            Err(_) => vec![format!("it took longer than {PATIENCE:?}")],
        };
        if found.is_empty() {
            passed += 1;
            println!("ok {}", case.name);
        } else {
            failed += 1;
            println!("FAIL {}: {}", case.name, found.join("\n     "));
        }
    }
    differences.report();
    println!("{passed} passed, {failed} failed");
    Ok(failed == 0 && passed > 0)
}

/// The guest that plays the extensions, and whether it is the one in Rust. None if it cannot be built on this machine.
fn probe() -> anyhow::Result<Option<(PathBuf, bool)>> {
    let language = std::env::var("LATHE_PROBE").unwrap_or_else(|_| "rust".into());
    let folder = match &*language {
        "rust" => return Ok(Some((guest("probe"), true))),
        "js" => "probe-js",
        "python" => "probe-py",
        other => anyhow::bail!("LATHE_PROBE is {other}, not rust, js or python"),
    };
    match script(&root().join("tests/guests").join(folder)) {
        Ok(file) => Ok(Some((file, false))),
        Err(why) => {
            println!("skipped, {folder} cannot be built here: {why}");
            Ok(None)
        }
    }
}

fn files() -> anyhow::Result<Vec<PathBuf>> {
    let folders = match std::env::var_os("LATHE_CONFORMANCE") {
        // A test runs in its crate's folder, the caller stood somewhere else.
        Some(folder) if Path::new(&folder).is_dir() => vec![PathBuf::from(folder)],
        Some(folder) => vec![root().join(folder)],
        None => {
            let mut folders = entries(&root().join("tests/conformance"))?;
            // The tests `recovery` and `wire` play theirs.
            let own = ["think-recovery", "lathe-recovery", "think-wire", "think-wire-more"];
            folders.retain(|path| path.is_dir() && !own.iter().any(|name| path.ends_with(name)));
            folders
        }
    };
    let mut files = Vec::new();
    for folder in folders {
        files.extend(
            entries(&folder)?.into_iter().filter(|path| path.extension().is_some_and(|e| e == "json")),
        );
    }
    Ok(files)
}

fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
