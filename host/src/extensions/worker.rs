//! An extension's part in one turn: a queue, and a task that owns the instance.

use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use super::bindings::exports::lathe::extension::hooks as wit;
use super::convert;
use super::extension::{Extension, Services};
use super::instance::{Instance, guarded};
use super::meter::{Meter, milliseconds};
use super::pool::Use;
use super::seen::Seen;
use super::size::Size;
use crate::hooks::{
    Failure, Hook, HookCall, Observation, StepSnapshot, Subscriber, ToolCallSnapshot, ToolResultSnapshot,
    TurnPatch, TurnSnapshot,
};
use crate::turn::{StepConfig, ToolDecision, ToolOverride};

/// Serves the hooks of one extension for one turn, in order, in one instance that is made when the first is due.
pub(super) struct TurnWorker {
    extension: Arc<Extension>,
    services: Services,
    queue: Arc<Queue>,
    task: Mutex<Option<JoinHandle<()>>>,
}

enum Item {
    BeforeTurn(Ask<TurnSnapshot, TurnPatch>),
    BeforeStep(Ask<Arc<StepSnapshot>, (StepConfig, Vec<String>)>),
    BeforeToolCall(Ask<Arc<ToolCallSnapshot>, ToolDecision>),
    AfterToolCall(Ask<Arc<ToolResultSnapshot>, ToolOverride>),
    Observe(Observation),
    Flush(oneshot::Sender<()>),
}

/// A question, and where its answer goes.
struct Ask<Q, A>(Q, oneshot::Sender<(HookCall, Answer<A>)>);

type Answer<A> = Result<Option<A>, Failure>;

/// Grows with everything but chunks, of which it holds a bounded number: nothing that asks or that is worth keeping is
/// ever dropped, and nobody who puts something in waits.
#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    filled: Notify,
    /// The turn's trace, as long as the turn lasts.
    traced: Mutex<Option<Span>>,
}

#[derive(Default)]
struct Waiting {
    items: VecDeque<Item>,
    chunks: usize,
    dropped: u64,
}

impl Queue {
    fn push(&self, item: Item, chunk_limit: usize) {
        let mut waiting = self.waiting.lock();
        if matches!(item, Item::Observe(Observation::Chunk(_))) {
            if waiting.chunks >= chunk_limit {
                waiting.dropped += 1;
                return;
            }
            waiting.chunks += 1;
        }
        waiting.items.push_back(item);
        drop(waiting);
        self.filled.notify_one();
    }

    /// The next item; if it is a chunk, with all that follow it directly.
    async fn next(&self) -> Next {
        loop {
            if let Some(next) = self.try_next() {
                return next;
            }
            self.filled.notified().await;
        }
    }

    fn try_next(&self) -> Option<Next> {
        let mut waiting = self.waiting.lock();
        let mut chunks = Vec::new();
        while let Some(Item::Observe(Observation::Chunk(chunk))) = waiting.items.front() {
            chunks.push(wit::Chunk::from(&**chunk));
            waiting.items.pop_front();
        }
        if !chunks.is_empty() {
            waiting.chunks -= chunks.len();
            return Some(Next::Chunks(chunks));
        }
        waiting.items.pop_front().map(Next::Item)
    }
}

enum Next {
    Chunks(Vec<wit::Chunk>),
    Item(Item),
}

impl TurnWorker {
    pub(super) fn new(extension: Arc<Extension>, services: Services) -> Self {
        extension.listeners.lock().insert(services.request_id.clone(), services.events.clone());
        let queue = Queue { traced: Mutex::new(Some(Span::current())), ..Queue::default() };
        Self { extension, services, queue: Arc::new(queue), task: Mutex::new(None) }
    }

    fn push(&self, item: Item) {
        self.queue.push(item, self.extension.limits.chunk_queue);
        self.task.lock().get_or_insert_with(|| {
            let turn = Turn {
                fuel: self.extension.limits.fuel_per_turn,
                extension: self.extension.clone(),
                services: self.services.clone(),
                instance: None,
                queue: self.queue.clone(),
            };
            tokio::spawn(turn.serve())
        });
    }
}

impl TurnWorker {
    /// Puts a question into the queue, behind everything that is to be seen first, and waits for the answer.
    async fn ask<Q, A>(
        &self,
        hook: Hook,
        question: Q,
        item: impl FnOnce(Ask<Q, A>) -> Item,
    ) -> (HookCall, Answer<A>) {
        let (reply, answer) = oneshot::channel();
        self.push(item(Ask(question, reply)));
        answer.await.unwrap_or_else(|_| {
            let call = HookCall::new(hook, &*self.extension.manifest.name, 0.0, 0);
            (call, Err(Failure::Link("the turn is over".into())))
        })
    }
}

