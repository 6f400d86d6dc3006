//! Hostile guests: each costs itself, and nothing else.
//!
//! Plays `tests/hostile/table.toml` in this process and against the binary, a line for each guest, and all of them at
//! once in the end. `LATHE_HOSTILE=NAME` plays only the guests whose name has this in it.

#![allow(clippy::print_stdout, reason = "a line for each guest")]

mod binary;
mod checks;
mod make;
mod memory;
mod play;
mod table;
mod verdict;

use std::future::Future;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use lathe_tests::guests::root;

use table::{Guest, Table};

/// Of one row, all its turns included.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the process may keep of a pass, beside a tenth of what it had: the allocator's own arenas.
const KEPT: usize = 16 << 20;

#[derive(Default)]
struct Sum {
    passed: usize,
    failed: usize,
}

impl Sum {
    fn add(&mut self, row: u32, name: &str, result: anyhow::Result<String>) {
        match result {
            Ok(words) => {
                self.passed += 1;
                println!("ok   {row:>2} {name}: {words}");
            }
            Err(error) => {
                self.failed += 1;
                println!("FAIL {row:>2} {name}: {error:#}");
            }
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(Sum { passed, failed }) => {
            println!("{passed} passed, {failed} failed");
            if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            println!("the guests could not be played: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> anyhow::Result<Sum> {
    let Table { mut guest } = table::read(&root().join("tests/hostile/table.toml"))?;
    if let Some(wanted) = std::env::var_os("LATHE_HOSTILE") {
        guest.retain(|guest| guest.name.contains(&*wanted.to_string_lossy()));
    }
    let mut sum = Sum::default();
    println!("in this process");
    rows(&guest, &mut sum).await;
    let before = memory::resident()?;
    // Once more: what the first pass has left behind is the allocator's, what the second adds is a leak.
    let mut again = Sum::default();
    for guest in guest.iter().filter(|guest| guest.is_a_file()) {
        again.add(guest.row, &guest.name, timed(one(guest)).await);
    }
    sum.failed += again.failed;
    sum.add(0, "resident-memory", grown(before));
    println!("all at once");
    let files = together(&guest);
    let files: Vec<&Guest> = files.iter().collect();
    sum.add(0, "all-at-once", timed(all(&files)).await);
    println!("against the binary");
    let cache = tempfile::tempdir()?;
    let without = binary::run(&[], cache.path())?;
    ensure!((without.code, &*without.out) == (Some(0), "done\n"), "without any of them: {without:?}");
    for guest in guest.iter().filter(|guest| guest.is_a_file()) {
        sum.add(guest.row, &guest.name, binary::check(guest, &without, cache.path()));
    }
    let ran = binary::run(&files, cache.path()).and_then(|ran| {
        ensure!((ran.code, &ran.out) == (without.code, &without.out), "{ran:?}");
        Ok(format!("{} of them; exit code 0", files.len()))
    });
    sum.add(0, "all-at-once", ran);
    Ok(sum)
}

async fn rows(guests: &[Guest], sum: &mut Sum) {
    for guest in guests {
        if let Some(reason) = &guest.skip {
            println!("n/a  {:>2} {}: {reason}", guest.row, guest.name);
            continue;
        }
        let result = match &guest.check {
            Some(check) => timed(checks::check(check, guest)).await,
            None => timed(one(guest)).await,
        };
        sum.add(guest.row, &guest.name, result);
    }
}

/// One guest among well-behaved extensions.
async fn one(of: &Guest) -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let seen = play::play(of, &checks::put(of, folder.path())?).await?;
    verdict::verdict(of, &seen).map_err(anyhow::Error::msg)
}

async fn timed(work: impl Future<Output = anyhow::Result<String>>) -> anyhow::Result<String> {
    tokio::time::timeout(PATIENCE, work).await.with_context(|| format!("it took longer than {PATIENCE:?}"))?
}

/// Those that can be loaded beside each other: of the Rust guest there can be one, and none decides over the others'
/// tools.
fn together(guests: &[Guest]) -> Vec<Guest> {
    let mut rogues = 0;
    let fits = |guest: &&Guest| {
        rogues += usize::from(guest.rogue.is_some());
        guest.is_a_file() && (guest.rogue.is_none() || rogues == 1)
    };
    guests.iter().filter(fits).map(|guest| Guest { decide: false, ..guest.clone() }).collect()
}

/// A turn with everything loaded, in which the model calls the tool of each.
async fn all(guests: &[&Guest]) -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    let files = guests.iter().map(|guest| checks::put(guest, folder.path()));
    let loaded = play::load(guests, files.collect::<anyhow::Result<Vec<_>>>()?).await?;
    let expected = guests.iter().filter(|guest| guest.load.is_some()).count();
    ensure!(loaded.errors.len() == expected, "{:?}", loaded.errors);
    let loaded_ones = loaded.extensions.len();
    let calls: Vec<serde_json::Value> = guests
        .iter()
        .filter(|guest| guest.load.is_none() && guest.tools > 0)
        .map(|guest| serde_json::json!({"id": guest.name, "name": guest.tool_name(), "input": {}}))
        .collect();
    let script = serde_json::json!([{"toolCalls": calls}, {"text": ["done"]}]);
    let host = play::host(loaded.extensions, &script).await?;
    host.healthy_turn("done").await?;
    host.healthy_turn("done").await?;
    Ok(format!("{loaded_ones} extensions loaded, {expected} refused, two turns done"))
}

fn grown(before: usize) -> anyhow::Result<String> {
    let after = memory::resident()?;
    let words = format!("{} MiB after one pass, {} MiB after another", before >> 20, after >> 20);
    ensure!(after <= before + before / 10 + KEPT, "{words}");
    Ok(words)
}
