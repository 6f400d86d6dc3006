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
        let message = with_last_words(format!("it called exit({})", exit.0), state);
        return Failure::Trap { message, backtrace: backtrace(error) };
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
        Some(trap) => {
            let message = with_last_words(trap.to_string(), state);
            return Failure::Trap { message, backtrace: backtrace(error) };
        }
    }
    let text = error.root_cause().to_string();
    match KNOWN.iter().find(|(known, _)| text.contains(known)) {
        Some((_, failure)) => failure(limits, text),
        None => Failure::Malformed(text),
    }
}

/// What a Rust guest runs between its panic and the trap: of no interest to its author.
const MACHINERY: [&str; 5] = ["core::panicking::", "core::option::", "core::result::", "std::", "__rustc"];

/// The guest's functions, the innermost first, by the names that the component has.
fn backtrace(error: &wasmtime::Error) -> Vec<String> {
    let Some(trace) = error.downcast_ref::<WasmBacktrace>() else { return Vec::new() };
    functions(&trace.to_string())
}

/// The names out of wasmtime's text, which has them in the form of their language: `0: 0x1f - calc.wasm!calc::add`.
fn functions(text: &str) -> Vec<String> {
    let names: Vec<String> =
        text.lines().filter_map(|line| Some(plain(line.split_once('!')?.1.trim()))).collect();
    let machinery = |name: &String| MACHINERY.iter().any(|prefix| name.starts_with(prefix));
    // A panic goes through C's `abort` too, which tells nothing by itself.
    let first = match names.iter().position(|name| name != "abort") {
        Some(first) if machinery(&names[first]) => {
            names.iter().skip(first).position(|name| !machinery(name)).map_or(0, |more| first + more)
        }
        _ => 0,
    };
    names.into_iter().skip(first).collect()
}

/// Without the hashes that a compiler adds: `calc[0123456789abcdef]::add` and `calc::add::h0123456789abcdef` as
/// `calc::add`.
fn plain(name: &str) -> String {
    let is_hash = |text: &str| text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut left = match name.rsplit_once("::h") {
        Some((name, hash)) if is_hash(hash) => name,
        _ => name,
    };
    let mut plain = String::new();
    while let Some((before, after)) = left.split_once('[') {
        plain += before;
        left = match after.split_once(']') {
            Some((hash, after)) if is_hash(hash) => after,
            _ => {
                plain.push('[');
                after
            }
        };
    }
    plain + left
}

/// A panicking guest traps with a bare `unreachable`; what it wrote to stderr says why. The advice that Rust adds to it is for
/// programs whose environment one can set.
fn with_last_words(trap: String, state: &State) -> String {
    let words = state.last_words();
    let words = words.lines().filter(|line| !line.starts_with("note: run with `RUST_BACKTRACE"));
    match words.collect::<Vec<&str>>().join("\n").trim_end() {
        "" => trap,
        words => format!("{words} ({trap})"),
    }
}

#[cfg(test)]
mod tests {
    use super::functions;

    #[test]
    fn a_backtrace_begins_with_the_guests_own_function() {
        let text = "error while executing at wasm backtrace:
    0:   0x4a1b - rogue.wasm!abort
    1:   0x4a2c - rogue.wasm!std::process::abort::h0011223344556677
    2:   0x4a3d - rogue.wasm!__rustc[b7974e8690430dd9]::rust_begin_unwind
    3:   0x4a4e - rogue.wasm!core[6d9e98711c484d2e]::panicking::panic_fmt
    4:   0x1b2c - rogue.wasm!rogue::deliberate::h0123456789abcdef
    5:   0x1b3d - rogue.wasm!<rogue[0011223344556677]::Rogue as lathe_guest::Extension>::all::<[u8; 2]>
    6:   0x1b4e - <unknown>!<wasm function 12>";
        let known = [
            "rogue::deliberate",
            "<rogue::Rogue as lathe_guest::Extension>::all::<[u8; 2]>",
            "<wasm function 12>",
        ];
        assert_eq!(functions(text), known);
        assert_eq!(functions("0: 0x1 - x.wasm!abort\n1: 0x2 - x.wasm!main"), ["abort", "main"]);
        assert_eq!(functions("no names here"), [""; 0]);
    }
}