impl Drop for TurnWorker {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().take() {
            task.abort();
        }
        self.queue.traced.lock().take();
        self.extension.listeners.lock().remove(&self.services.request_id);
        let dropped = self.queue.waiting.lock().dropped;
        if dropped > 0 {
            tracing::warn!(
                extension = &*self.extension.manifest.name,
                dropped,
                "it was too slow for onChunk"
            );
        }
    }
}

#[async_trait]
impl Subscriber for TurnWorker {
    fn name(&self) -> &str {
        &self.extension.manifest.name
    }

    fn subscribes(&self, hook: Hook) -> bool {
        self.extension.manifest.hooks.contains(&hook)
    }

    fn decides(&self, hook: Hook) -> bool {
        self.extension.grant.decides(hook)
    }

    async fn before_turn(&self, snapshot: TurnSnapshot) -> (HookCall, Answer<TurnPatch>) {
        self.ask(Hook::BeforeTurn, snapshot, Item::BeforeTurn).await
    }

    async fn before_step(
        &self,
        snapshot: Arc<StepSnapshot>,
    ) -> (HookCall, Answer<(StepConfig, Vec<String>)>) {
        self.ask(Hook::BeforeStep, snapshot, Item::BeforeStep).await
    }

    async fn before_tool_call(&self, snapshot: Arc<ToolCallSnapshot>) -> (HookCall, Answer<ToolDecision>) {
        self.ask(Hook::BeforeToolCall, snapshot, Item::BeforeToolCall).await
    }

    async fn after_tool_call(&self, snapshot: Arc<ToolResultSnapshot>) -> (HookCall, Answer<ToolOverride>) {
        self.ask(Hook::AfterToolCall, snapshot, Item::AfterToolCall).await
    }

    fn observe(&self, observation: Observation) {
        self.push(Item::Observe(observation));
    }

    async fn flush(&self) {
        if self.task.lock().is_some() {
            let (reply, done) = oneshot::channel();
            self.push(Item::Flush(reply));
            // An error means that the task is gone, and with it everything that was to be flushed.
            let _ = done.await;
        }
        self.extension.keeper.keep(&*self.services.bridge).await;
    }
}

/// Asks a hook and waits for its answer: what it cost, and what it said.
macro_rules! asked {
    ($turn:expr, $snapshot:expr, $hook:ident) => {
        match $turn.ready($snapshot.size()).await {
            (meter, Err(failure)) => (meter, Err(failure)),
            (mut meter, Ok(mut instance)) => {
                let answer = guarded!(&mut instance, &mut meter, &$turn.extension.limits, |guest, store| {
                    guest.lathe_extension_hooks().$hook(store, &$snapshot)
                });
                let answer = $turn.keep(instance, &meter, answer);
                (meter, answer)
            }
        }
    };
}

struct Turn {
    extension: Arc<Extension>,
    services: Services,
    /// Dropped after a failure; the next call gets a fresh one.
    instance: Option<Instance>,
    /// What is left of the turn's fuel.
    fuel: u64,
    queue: Arc<Queue>,
}

