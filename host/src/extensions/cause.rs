//! Why a call into a guest failed, told from what wasmtime reports.

use wasmtime::component::ResourceTableError;
use wasmtime::{Store, Trap, WasmBacktrace};
use wasmtime_wasi::I32Exit;

use super::limits::Limits;
use super::memory::Refused;
use super::state::State;
use crate::hooks::Failure;

/// Limits of wasmtime's whose errors have no type of their own: a part of the text, and what it means. The hostile guests
/// in `tests/hostile` notice if a text changes.
type Known = (&'static str, fn(&Limits, String) -> Failure);

const KNOWN: [Known; 4] = [
    ("fuel allocated for hostcalls has been exhausted", |limits, _| Failure::HostMemory {
        limit: limits.lift_bytes,
    }),
    ("store handle limit exceeded", |limits, _| Failure::TooManyHandles { limit: limits.handles }),
    ("resource limit exceeded", |_, text| Failure::TooManyParts(text)),
    ("requested len", |limits, _| Failure::TooMuchRandom { limit: limits.random_bytes }),
];

/// Where the log has the functions that a guest was in when it failed, innermost first, at the level `debug`.
pub(crate) const BACKTRACE: &str = "lathe::backtrace";

/// The cause of a failed call.
pub(super) fn cause(store: &Store<State>, error: &wasmtime::Error, budget: u64, limits: &Limits) -> Failure {
    let state = store.data();
    if let Some(trace) = error.downcast_ref::<WasmBacktrace>() {
        tracing::debug!(target: BACKTRACE, extension = &*state.identity.extension, "{trace}");
    }
    // First: the guest's allocator answers a refusal with an ordinary trap.
    match state.memory.refused {
        Some(Refused::Memory) => return Failure::OutOfMemory { limit: limits.memory_bytes },
        Some(Refused::Table) => return Failure::TableTooLarge { limit: limits.table_elements },
        None => {}
    }
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        return Failure::Trap(with_last_words(format!("it called exit({})", exit.0), state));
    }
    if let Some(ResourceTableError::Full) = error.downcast_ref() {
        return Failure::TooManyHandles { limit: limits.handles };
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => return Failure::OutOfFuel { budget },
        // What the guest handed over breaks the contract; its code has run well.
        Some(
            Trap::InvalidChar
            | Trap::InvalidDiscriminant
            | Trap::StringOutOfBounds
            | Trap::ListOutOfBounds
            | Trap::UnalignedPointer,
        )
        | None => {}
        Some(trap) => return Failure::Trap(with_last_words(trap.to_string(), state)),
    }
    let text = error.root_cause().to_string();
    match KNOWN.iter().find(|(known, _)| text.contains(known)) {
        Some((_, failure)) => failure(limits, text),
        None => Failure::Malformed(text),
    }
}

/// A panicking guest traps with a bare `unreachable`; what it wrote to stderr says why.
fn with_last_words(trap: String, state: &State) -> String {
    match state.last_words() {
        words if words.is_empty() => trap,
        words => format!("{words} ({trap})"),
    }
}
