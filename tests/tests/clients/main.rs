//! Published clients, unmodified, against a real `lathe serve`: `tests/clients/README.md`.
//!
//! `LATHE_CLIENTS=agents,ai6` runs those alone, `all` all of them; what they need must be there then. Unset, what cannot be
//! run on this machine is left out, and said to be.

#![allow(clippy::print_stdout, reason = "a line for each check")]

mod install;
mod script;
mod serve;

use std::process::ExitCode;

use anyhow::bail;

use script::Counts;
use serve::Served;

/// The scripts of `tests/clients/`, and whether they need a browser.
const SCRIPTS: [(&str, bool); 6] =
    [("modules", false), ("agents", false), ("ai6", false), ("ai7", false), ("react", true), (PAGE, true)];

/// Names all of them.
const ALL: &str = "all";

/// The script that tries the page that the server serves itself; it is given two servers, one with a slow model.
const PAGE: &str = "page";

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(counts) => {
            println!("{} passed, {} failed", counts.passed, counts.failed);
            if counts.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            println!("the clients could not be run: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> anyhow::Result<Counts> {
    let mut scripts = chosen()?;
    let required = std::env::var_os("LATHE_CLIENTS").is_some();
    let mut counts = Counts::default();
    for (missing, browser) in [(install::node(), false), (install::browser(), true)] {
        let Err(missing) = missing else { continue };
        let without = |(_, needs): &(&str, bool)| browser && !needs;
        if required && !scripts.iter().all(without) {
            return Err(missing);
        }
        println!(
            "clients that need {} are not tried: {missing:#}",
            if browser { "a browser" } else { "Node.js" }
        );
        scripts.retain(without);
    }
    if scripts.is_empty() {
        return Ok(counts);
    }
    install::packages()?;
    let slow = format!("scripted:{}", install::folder().join("models/slow.json").display());
    for (name, _) in scripts {
        let served = if name == PAGE { Some([Served::start("demo")?, Served::start(&slow)?]) } else { None };
        let urls = served.iter().flatten().map(Served::url).collect::<Vec<_>>();
        counts += script::run(name, &urls).await?;
    }
    Ok(counts)
}

fn chosen() -> anyhow::Result<Vec<(&'static str, bool)>> {
    let wanted = std::env::var("LATHE_CLIENTS").unwrap_or_else(|_| ALL.to_owned());
    if wanted == ALL {
        return Ok(SCRIPTS.to_vec());
    }
    let wanted: Vec<&str> = wanted.split(',').map(str::trim).collect();
    if let Some(unknown) = wanted.iter().find(|name| SCRIPTS.iter().all(|(known, _)| known != *name)) {
        let known: Vec<&str> = SCRIPTS.iter().map(|(name, _)| *name).collect();
        bail!("LATHE_CLIENTS names \"{unknown}\", and there are {}", known.join(", "));
    }
    Ok(SCRIPTS.into_iter().filter(|(name, _)| wanted.contains(name)).collect())
}