impl Turn {
    async fn serve(mut self) {
        self.extension.keeper.refresh(&*self.services.bridge).await;
        loop {
            match self.queue.clone().next().await {
                Next::Chunks(chunks) => self.observe(Hook::OnChunk, chunks.len(), Seen::Chunks(chunks)).await,
                Next::Item(Item::Flush(reply)) => drop(reply.send(())),
                Next::Item(Item::BeforeTurn(Ask(snapshot, reply))) => {
                    let span = self.span(Hook::BeforeTurn);
                    let (meter, answer) = self.before_turn(snapshot.into()).instrument(span.clone()).await;
                    let call = self.report(Hook::BeforeTurn, meter, &answer, span);
                    drop(reply.send((call, answer)));
                }
                Next::Item(Item::BeforeStep(Ask(snapshot, reply))) => {
                    let span = self.span(Hook::BeforeStep);
                    let (meter, answer) =
                        self.before_step((&*snapshot).into()).instrument(span.clone()).await;
                    let call = self.report(Hook::BeforeStep, meter, &answer, span);
                    drop(reply.send((call, answer)));
                }
                Next::Item(Item::BeforeToolCall(Ask(snapshot, reply))) => {
                    let span = self.span(Hook::BeforeToolCall);
                    let (meter, answer) =
                        self.before_tool_call((&*snapshot).into()).instrument(span.clone()).await;
                    let call = self.report(Hook::BeforeToolCall, meter, &answer, span);
                    drop(reply.send((call, answer)));
                }
                Next::Item(Item::AfterToolCall(Ask(snapshot, reply))) => {
                    let span = self.span(Hook::AfterToolCall);
                    let (meter, answer) =
                        self.after_tool_call((&*snapshot).into()).instrument(span.clone()).await;
                    let call = self.report(Hook::AfterToolCall, meter, &answer, span);
                    drop(reply.send((call, answer)));
                }
                Next::Item(Item::Observe(observation)) => {
                    let seen = match &observation {
                        Observation::BeforeStep(snapshot) => Seen::BeforeStep((&**snapshot).into()),
                        Observation::BeforeToolCall(snapshot) => Seen::BeforeToolCall((&**snapshot).into()),
                        Observation::AfterToolCall(snapshot) => Seen::AfterToolCall((&**snapshot).into()),
                        Observation::StepFinish(snapshot) => Seen::StepFinish((&**snapshot).into()),
                        Observation::Chunk(chunk) => Seen::Chunks(vec![(&**chunk).into()]),
                        Observation::ChatResponse(snapshot) => Seen::ChatResponse((&**snapshot).into()),
                        Observation::ChatError(snapshot) => Seen::ChatError((&**snapshot).into()),
                    };
                    self.observe(observation.hook(), 1, seen).await;
                }
            }
        }
    }

    /// The trace of one call.
    fn span(&self, hook: Hook) -> Span {
        let (extension, hook) = (&*self.extension.manifest.name, hook.name());
        tracing::info_span!(
            target: "gen_ai",
            parent: self.queue.traced.lock().as_ref().and_then(Span::id),
            "hook",
            otel.name = format!("{hook} {extension}"),
            otel.status_code = Empty,
            lathe.extension = extension,
            lathe.hook = hook,
            lathe.fuel = Empty,
            lathe.memory_bytes = Empty,
            lathe.output_bytes = Empty,
            lathe.denied = Empty,
            "error.type" = Empty,
        )
    }

    /// Ends a call: for its trace, for the extension's health, and for the events.
    #[allow(clippy::needless_pass_by_value, reason = "the trace of the call ends here")]
    fn report<T>(&self, hook: Hook, mut meter: Meter, answer: &Result<T, Failure>, span: Span) -> HookCall {
        meter.record(&span);
        if let Err(failure) = answer {
            span.record("error.type", failure.kind());
            span.record("otel.status_code", "ERROR");
        }
        if let Some(pass) = meter.pass.take() {
            pass.end(&meter, answer.as_ref().err(), true, &*self.services.events);
        }
        HookCall {
            memory_bytes: meter.memory_bytes,
            output_bytes: meter.output_bytes,
            denied: meter.denied,
            ..HookCall::new(hook, &*self.extension.manifest.name, milliseconds(meter.time()), meter.fuel)
        }
    }

    /// The instance for one call that brings in so many bytes.
    async fn ready(&mut self, bytes: usize) -> (Meter, Result<Instance, Failure>) {
        let limits = &self.extension.limits;
        let mut meter = Meter::new(limits.fuel(bytes).min(self.fuel), limits.hook_timeout());
        if meter.budget == 0 {
            return (meter, Err(Failure::TurnFuel { budget: limits.fuel_per_turn }));
        }
        match self.extension.keeper.admit(&*self.services.events) {
            Ok(pass) => meter.pass = Some(pass),
            Err(failure) => return (meter, Err(failure)),
        }
        let instance = match self.instance.take() {
            Some(instance) => Ok(instance),
            None => {
                let Services { bridge, session, request_id, .. } = self.services.clone();
                let made =
                    self.extension.instantiate(bridge, session, &request_id, Use::Turn, &mut meter).await;
                made.map_err(|failure| self.spend(&meter, failure))
            }
        };
        (meter, instance)
    }

    /// Takes a failed call's fuel from the turn's. One that had less than a full call's fuel ran out of the turn's.
    fn spend(&mut self, meter: &Meter, failure: Failure) -> Failure {
        let limits = &self.extension.limits;
        self.fuel = self.fuel.saturating_sub(meter.fuel);
        match failure {
            Failure::OutOfFuel { budget } if budget < limits.fuel_per_call => {
                Failure::TurnFuel { budget: limits.fuel_per_turn }
            }
            failure => failure,
        }
    }

