//! What it takes to serve many at once: 500 sockets, 200 turns at once with the four example extensions, each by a model that
//! says 50 tokens a second. The server is a process of its own: this program again.
//!
//! `cargo bench -p lathe-tests --bench serve`: `tests/benches/README.md`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench that stops when something fails")]

mod clients;
mod metronome;
mod process;
mod report;

use clients::{Crowd, Readers};
use process::Server;
use tokio::runtime::Runtime;

/// Connections.
const SOCKETS: usize = 500;

/// Sessions that they are of: two for each.
const SESSIONS: usize = SOCKETS / 2;

/// Turns at once, each in another session.
const TURNS: usize = 200;

/// Of the second connections of those sessions, how many do not read in the last round.
const SLOW: usize = 50;

fn main() {
    let runtime = Runtime::new().unwrap();
    if std::env::var_os(process::SERVER).is_some() {
        return runtime.block_on(process::serve());
    }
    // Anything else is a trial run, of which cargo wants to know no more than whether it ends.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    runtime.block_on(async {
        let server = Server::start();
        let empty = server.resident();
        let crowd = Crowd::connect(server.address(), Readers::All).await;
        let per_socket = (server.resident() - empty) / SOCKETS as u64;
        report::memory("resident memory of the server, a connection that waits", per_socket);

        // The first round compiles nothing, but fills pools and the store's cache.
        drop(crowd.round("warm").await);
        let before = server.processor();
        let fast = crowd.round("all read").await;
        report::round("all 500 read", &fast, server.processor() - before);
        drop(crowd);

        let crowd = Crowd::connect(server.address(), Readers::AllBut(SLOW)).await;
        let before = (server.processor(), server.resident());
        let beside = crowd.round("some do not read").await;
        report::round("50 of them do not read: the others", &beside, server.processor() - before.0);
        report::memory("what the server has grown by then", server.resident().saturating_sub(before.1));
        report::ratio("p99 beside slow readers", beside.percentile(0.99), fast.percentile(0.99));
        println!("slow readers that were let go: {} of {SLOW}", crowd.let_go().await);
        assert_eq!(fast.errors + beside.errors, 0, "a turn failed, or a client was not told all of it");
    });
}
