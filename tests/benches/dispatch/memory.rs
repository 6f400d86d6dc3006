//! The memory of a process that has loaded its extensions and waits.

#![allow(clippy::print_stdout, reason = "that is how the process tells")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use lathe::Agent;
use lathe::store::SqliteStore;
use tokio::runtime::Runtime;

use crate::crowd::{self, Crowd};
use crate::measure::Bench;
use crate::report::Measure;

/// Names the folder of a crowd to the process that loads it: this program again.
pub(crate) const CROWD: &str = "LATHE_BENCH_CROWD";

pub(crate) fn run(bench: &mut Bench, crowd: &Crowd) {
    let process = Command::new(std::env::current_exe().unwrap()).env(CROWD, crowd.folder()).output().unwrap();
    assert!(process.status.success(), "{}", String::from_utf8_lossy(&process.stderr));
    // Empty where the system does not tell.
    if let Ok(bytes) = String::from_utf8_lossy(&process.stdout).trim().parse() {
        bench.report.lathe(Measure::Memory, bytes);
    }
}

/// The other process: an agent with a database and the extensions, and what it takes of the machine's memory, in bytes.
pub(crate) fn tell(crowd: &Path) {
    let runtime = Runtime::new().unwrap();
    let _agent = runtime.block_on(async {
        let extensions = crowd::load(crowd).await.extensions;
        let store = SqliteStore::open(&crowd.join("memory.db")).await.unwrap();
        Agent::builder(Arc::new(store)).extensions(extensions).build().unwrap()
    });
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    if let Some(kilobytes) = resident {
        println!("{}", kilobytes.trim().parse::<u64>().unwrap() * 1024);
    }
}
