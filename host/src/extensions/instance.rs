use async_trait::async_trait;
use wasmtime::{CallHook, CallHookHandler, Store, StoreContextMut};

use super::bindings::{Extension as Guest, ExtensionPre};
use super::cause::cause;
use super::engine::YIELD_INTERVAL;
use super::limits::Limits;
use super::meter::Meter;
use super::pool::Place;
use super::size::Size;
use super::state::State;
use crate::hooks::Failure;

/// One live sandbox. It serves one call at a time, and none after a failure: a trap poisons the store for good, and so
/// does a call that was dropped.
pub(super) struct Instance {
    pub(super) store: Store<State>,
    pub(super) guest: Guest,
    _place: Option<Place>,
}

impl Instance {
    /// Makes one, with the fuel and the time of the call that it is made for.
    pub(super) async fn new(
        pre: &ExtensionPre<State>,
        state: State,
        limits: &Limits,
        place: Option<Place>,
        meter: &mut Meter,
    ) -> Result<Self, Failure> {
        let mut store = Store::new(pre.engine(), state);
        store.limiter(|state| &mut state.memory);
        store.set_hostcall_fuel(limits.lift_bytes);
        store.set_max_component_handles(limits.handles);
        store.call_hook_async(GiveWay);
        // Before anything of the guest runs: a start function can loop as well as a hook.
        refuel(&mut store, meter)?;
        let made = meter.in_time(pre.instantiate_async(&mut store)).await;
        settle(&store, meter);
        let made = made?.map_err(|error| match cause(&store, &error, meter.budget, limits) {
            // Nothing has been answered yet: it is the host that could not, as when address space runs out.
            Failure::Malformed(text) => Failure::Link(text),
            failure => failure,
        });
        Ok(Self { guest: made?, store, _place: place })
    }

    /// Gives a call its fuel. What an earlier call of the instance left is not added.
    pub(super) fn refuel(&mut self, meter: &mut Meter) -> Result<(), Failure> {
        refuel(&mut self.store, meter)
    }

    /// What a call came to.
    pub(super) fn settle<T: Size>(
        &self,
        meter: &mut Meter,
        limits: &Limits,
        answer: Result<wasmtime::Result<T>, Failure>,
    ) -> Result<T, Failure> {
        settle(&self.store, meter);
        let answer = answer?.map_err(|error| cause(&self.store, &error, meter.budget, limits))?;
        meter.output_bytes = answer.size();
        if meter.output_bytes > limits.output_bytes {
            return Err(Failure::OutputTooLarge { limit: limits.output_bytes });
        }
        Ok(answer)
    }
}

/// Lets the runtime have its turn now and then when a guest calls the host: one that does little else burns next to no
/// fuel, which alone would let it put off its deadline for seconds.
struct GiveWay;

#[async_trait]
impl CallHookHandler<State> for GiveWay {
    async fn handle_call_event(
        &self,
        _: StoreContextMut<'_, State>,
        event: CallHook,
    ) -> wasmtime::Result<()> {
        if matches!(event, CallHook::CallingHost) {
            tokio::task::coop::consume_budget().await;
        }
        Ok(())
    }
}

fn refuel(store: &mut Store<State>, meter: &mut Meter) -> Result<(), Failure> {
    meter.denials = store.data().denials.count().saturating_sub(meter.denied);
    let set = store.set_fuel(meter.left());
    let set = set.and_then(|()| store.fuel_async_yield_interval(Some(YIELD_INTERVAL)));
    set.map_err(|error| Failure::Link(error.to_string()))
}

/// Puts on the meter what has been used since it was refuelled, whether or not it went well.
fn settle(store: &Store<State>, meter: &mut Meter) {
    meter.fuel = meter.budget.saturating_sub(store.get_fuel().unwrap_or(0));
    meter.memory_bytes = store.data().memory.used();
    meter.denied = store.data().denials.count().saturating_sub(meter.denials);
}

/// Calls an export within what is left of a call's fuel and time, and puts on its meter what it took.
///
/// A macro, since a generic function cannot say that the future of its closure may move between threads.
macro_rules! guarded {
    ($instance:expr, $meter:expr, $limits:expr, |$guest:ident, $store:ident| $call:expr) => {{
        let instance: &mut $crate::extensions::instance::Instance = $instance;
        let meter: &mut $crate::extensions::meter::Meter = $meter;
        match instance.refuel(meter) {
            Err(failure) => Err(failure),
            Ok(()) => {
                let answer = {
                    let ($guest, $store) = (&instance.guest, &mut instance.store);
                    meter.in_time($call).await
                };
                instance.settle(meter, $limits, answer)
            }
        }
    }};
}
pub(super) use guarded;
