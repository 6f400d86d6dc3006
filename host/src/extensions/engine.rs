use std::hash::{DefaultHasher, Hash, Hasher};

use wasmtime::component::{HasSelf, Linker};
use wasmtime::{Config, Engine};

use super::bindings;
use super::pool::Pool;
use super::state::State;

/// How often running code gives way to the runtime, in units of fuel: about every tenth of a millisecond. That is also how
/// precisely a deadline is kept.
pub(super) const YIELD_INTERVAL: u64 = 1_000_000;

/// Instances of all extensions at once, unless set. 2,000: each reserves address space, and there are eight of them for
/// each of 250 turns.
const INSTANCES: usize = 2_000;

/// The engine and what guests may import: shared by all extensions.
#[derive(Clone)]
pub(super) struct Sandbox {
    pub(super) engine: Engine,
    pub(super) linker: std::sync::Arc<Linker<State>>,
    /// Room for the instances of all extensions.
    pub(super) pool: Pool,
}

impl Sandbox {
    pub(super) fn new() -> wasmtime::Result<Self> {
        let mut config = Config::new();
        config.consume_fuel(true);
        // The ABI of WASI 0.3; its price on small calls is fourfold and no guest of ours needs it.
        config.concurrency_support(false);
        // Function names in backtraces, without the cost of line numbers.
        config.wasm_backtrace_details(wasmtime::WasmBacktraceDetails::Disable);
        let engine = Engine::new(&config)?;
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
        bindings::Extension::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
        Ok(Self { engine, linker: std::sync::Arc::new(linker), pool: Pool::new(INSTANCES) })
    }

    /// Names the code that this engine makes: compiled files of another version or configuration do not fit.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.engine.precompile_compatibility_hash().hash(&mut hasher);
        hasher.finish()
    }
}
