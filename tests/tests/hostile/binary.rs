//! The same guests against the binary.

use std::path::Path;

use anyhow::{Context, ensure};
use lathe_tests::binary::{Folder, Ran};
use serde_json::json;

use super::make::make;
use super::play::limits;
use super::table::Guest;

/// A run of the binary with these guests beside two well-behaved extensions: what it printed, and how it ended.
pub(super) fn run(guests: &[&Guest], cache: &Path) -> anyhow::Result<Ran> {
    let folder = Folder::new().with(&["calc", "house-rules"]);
    let script = json!([
        {"toolCalls": [{"id": "sum", "name": "calc_evaluate", "input": {"expression": "6 * 7"}}]},
        {"text": ["done"]},
    ]);
    folder.write("script.json", script.to_string());
    let mut sections = toml::Table::new();
    for (number, guest) in guests.iter().enumerate() {
        folder.write(&format!("extensions/hostile-{number}.wasm"), make(guest)?);
        let mut section = toml::Table::new();
        section.insert("limits".into(), limits(&guest.limits)?.into());
        let deed = guest.rogue.iter().map(|deed| ("do".to_owned(), deed.clone().into()));
        section.insert("settings".into(), deed.collect::<toml::Table>().into());
        sections.insert(guest.extension().into(), section.into());
    }
    let mut config = toml::Table::new();
    config.insert("model".into(), "scripted:script.json".into());
    config.insert("extension".into(), sections.into());
    folder.write("lathe.toml", toml::to_string(&config)?);
    // What is compiled once need not be compiled for each of them.
    std::fs::create_dir_all(folder.path().join(".lathe"))?;
    std::os::unix::fs::symlink(cache, folder.path().join(".lathe/cache"))?;
    Ok(folder.lathe(&["run", "go"]))
}

/// Runs the binary with a guest; an error if it ends otherwise than without it.
pub(super) fn check(of: &Guest, without: &Ran, cache: &Path) -> anyhow::Result<String> {
    let ran = run(&[of], cache)?;
    ensure!(
        (ran.code, &ran.out) == (without.code, &without.out),
        "exit code {:?}, output {:?}\n{}",
        ran.code,
        ran.out,
        ran.err
    );
    if of.name == "log" {
        let records = ran.err.lines().filter(|line| line.contains('é')).map(str::len);
        let longest = records.clone().max().context("no log record")?;
        ensure!(records.count() == 1_000, "not 1,000 log records");
        ensure!(longest < 4_096 + 200, "a log record of {longest} bytes");
    }
    let said = if of.load.is_some() { "not loaded" } else { "loaded" };
    Ok(format!("{said}; exit code 0"))
}
