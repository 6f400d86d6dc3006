//! Published clients, unmodified, against a real `lathe serve`: `tests/clients/README.md`.
//!
//! `LATHE_CLIENTS=agents,ai6` runs those alone.

#![allow(clippy::print_stdout, reason = "a line for each check")]

mod install;
mod script;
mod serve;

use std::process::ExitCode;

use anyhow::bail;
use lathe_tests::guests::root;

use script::Counts;
use serve::Served;

/// The scripts of `tests/clients/`, and whether they need a browser.
const SCRIPTS: [(&str, bool); 5] =
    [("agents", false), ("ai6", false), ("ai7", false), ("react", true), ("page", true)];

/// The script that tries the page that the server serves itself; it is given a server.
const PAGE: &str = "page";

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(counts) => {
            println!("{} passed, {} failed", counts.passed, counts.failed);
            if counts.failed == 0 && counts.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            println!("the clients could not be run: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> anyhow::Result<Counts> {
    let mut scripts = chosen()?;
    scripts.retain(|(name, _)| *name != PAGE || root().join("tests/clients/page.mjs").exists());
    install::check(scripts.iter().any(|(_, browser)| *browser))?;
    install::packages()?;
    let mut counts = Counts::default();
    for (name, _) in scripts {
        let served = if name == PAGE { Some(Served::start()?) } else { None };
        counts += script::run(name, served.as_ref().map(Served::url)).await?;
    }
    Ok(counts)
}

fn chosen() -> anyhow::Result<Vec<(&'static str, bool)>> {
    let Ok(wanted) = std::env::var("LATHE_CLIENTS") else { return Ok(SCRIPTS.to_vec()) };
    let wanted: Vec<&str> = wanted.split(',').map(str::trim).collect();
    if let Some(unknown) = wanted.iter().find(|name| SCRIPTS.iter().all(|(known, _)| known != *name)) {
        let known: Vec<&str> = SCRIPTS.iter().map(|(name, _)| *name).collect();
        bail!("LATHE_CLIENTS names \"{unknown}\", and there are {}", known.join(", "));
    }
    Ok(SCRIPTS.into_iter().filter(|(name, _)| wanted.contains(name)).collect())
}
