//! A process that is killed at random moments of real turns, and what is left of them.
//!
//! `LATHE_KILL_ROUNDS` sets the rounds (default 40), `LATHE_KILL_SEED` the moments (default 1).

#![allow(clippy::print_stdout, reason = "it says what it has done")]

mod check;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::Context;
use lathe_tests::mutation::Mutation;

/// Where a process is killed: after it has said that it is there, a number of times.
const POINTS: [&str; 5] = ["point stream", "point tool", "point commit", "point compaction", "accepted"];

/// A process that takes up what another one has left says so once, before it does.
const RECOVERY: &str = "point recovery";

/// Tasks that a process works on, if it lives.
const TASKS: u32 = 4;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("nobody could be killed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// True if nothing was lost.
fn run() -> anyhow::Result<bool> {
    let rounds = number("LATHE_KILL_ROUNDS", 40)?;
    let seed = number("LATHE_KILL_SEED", 1)?;
    let mut random = Mutation::new(seed);
    let folder = tempfile::tempdir()?;
    let mut killed: BTreeMap<&str, u32> = BTreeMap::new();
    let mut violations = Vec::new();
    for round in 0..rounds {
        let session = format!("round-{round}");
        let mut accepted = Vec::new();
        // The first dies in a turn, others perhaps while they take it up, the last one lives.
        let deaths = 1 + random.below(3);
        for death in 0..deaths {
            let (point, times, longest) = match POINTS.get(random.below(POINTS.len())) {
                _ if death > 0 && random.below(2) == 0 => (RECOVERY, 1, 40_000),
                Some(&"point stream") => ("point stream", 1 + random.below(40), 3_000),
                Some(point) => (*point, 1 + random.below(3), 3_000),
                None => (RECOVERY, 1, 3_000),
            };
            let host = Host::start(folder.path(), &session, TASKS)?;
            let pause = Duration::from_micros(u64::try_from(random.below(longest))?);
            let died = host.until(point, times, pause, &mut accepted)?;
            *killed.entry(died.unwrap_or("not at all")).or_default() += 1;
        }
        let host = Host::start(folder.path(), &session, 0)?;
        if host.until("nothing", 1, Duration::ZERO, &mut accepted)?.is_some() {
            violations.push(format!("{session}: the last process did not end"));
        }
        violations.extend(check::session(folder.path(), &session, &accepted)?);
    }
    let points: Vec<String> = killed.iter().map(|(point, times)| format!("{point} {times}")).collect();
    println!("{rounds} rounds from seed {seed}, killed at: {}", points.join(", "));
    for violation in &violations {
        println!("VIOLATION {violation}");
    }
    println!("{} violations", violations.len());
    if !violations.is_empty() {
        println!("what is left is in {}", folder.keep().display());
    }
    println!("{} passed, {} failed", u64::from(violations.is_empty()), u64::from(!violations.is_empty()));
    Ok(violations.is_empty())
}

fn number(name: &str, default: u64) -> anyhow::Result<u64> {
    std::env::var(name).map_or(Ok(default), |text| text.parse().with_context(|| format!("{name} is {text}")))
}

/// A process at work.
struct Host {
    child: Child,
}

impl Host {
    fn start(folder: &Path, session: &str, tasks: u32) -> anyhow::Result<Self> {
        let mut command = Command::new(binary()?);
        command.arg(folder).arg(session).arg(tasks.to_string());
        Ok(Self { child: command.stdout(Stdio::piped()).spawn()? })
    }

    /// Lets it live until it has said that so many times, and a moment longer. Where it was killed; none if it was not.
    fn until(
        mut self,
        point: &'static str,
        times: usize,
        pause: Duration,
        accepted: &mut Vec<String>,
    ) -> anyhow::Result<Option<&'static str>> {
        let out = self.child.stdout.take().context("it has a standard output")?;
        let mut seen = 0;
        let mut killed = None;
        for line in BufReader::new(out).lines() {
            let line = line?;
            if let Some(id) = line.strip_prefix("accepted ") {
                accepted.push(id.to_owned());
            }
            seen += usize::from(line.starts_with(point));
            if seen == times && killed.is_none() {
                #[allow(
                    clippy::disallowed_methods,
                    reason = "a process is waited for, and nothing else is done"
                )]
                std::thread::sleep(pause);
                self.child.kill()?;
                killed = Some(point);
            }
        }
        let status = self.child.wait()?;
        anyhow::ensure!(killed.is_some() || status.success(), "a process failed by itself: {status}");
        Ok(killed)
    }
}

/// Beside the test, where cargo has built it.
fn binary() -> anyhow::Result<PathBuf> {
    let test = std::env::current_exe()?;
    let profile = test.ancestors().nth(2).context("cargo's layout")?;
    Ok(profile.join(format!("kill-host{}", std::env::consts::EXE_SUFFIX)))
}
