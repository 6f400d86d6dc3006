//! The WASI of an instance: empty, but for what is granted.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sha2::{Digest, Sha256};
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::random::Deterministic;
use wasmtime_wasi::{FsPerms, HostMonotonicClock, HostWallClock, WasiCtx, WasiCtxBuilder};

use super::manifest::Workspace;
use super::rights::Rights;

/// Where a guest finds its folder.
const WORKSPACE: &str = "/workspace";

/// A clock that stands still and chance that repeats itself, the same for each instance: for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// What the wall clock shows, in milliseconds since 1970. The monotonic clock starts at 0 and goes on by a
    /// microsecond each time it is read, so that whoever waits for it gets on.
    pub unix_ms: u64,
    /// What random numbers are made from.
    pub seed: u64,
}

pub(super) fn context(
    rights: &Rights,
    stderr: &MemoryOutputPipe,
    random_bytes: u64,
) -> Result<WasiCtx, String> {
    let mut wasi = WasiCtxBuilder::new();
    wasi.stderr(stderr.clone()).max_random_size(random_bytes).allow_tcp(false).allow_udp(false);
    wasi.envs(&rights.environment);
    if let Some(workspace) = &rights.grant.workspace {
        let permissions = match workspace.access {
            Workspace::Read => FsPerms::ReadOnly,
            Workspace::ReadWrite => FsPerms::ReadWrite,
        };
        wasi.preopened_dir(&workspace.dir, WORKSPACE, permissions).map_err(|error| {
            format!("its workspace {} cannot be opened: {error}", workspace.dir.display())
        })?;
    }
    if let Some(fixed) = rights.fixed {
        let chance = || Deterministic::new(stream(fixed.seed));
        wasi.wall_clock(Still(Duration::from_millis(fixed.unix_ms)))
            .monotonic_clock(Ticking::default())
            .secure_random(chance())
            .insecure_random(chance())
            .insecure_random_seed(fixed.seed.into());
    }
    Ok(wasi.build())
}

/// 4 KiB made from a seed; then they begin again.
fn stream(seed: u64) -> Vec<u8> {
    let block = |number: u8| {
        let mut hasher = Sha256::new();
        hasher.update(seed.to_le_bytes());
        hasher.update([number]);
        hasher.finalize()
    };
    (0..128).flat_map(block).collect()
}

struct Still(Duration);

impl HostWallClock for Still {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        self.0
    }
}

/// In microseconds.
#[derive(Default)]
struct Ticking(AtomicU64);

impl HostMonotonicClock for Ticking {
    fn resolution(&self) -> u64 {
        1_000
    }

    fn now(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) * 1_000
    }
}
