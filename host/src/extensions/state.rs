use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use super::bridge::Bridge;
use super::denial::Denials;
use super::limits::Limits;
use super::log::Logger;
use super::memory::MemoryLimiter;
use super::network::Outgoing;
use super::rights::Rights;
use super::wasi;

/// What a guest writes to stderr is kept this far, for the message of a panic.
const STDERR_BYTES: usize = 16 << 10;

/// What an instance has in the host: its WASI, its bounds, and who it is.
pub(super) struct State {
    wasi: WasiCtx,
    table: ResourceTable,
    http: WasiHttpCtx,
    outgoing: Outgoing,
    pub(super) memory: MemoryLimiter,
    stderr: MemoryOutputPipe,
    pub(super) identity: Identity,
    pub(super) bridge: Arc<dyn Bridge>,
    pub(super) denials: Denials,
    pub(super) log: LogLimits,
    pub(super) logger: Logger,
    pub(super) log_records: u32,
    pub(super) sent: u32,
}

/// How much a guest may log.
#[derive(Clone, Copy)]
pub(super) struct LogLimits {
    pub(super) records: u32,
    pub(super) bytes: usize,
}

/// On whose behalf an instance calls the host.
#[derive(Clone)]
pub(super) struct Identity {
    pub(super) extension: Arc<str>,
    /// Empty while it is described.
    pub(super) session: Arc<str>,
    /// The turn; empty as well.
    pub(super) request_id: Arc<str>,
    /// JSON text of an object.
    pub(super) settings: Arc<str>,
    pub(super) storage_bytes: u64,
    pub(super) rights: Arc<Rights>,
}

impl State {
    /// The error is what of its rights cannot be had.
    pub(super) fn new(identity: Identity, limits: &Limits, bridge: Arc<dyn Bridge>) -> Result<Self, String> {
        let stderr = MemoryOutputPipe::new(STDERR_BYTES);
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.handles);
        let logger = Logger::new(&identity, bridge.clone());
        let denials = Denials::new(identity.extension.clone(), logger.clone());
        Ok(Self {
            wasi: wasi::context(&identity.rights, &stderr, limits.random_bytes)?,
            table,
            http: WasiHttpCtx::new(),
            outgoing: Outgoing::new(identity.rights.network.clone(), denials.clone()),
            memory: MemoryLimiter::new(limits),
            stderr,
            identity,
            bridge,
            denials,
            log: LogLimits { records: limits.log_records, bytes: limits.log_bytes },
            logger,
            log_records: 0,
            sent: 0,
        })
    }

    /// What the guest has written to stderr.
    pub(super) fn last_words(&self) -> String {
        String::from_utf8_lossy(&self.stderr.contents()).trim().to_owned()
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.outgoing, table: &mut self.table, ctx: &mut self.http }
    }
}
