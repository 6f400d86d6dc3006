//! One script: its checks, as `node:test` reports them in TAP.

use std::ops::AddAssign;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use lathe_tests::binary::lathe;
use lathe_tests::guests::guest;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use crate::install;

/// Of one script. Each check has a shorter one of its own.
const PATIENCE: Duration = Duration::from_secs(1_200);

/// Checks.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// Runs it and prints its checks. `urls` are of the servers that it is given, if any.
pub(crate) async fn run(name: &str, urls: &[&str]) -> anyhow::Result<Counts> {
    let calc = guest("calc");
    let mut node = Command::new("node");
    node.args(["--test-reporter=tap", "--test-force-exit"]).arg(format!("{name}.mjs"));
    node.current_dir(install::folder()).env("LATHE_BIN", lathe());
    node.env("LATHE_GUESTS", calc.parent().context("it is in a folder")?);
    node.envs(["LATHE_URL", "LATHE_SLOW_URL"].into_iter().zip(urls));
    let mut child = node.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("it is piped")?).lines();
    let mut counts = Counts::default();
    let reading = async {
        let mut failing = false;
        while let Some(line) = lines.next_line().await? {
            if let Some(check) = line.strip_prefix("ok ") {
                counts.passed += 1;
                println!("ok {name}: {}", title(check));
            } else if let Some(check) = line.strip_prefix("not ok ") {
                counts.failed += 1;
                failing = true;
                println!("FAIL {name}: {}", title(check));
                continue;
            } else if failing && !line.starts_with("# Subtest") {
                println!("     {line}");
                continue;
            }
            failing = false;
        }
        child.wait().await
    };
    let wrong = match timeout(PATIENCE, reading).await {
        Ok(status) => {
            let status = status?;
            let silent = counts.failed == 0 && (!status.success() || counts.passed == 0);
            silent.then(|| format!("{} checks passed, and then it ended with {status}", counts.passed))
        }
        Err(_) => Some(format!("it took longer than {PATIENCE:?}")),
    };
    if let Some(wrong) = wrong {
        counts.failed += 1;
        println!("FAIL {name}: {wrong}");
    }
    Ok(counts)
}

/// `12 - what is checked`, without its number.
fn title(check: &str) -> &str {
    check.split_once(" - ").map_or(check, |(_, title)| title)
}
