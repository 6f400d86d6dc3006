use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

use super::bindings::lathe::extension as wit;
use super::bridge::{Bridge, BridgeError};
use super::limits::Limits;
use super::memory::MemoryLimiter;

/// What a guest writes to stderr is kept this far, for the message of a panic.
const STDERR_BYTES: usize = 16 << 10;

/// Bytes of a storage key.
const KEY_BYTES: usize = 512;

/// What an instance has in the host: its WASI, its bounds, and who it is.
pub(super) struct State {
    wasi: WasiCtx,
    table: ResourceTable,
    pub(super) memory: MemoryLimiter,
    stderr: MemoryOutputPipe,
    identity: Identity,
    bridge: Arc<dyn Bridge>,
    log: LogLimits,
    log_records: u32,
}

/// How much a guest may log.
struct LogLimits {
    records: u32,
    bytes: usize,
}

/// On whose behalf an instance calls the host.
#[derive(Clone)]
pub(super) struct Identity {
    pub(super) extension: Arc<str>,
    /// JSON text of an object.
    pub(super) settings: Arc<str>,
    pub(super) storage_bytes: u64,
}

impl State {
    pub(super) fn new(identity: Identity, limits: &Limits, bridge: Arc<dyn Bridge>) -> Self {
        let stderr = MemoryOutputPipe::new(STDERR_BYTES);
        let mut wasi = WasiCtxBuilder::new();
        wasi.stderr(stderr.clone()).max_random_size(limits.random_bytes).allow_tcp(false).allow_udp(false);
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.handles);
        Self {
            wasi: wasi.build(),
            table,
            memory: MemoryLimiter::new(limits),
            stderr,
            identity,
            bridge,
            log: LogLimits { records: limits.log_records, bytes: limits.log_bytes },
            log_records: 0,
        }
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

impl wit::types::Host for State {}

impl wit::bridge_error::Host for State {}

impl wit::log::Host for State {
    async fn log(&mut self, level: wit::log::Level, mut message: String) {
        let LogLimits { records, bytes } = self.log;
        self.log_records = self.log_records.saturating_add(1);
        if self.log_records > records {
            return;
        }
        if message.len() > bytes {
            message.truncate(message.floor_char_boundary(bytes));
            message.push('…');
        }
        let extension = &*self.identity.extension;
        match level {
            wit::log::Level::Trace => tracing::trace!(target: "lathe::guest", extension, "{message}"),
            wit::log::Level::Debug => tracing::debug!(target: "lathe::guest", extension, "{message}"),
            wit::log::Level::Info => tracing::info!(target: "lathe::guest", extension, "{message}"),
            wit::log::Level::Warn => tracing::warn!(target: "lathe::guest", extension, "{message}"),
            wit::log::Level::Error => tracing::error!(target: "lathe::guest", extension, "{message}"),
        }
        if self.log_records == records {
            tracing::warn!(target: "lathe::guest", extension, "that was log record {records}: further ones are dropped");
        }
    }
}

impl wit::settings::Host for State {
    async fn get(&mut self) -> String {
        self.identity.settings.to_string()
    }
}

impl From<BridgeError> for wit::bridge_error::Error {
    fn from(error: BridgeError) -> Self {
        match error {
            BridgeError::TooLarge(text) => Self::TooLarge(text),
            BridgeError::Failed(text) => Self::Failed(text),
        }
    }
}

type Answer<T> = Result<T, wit::bridge_error::Error>;

fn check_key(key: &str) -> Answer<()> {
    if key.len() <= KEY_BYTES {
        return Ok(());
    }
    Err(wit::bridge_error::Error::TooLarge(format!("a key has at most {KEY_BYTES} bytes, not {}", key.len())))
}

impl wit::storage::Host for State {
    async fn get(&mut self, key: String) -> Answer<Option<Vec<u8>>> {
        Ok(self.bridge.storage_get(&self.identity.extension, &key).await?)
    }

    async fn set(&mut self, key: String, value: Vec<u8>) -> Answer<()> {
        check_key(&key)?;
        Ok(self
            .bridge
            .storage_set(&self.identity.extension, &key, value, self.identity.storage_bytes)
            .await?)
    }

    async fn delete(&mut self, key: String) -> Answer<bool> {
        Ok(self.bridge.storage_delete(&self.identity.extension, &key).await?)
    }

    async fn keys(&mut self, prefix: String) -> Answer<Vec<String>> {
        Ok(self.bridge.storage_keys(&self.identity.extension, &prefix).await?)
    }

    async fn increment(&mut self, key: String, delta: i64) -> Answer<i64> {
        check_key(&key)?;
        Ok(self
            .bridge
            .storage_increment(&self.identity.extension, &key, delta, self.identity.storage_bytes)
            .await?)
    }
}

// Rights that an operator cannot grant yet: the contract has them, so that guests need not change.

fn not_granted<T>(permission: &str) -> Answer<T> {
    Err(wit::bridge_error::Error::Denied(format!("the permission `{permission}` is not granted")))
}

impl wit::context::Host for State {
    async fn get(&mut self, _: String) -> Answer<Option<String>> {
        not_granted("context-read")
    }

    async fn set(&mut self, _: String, _: String) -> Answer<()> {
        not_granted("context-write")
    }
}

impl wit::messages::Host for State {
    async fn recent(&mut self, _: u32) -> Answer<Vec<wit::messages::Message>> {
        not_granted("messages")
    }
}

impl wit::session::Host for State {
    async fn info(&mut self) -> Answer<wit::session::SessionInfo> {
        not_granted("session-info")
    }

    async fn send_message(&mut self, _: String) -> Answer<()> {
        not_granted("send-message")
    }
}