    /// Keeps the instance if the call went well, an error of the guest's own included.
    fn keep<T>(
        &mut self,
        instance: Instance,
        meter: &Meter,
        answer: Result<Result<T, String>, Failure>,
    ) -> Result<T, Failure> {
        match answer {
            Err(failure) => Err(self.spend(meter, failure)),
            Ok(answer) => {
                self.fuel = self.fuel.saturating_sub(meter.fuel);
                self.instance = Some(instance);
                answer.map_err(Failure::Guest)
            }
        }
    }

    async fn before_turn(&mut self, snapshot: wit::TurnSnapshot) -> (Meter, Answer<TurnPatch>) {
        let (meter, answer) = asked!(self, snapshot, call_before_turn);
        let Extension { grant, limits, .. } = &*self.extension;
        let read = |config| convert::patch(config, grant, limits.json_depth());
        (meter, answer.map(|config| config.map(read)))
    }

    async fn before_step(
        &mut self,
        snapshot: wit::StepSnapshot,
    ) -> (Meter, Answer<(StepConfig, Vec<String>)>) {
        let (meter, answer) = asked!(self, snapshot, call_before_step);
        let Extension { grant, limits, .. } = &*self.extension;
        let read = |config| convert::step_config(config, grant, limits.json_depth());
        (meter, answer.map(|config| config.map(read)))
    }

    async fn before_tool_call(&mut self, snapshot: wit::ToolCallSnapshot) -> (Meter, Answer<ToolDecision>) {
        let (meter, answer) = asked!(self, snapshot, call_before_tool_call);
        let Extension { manifest, grant, limits, .. } = &*self.extension;
        let read = |decision| convert::decision(decision, &manifest.name, grant, limits.json_depth());
        (meter, answer.and_then(|decision| decision.map(read).transpose()))
    }

    async fn after_tool_call(&mut self, snapshot: wit::ToolResultSnapshot) -> (Meter, Answer<ToolOverride>) {
        let (meter, answer) = asked!(self, snapshot, call_after_tool_call);
        let depth = self.extension.limits.json_depth();
        let read = |change: wit::ToolOverride| convert::tool_override(&change, depth);
        (meter, answer.and_then(|change| change.map(read).transpose()))
    }

    /// Lets the guest see something. One in quarantine is not called, and nobody is told each time.
    async fn observe(&mut self, hook: Hook, snapshots: usize, seen: Seen) {
        if self.extension.keeper.is_quarantined() {
            return;
        }
        let span = self.span(hook);
        let (meter, answer) = self.show(&seen).instrument(span.clone()).await;
        let mut call = HookCall { snapshots, ..self.report(hook, meter, &answer, span) };
        if let Err(failure) = answer {
            tracing::warn!(extension = &*self.extension.manifest.name, hook = hook.name(), "{failure}");
            call.failure = Some(failure.kind());
            call.error = Some(failure.to_string());
        }
        self.services.events.hook_called(call);
    }

    async fn show(&mut self, seen: &Seen) -> (Meter, Result<(), Failure>) {
        match self.ready(seen.size()).await {
            (mut meter, Ok(mut instance)) => {
                let answer = seen.show(&mut instance, &mut meter, &self.extension.limits).await;
                let answer = self.keep(instance, &meter, answer);
                (meter, answer)
            }
            (meter, Err(failure)) => (meter, Err(failure)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::ChunkSnapshot;
    use crate::turn::Chunk;

    fn chunk() -> Item {
        Item::Observe(Observation::Chunk(Arc::new(ChunkSnapshot(Chunk::StartStep))))
    }

    #[test]
    fn a_full_queue_drops_chunks_and_nothing_else() {
        let queue = Queue::default();
        for _ in 0..5 {
            queue.push(chunk(), 3);
        }
        queue.push(Item::Flush(oneshot::channel().0), 3);
        queue.push(chunk(), 3);
        assert_eq!(queue.waiting.lock().dropped, 3);
        assert!(matches!(queue.try_next(), Some(Next::Chunks(chunks)) if chunks.len() == 3));
        assert!(matches!(queue.try_next(), Some(Next::Item(Item::Flush(_)))));
        queue.push(chunk(), 3);
        assert!(
            matches!(queue.try_next(), Some(Next::Chunks(chunks)) if chunks.len() == 1),
            "there is room again"
        );
        assert!(queue.try_next().is_none());
    }
}
