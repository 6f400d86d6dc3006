use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::{TransferArgs, explain};
use crate::agent::Agent;
use crate::cli::Done;
use crate::cli::print::whole;
use crate::cli::problem::Problem;
use crate::config::Config;
use crate::store::{Entry, SqliteStore, Store};

pub(super) async fn export(args: TransferArgs, config: Config) -> Result<Done, Problem> {
    let store = args.data.known(config, &args.name).await?;
    let entries = match store.export(&args.name).await {
        Ok(entries) => entries,
        Err(error) => return Err(explain(&store, error).await),
    };
    store.close().await;
    let mut lines = String::new();
    for entry in &entries {
        lines += &serde_json::to_string(entry).map_err(|error| Problem::new(error.to_string()))?;
        lines.push('\n');
    }
    let Some(file) = args.file else { return whole(&lines) };
    std::fs::write(&file, lines)
        .map_err(|error| Problem::new(format!("cannot write {}: {error}", file.display())))?;
    Ok(Done::Well)
}

pub(super) async fn import(args: TransferArgs, config: Config) -> Result<Done, Problem> {
    Agent::check_name(&args.name)?;
    let entries = match &args.file {
        None => read(Path::new("standard input"), std::io::stdin().lock()),
        Some(file) => match File::open(file) {
            Ok(open) => read(file, BufReader::new(open)),
            Err(error) => Err(Problem::new(format!("cannot read {}: {error}", file.display()))),
        },
    }?;
    let store = SqliteStore::open(&args.data.file(config)).await?;
    let done = store.import(&args.name, entries).await;
    store.close().await;
    done?;
    Ok(Done::Well)
}

/// One entry a line; lines with nothing in them do not count.
fn read(file: &Path, lines: impl BufRead) -> Result<Vec<Entry>, Problem> {
    let mut entries = Vec::new();
    for (number, line) in (1..).zip(lines.lines()) {
        let wrong = |reason: String| Problem::new(format!("{}, line {number}: {reason}", file.display()));
        let line = line.map_err(|error| wrong(error.to_string()))?;
        if !line.trim().is_empty() {
            let entry = serde_json::from_str(&line).map_err(|error| {
                wrong(error.to_string()).hint("it is to be what `lathe sessions export` writes")
            })?;
            entries.push(entry);
        }
    }
    Ok(entries)
}
