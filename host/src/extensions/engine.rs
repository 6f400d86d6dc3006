use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use wasmtime::component::{Component, HasSelf, Linker};
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use super::bindings::{self, ExtensionPre};
use super::limits::Limits;
use super::pool::Pool;
use super::state::State;

/// How often running code gives way to the runtime, in units of fuel: about every tenth of a millisecond. That is also how
/// precisely a deadline is kept.
pub(super) const YIELD_INTERVAL: u64 = 1_000_000;

/// Instances of all extensions at once. 2,000: each reserves address space, and there are eight of them for each of 250
/// turns.
pub(super) const INSTANCES: u32 = 2_000;

/// As many again for tool calls.
const SLOTS: u32 = 2 * INSTANCES;

/// Tables of a component that gets slots: one of the program, and one or two that hold it together with what it imports.
const TABLES: u32 = 4;

/// Of a freed slot's memory, what is wiped instead of given back to the system, in bytes: the next instance finds it
/// there. 512 KiB: what a small guest touches, and 50 MB in the hundred slots that wasmtime keeps warm.
const KEPT: usize = 512 << 10;

/// What guests run in: shared by all extensions.
#[derive(Clone)]
pub(super) struct Sandbox {
    /// Keeps memories, tables and stacks for the next instance. None where the address space for it cannot be had.
    pooled: Option<Side>,
    /// Makes them anew for each instance: for components that ask for more than a slot has.
    on_demand: Side,
    /// Room for the instances of all extensions.
    pub(super) pool: Pool,
}

/// An engine, and what guests may import from it. Both run the same compiled code.
#[derive(Clone)]
pub(super) struct Side {
    pub(super) engine: Engine,
    linker: Arc<Linker<State>>,
}

impl Sandbox {
    pub(super) fn new() -> wasmtime::Result<Self> {
        let pooled = Side::new(InstanceAllocationStrategy::Pooling(slots()));
        if let Err(error) = &pooled {
            tracing::debug!("instances are made without a pool: {error:#}");
        }
        let on_demand = Side::new(InstanceAllocationStrategy::OnDemand)?;
        Ok(Self { pooled: pooled.ok(), on_demand, pool: Pool::new(INSTANCES as usize) })
    }

    /// The sides on which a component may run, the better one first.
    pub(super) fn sides(&self) -> impl Iterator<Item = &Side> {
        self.pooled.iter().chain([&self.on_demand])
    }

    /// The engine that runs anything.
    pub(super) fn engine(&self) -> &Engine {
        &self.on_demand.engine
    }

    /// Compiles a component, for the better side that has what it asks for.
    pub(super) fn compile(&self, bytes: &[u8]) -> wasmtime::Result<(Component, &Side)> {
        let compile = |side: &Side| Component::from_binary(&side.engine, bytes);
        match self.pooled.as_ref().map(|side| (compile(side), side)) {
            Some((Ok(component), side)) => Ok((component, side)),
            _ => Ok((compile(&self.on_demand)?, &self.on_demand)),
        }
    }

    /// Names the code that this engine makes: compiled files of another version or configuration do not fit.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.on_demand.engine.precompile_compatibility_hash().hash(&mut hasher);
        hasher.finish()
    }
}

impl Side {
    fn new(strategy: InstanceAllocationStrategy) -> wasmtime::Result<Self> {
        let mut config = Config::new();
        config.allocation_strategy(strategy);
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
        Ok(Self { engine, linker: Arc::new(linker) })
    }

    pub(super) fn link(&self, component: &Component) -> wasmtime::Result<ExtensionPre<State>> {
        self.linker.instantiate_pre(component).and_then(ExtensionPre::new)
    }
}

/// Slots for as many instances as there are places; what a guest may use of its own is bounded by its
/// [limits](Limits).
fn slots() -> PoolingAllocationConfig {
    let mut slots = PoolingAllocationConfig::new();
    slots
        .total_component_instances(SLOTS)
        .total_stacks(SLOTS)
        .total_memories(SLOTS)
        .max_memories_per_component(1)
        .max_memory_size(4 << 30)
        .linear_memory_keep_resident(KEPT)
        // Where the kernel can say which pages were written, only those are wiped.
        .pagemap_scan(Enabled::Auto)
        .total_tables(SLOTS * TABLES)
        .max_tables_per_component(TABLES)
        .max_tables_per_module(TABLES)
        .table_elements(Limits::TABLE_ELEMENTS)
        .table_keep_resident(KEPT)
        // Only counted, not reserved.
        .total_core_instances(SLOTS.saturating_mul(1_000));
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_run_the_same_code() {
        let sandbox = Sandbox::new().unwrap();
        let prints: Vec<u64> = sandbox
            .sides()
            .map(|side| {
                let mut hasher = DefaultHasher::new();
                side.engine.precompile_compatibility_hash().hash(&mut hasher);
                hasher.finish()
            })
            .collect();
        assert_eq!(prints.len(), 2, "this machine has the address space");
        assert_eq!(prints[0], prints[1]);
    }
}
