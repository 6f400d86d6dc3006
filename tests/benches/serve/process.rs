//! The server in a process of its own, and what that process costs.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use lathe::Agent;
use lathe::server::{Limits, Server as LatheServer};
use lathe::store::SqliteStore;
use lathe_tests::house::load;
use tokio::net::TcpSocket;

use crate::metronome::Metronome;

/// Set in the process that serves.
pub(crate) const SERVER: &str = "LATHE_BENCH_SERVER";

/// Bytes that the system may hold of what the server has sent: few, so that a reader that is slow is seen soon.
const SENT: u32 = 16 << 10;

/// Bytes that the server lets wait for a slow reader.
const QUEUED: usize = 64 << 10;

/// Serves until nobody holds its input any more.
pub(crate) async fn serve() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("lathe.db")).await.unwrap();
    let extensions = load(&["calc", "clock", "house-rules", "meter"], Default::default()).await;
    let agent = Agent::builder(Arc::new(store)).model(Arc::new(Metronome)).extensions(extensions).build();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(SENT).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1_024).unwrap();
    println!("{}", listener.local_addr().unwrap());
    let stop = async {
        let _ = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await;
    };
    let limits = Limits { queued_bytes: QUEUED, ..Limits::default() };
    LatheServer::new(agent.unwrap()).limits(limits).serve(listener, stop).await.unwrap();
}

pub(crate) struct Server {
    process: Child,
    address: String,
}

impl Server {
    pub(crate) fn start() -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .env(SERVER, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { process, address: address.trim().to_owned() }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    fn told(&self, file: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.process.id())).unwrap()
    }

    /// What it has of the machine's memory, in bytes.
    pub(crate) fn resident(&self) -> u64 {
        let status = self.told("status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
        line.unwrap().trim().parse::<u64>().unwrap() * 1_024
    }

    /// The processor's time that it has had.
    pub(crate) fn processor(&self) -> Duration {
        let stat = self.told("stat");
        // The name before may have spaces. Then: state, ten numbers, and the ticks for itself and in the system.
        let ticks = stat.rsplit_once(')').unwrap().1.split_whitespace().skip(11).take(2);
        let ticks: u64 = ticks.map(|ticks| ticks.parse::<u64>().unwrap()).sum();
        // 100 a second, on every Linux.
        Duration::from_millis(ticks * 10)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
