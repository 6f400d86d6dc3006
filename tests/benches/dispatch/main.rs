//! What Lathe's dispatch costs, beside what its peers take for the same work: `tests/benches/README.md`.
//!
//! `cargo bench -p lathe-tests --bench dispatch`; with `LATHE_BENCH_JSON=FILE` the figures are written there too.

#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

mod before_turn;
mod bridge;
mod chunk;
mod crowd;
mod floor;
mod load;
mod measure;
mod memory;
mod payload;
mod peers;
mod report;
mod tool_call;
mod turn;

use criterion::Criterion;
use measure::Bench;
use tokio::runtime::Runtime;

fn main() {
    if let Some(crowd) = std::env::var_os(memory::CROWD) {
        return memory::tell(crowd.as_ref());
    }
    let criterion = Criterion::default().configure_from_args();
    let mut bench = Bench::new(criterion, Runtime::new().unwrap());
    chunk::run(&mut bench);
    before_turn::run(&mut bench);
    tool_call::run(&mut bench);
    turn::run(&mut bench);
    let crowd = crowd::Crowd::new(&bench.runtime);
    load::run(&mut bench, &crowd);
    memory::run(&mut bench, &crowd);
    let mut report = bench.finish();
    // Anything else is a trial run, of which cargo wants to know no more than whether it ends.
    if std::env::args().any(|argument| argument == "--bench") {
        peers::run(&mut report);
        report.show();
    }
}
