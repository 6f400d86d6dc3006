use std::time::Duration;

use tokio::time::Instant;
use wasmtime::{Store, Trap};
use wasmtime_wasi::I32Exit;

use super::bindings::{Extension as Guest, ExtensionPre};
use super::engine::{Sandbox, YIELD_INTERVAL};
use super::limits::Limits;
use super::state::State;
use crate::hooks::Failure;

/// Component handles of an instance at once. 1,000: as many as it may have WASI resources.
const HANDLES: usize = 1_000;

/// One live sandbox. It serves one call at a time, and none after a failure: a trap poisons the store for good, and so
/// does a call that was dropped.
pub(super) struct Instance {
    pub(super) store: Store<State>,
    pub(super) guest: Guest,
    output_bytes: usize,
    /// Denials of the calls before this one.
    denied: u64,
}

/// What a call has cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    pub(super) fuel: u64,
    pub(super) time: Duration,
    /// What it wanted of the host and was not granted.
    pub(super) denied: u64,
}

impl Instance {
    pub(super) async fn new(
        sandbox: &Sandbox,
        pre: &ExtensionPre<State>,
        state: State,
        limits: &Limits,
    ) -> Result<Self, Failure> {
        let mut store = Store::new(&sandbox.engine, state);
        store.limiter(|state| &mut state.memory);
        store.set_hostcall_fuel(limits.output_bytes);
        store.set_max_component_handles(HANDLES);
        let budget = limits.fuel_per_call;
        // Before anything of the guest runs: a start function can loop as well as a hook.
        let prepared =
            store.set_fuel(budget).and_then(|()| store.fuel_async_yield_interval(Some(YIELD_INTERVAL)));
        prepared.map_err(|error| Failure::Link(error.to_string()))?;
        let made = tokio::time::timeout(limits.hook_timeout(), pre.instantiate_async(&mut store)).await;
        match made {
            Ok(Ok(guest)) => Ok(Self { store, guest, output_bytes: limits.output_bytes, denied: 0 }),
            Ok(Err(error)) => Err(failure(&store, &error, budget, limits.output_bytes)),
            Err(_) => Err(Failure::Deadline { limit_ms: limits.hook_timeout_ms }),
        }
    }

    /// Gives a call its fuel. What an earlier call of the instance left is not added.
    pub(super) fn refuel(&mut self, budget: u64) -> Result<(), Failure> {
        self.store.set_fuel(budget).map_err(|error| Failure::Link(error.to_string()))
    }

    /// What a call came to.
    pub(super) fn settle<T>(
        &mut self,
        begun: Instant,
        budget: u64,
        limit: Duration,
        answer: Result<wasmtime::Result<T>, tokio::time::error::Elapsed>,
    ) -> (Spent, Result<T, Failure>) {
        let left = self.store.get_fuel().unwrap_or(0);
        let denied = self.store.data().denials.count();
        let spent = Spent {
            fuel: budget.saturating_sub(left),
            time: begun.elapsed(),
            denied: denied - std::mem::replace(&mut self.denied, denied),
        };
        let answer = match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(failure(&self.store, &error, budget, self.output_bytes)),
            Err(_) => {
                Err(Failure::Deadline { limit_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX) })
            }
        };
        (spent, answer)
    }
}

/// Calls an export within a budget and a deadline, and says what it cost: fuel, time, and how it ended.
///
/// A macro, since a generic function cannot say that the future of its closure may move between threads.
macro_rules! guarded {
    ($instance:expr, $budget:expr, $limit:expr, |$guest:ident, $store:ident| $call:expr) => {{
        let instance: &mut $crate::extensions::instance::Instance = $instance;
        let (budget, limit) = ($budget, $limit);
        match instance.refuel(budget) {
            Err(failure) => ($crate::extensions::instance::Spent::default(), Err(failure)),
            Ok(()) => {
                let begun = tokio::time::Instant::now();
                let answer = {
                    let ($guest, $store) = (&instance.guest, &mut instance.store);
                    tokio::time::timeout(limit, $call).await
                };
                instance.settle(begun, budget, limit, answer)
            }
        }
    }};
}
pub(super) use guarded;

/// The cause of a failed call.
fn failure(store: &Store<State>, error: &wasmtime::Error, budget: u64, output_bytes: usize) -> Failure {
    let state = store.data();
    // First: the guest's allocator answers a refusal with an ordinary trap.
    if state.memory.refused {
        return Failure::OutOfMemory { limit: state.memory.limit() };
    }
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        return Failure::Trap(with_last_words(format!("it called exit({})", exit.0), state));
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => Failure::OutOfFuel { budget },
        Some(trap) => Failure::Trap(with_last_words(trap.to_string(), state)),
        None if is_too_large(error) => Failure::OutputTooLarge { limit: output_bytes },
        None => Failure::Malformed(error.root_cause().to_string()),
    }
}

/// wasmtime keeps the type of this error to itself; the test below notices if its text changes.
fn is_too_large(error: &wasmtime::Error) -> bool {
    error.root_cause().to_string().contains("fuel allocated for hostcalls has been exhausted")
}

/// A panicking guest traps with a bare `unreachable`; what it wrote to stderr says why.
fn with_last_words(trap: String, state: &State) -> String {
    match state.last_words() {
        words if words.is_empty() => trap,
        words => format!("{words} ({trap})"),
    }
}
