use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::{Mutex, RwLock};
use tokio::sync::{OnceCell, mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::compact::Compaction;
use super::concurrency::{Concurrency, Submissions};
use super::continuation::Continuation;
use super::recover::{Over, Verdict};
use super::stream::{Skipped, TurnResult, TurnStream};
use super::turns::TurnQueue;
use super::{EntryError, SessionEvent};
use crate::driver::{
    Arrival, ChatEvent, ClientAnswers, Conversation, Ended, EventSender, MessageQueue, RecoveryEvent, Setup,
    TurnDriver, TurnInput, Watcher, Watchers,
};
use crate::recovery::Interruption;
use crate::store::{JournalChange, LastRequest, StoreError, TurnRecord, Unfinished};
use crate::tools::ToolSet;
use crate::turn::{SubmissionStatus, ToolDefinition, Trigger, TurnStart, TurnStatus, UiMessage};

/// A session while somebody holds it or a turn of it runs.
pub(super) struct Live {
    pub(super) setup: Arc<Setup>,
    pub(super) conversation: Arc<Conversation>,
    pub(super) turns: TurnQueue,
    pub(super) concurrency: Concurrency,
    pub(super) submissions: Submissions,
    pub(super) continuation: Continuation,
    pub(super) compaction: Compaction,
    pub(super) watchers: Watchers,
    /// What happens since an earlier process's turns are taken up, until somebody watches.
    pub(super) unseen: Mutex<Option<Watcher>>,
    /// Set once the session belongs to this process.
    pub(super) claimed: OnceCell<()>,
    /// Set once what an earlier process has left is taken up.
    pub(super) resumed: OnceCell<()>,
    /// What that is, until then.
    pub(super) left: Mutex<Vec<Unfinished>>,
    /// Whether somebody works on submissions.
    pub(super) submitting: AtomicBool,
    /// The turn that takes up an interrupted one, until somebody wants to see it.
    pub(super) recovery: Mutex<Option<TurnStream>>,
    /// The turns that run or wait, by their ids.
    running: Mutex<HashMap<String, Running>>,
}

/// A turn that runs or waits, with all that take it up.
struct Running {
    /// The id of the one that was asked for.
    asked_for: String,
    cancel: CancellationToken,
}

/// What a task is doing on behalf of a session; tools and hooks of a turn run in its task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// It runs a turn of the session at that address.
    Turn(usize),
    /// It tells the hooks how a turn ended.
    Response,
}

tokio::task_local! {
    static SCOPE: Scope;
}

/// What a turn begins with, found out when it is due.
pub(super) enum Plan {
    Run(Box<TurnInput>),
    /// An earlier process has begun it.
    TakeUp,
    Skip(Skipped),
}

/// What is known of a turn before it is due.
pub(super) struct Admission {
    pub(super) request_id: String,
    /// The id by which clients know the turn that this one takes up.
    pub(super) known_as: Option<String>,
    pub(super) trigger: Trigger,
    pub(super) continuation: bool,
}

impl Admission {
    pub(super) fn new(trigger: Trigger) -> Self {
        Self { request_id: Uuid::now_v7().to_string(), known_as: None, trigger, continuation: false }
    }

    pub(super) fn continuing(trigger: Trigger) -> Self {
        Self { continuation: true, ..Self::new(trigger) }
    }
}

impl Live {
    pub(super) fn new(setup: Arc<Setup>, name: String, system: String, concurrency: Concurrency) -> Self {
        let conversation = Conversation {
            name,
            system,
            blocks: RwLock::default(),
            steering: MessageQueue::new(setup.steering),
            follow_ups: MessageQueue::new(setup.follow_ups),
            answers: ClientAnswers::default(),
        };
        Self {
            setup,
            conversation: Arc::new(conversation),
            turns: TurnQueue::new(),
            concurrency,
            submissions: Submissions::default(),
            continuation: Continuation::default(),
            compaction: Compaction::default(),
            watchers: Watchers::default(),
            unseen: Mutex::default(),
            claimed: OnceCell::new(),
            resumed: OnceCell::new(),
            left: Mutex::default(),
            submitting: AtomicBool::new(false),
            recovery: Mutex::default(),
            running: Mutex::default(),
        }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Refuses what would wait for the turn in whose task it is asked for.
    pub(super) fn outside_turns(&self) -> Result<(), EntryError> {
        match SCOPE.try_with(|scope| *scope) {
            Ok(Scope::Turn(address)) if address == self.address() => {
                Err(EntryError::InsideTurn(self.conversation.name.clone()))
            }
            _ => Ok(()),
        }
    }

    pub(super) async fn messages(&self) -> Result<Vec<UiMessage>, StoreError> {
        self.setup.store.messages(&self.conversation.name).await
    }

    pub(super) async fn put(&self, message: &UiMessage, parent: Option<&str>) -> Result<(), StoreError> {
        self.setup.store.put(&self.conversation.name, message, parent).await
    }

    pub(super) async fn last_request(&self) -> Result<LastRequest, StoreError> {
        self.setup.store.last_request(&self.conversation.name).await
    }

    pub(super) fn tell(&self, event: SessionEvent) {
        self.watchers.tell(event);
    }

    /// A turn that never begins.
    pub(super) fn refuse(&self, request_id: String, why: Skipped) -> TurnStream {
        let (status, error) = (TurnStatus::Skipped, None);
        self.tell(SessionEvent::TurnEnded { request_id: request_id.clone(), status, error });
        TurnStream::skipped(request_id, why)
    }

    /// Cancels a turn that runs or waits; false if there is none of that id.
    pub(super) fn cancel(&self, request_id: &str) -> bool {
        self.running.lock().get(request_id).map(|turn| turn.cancel.cancel()).is_some()
    }

    /// Cancels all turns.
    pub(super) fn cancel_all(&self) {
        self.running.lock().values().for_each(|turn| turn.cancel.cancel());
    }

    /// What the journal says of a turn that is asked for.
    pub(super) fn noted(&self, request_id: &str, trigger: Trigger) -> TurnRecord {
        TurnRecord {
            start: TurnStart {
                request_id: request_id.to_owned(),
                // It gets one when it begins.
                message_id: String::new(),
                trigger,
                continuation: false,
                body: None,
                max_steps: self.setup.max_steps,
            },
            root_request_id: request_id.to_owned(),
            message_ids: Vec::new(),
            parent: None,
            merge: self.concurrency == Concurrency::Merge,
            client_tools: Vec::new(),
            base_parts: 0,
            ran: Vec::new(),
            stash: None,
        }
    }

    /// Makes a turn of what a plan says.
    pub(super) fn input(&self, admission: &Admission, arrival: Arrival, last: LastRequest) -> TurnInput {
        let start = TurnStart {
            request_id: admission.request_id.clone(),
            message_id: Uuid::now_v7().to_string(),
            trigger: admission.trigger,
            continuation: admission.continuation,
            body: last.body,
            max_steps: self.setup.max_steps,
        };
        let active = self.setup.active_for(&self.conversation);
        let client_tools = client_tools(last.client_tools, &active.all_tools);
        TurnInput {
            root_request_id: start.request_id.clone(),
            takes_up: start.request_id.clone(),
            start,
            message_ids: Vec::new(),
            active,
            arrival,
            base_parts: 0,
            ran: Vec::new(),
            parent: None,
            merge: false,
            client_tools,
        }
    }

    /// Admits a turn: it runs when those before it are done. `plan` says then what it begins with.
    pub(super) fn admit(
        self: &Arc<Self>,
        admission: Admission,
        plan: impl FnOnce(Arc<Self>, Admission) -> BoxFuture<'static, Plan> + Send + 'static,
    ) -> TurnStream {
        let (sender, events) = mpsc::unbounded_channel();
        let (done, result) = oneshot::channel();
        let cancel = CancellationToken::new();
        let request_id = admission.request_id.clone();
        {
            let mut running = self.running.lock();
            for id in admission.known_as.iter().chain([&request_id]) {
                running.insert(id.clone(), Running { asked_for: request_id.clone(), cancel: cancel.clone() });
            }
        }
        let sender = EventSender {
            request_id: request_id.clone(),
            name: self.conversation.name.clone(),
            bridge: self.setup.bridge.clone(),
            turn: sender,
            session: self.watchers.clone(),
        };
        let live = self.clone();
        // What was started while the hooks were told of a turn's end does not tell them again.
        let nested = SCOPE.try_with(|scope| *scope == Scope::Response).unwrap_or(false);
        let token = cancel.clone();
        self.turns.admit(move |current, slot| {
            Box::pin(async move {
                let request_id = admission.request_id.clone();
                let plan =
                    if current { plan(live.clone(), admission).await } else { Plan::Skip(Skipped::Reset) };
                let scope = Scope::Turn(live.address());
                let ended = match SCOPE.scope(scope, live.clone().run(&request_id, plan, sender, token)).await
                {
                    Ok(ended) => ended,
                    Err(over) => {
                        drop(slot);
                        return live.ended(&request_id.clone(), TurnResult { request_id, ..*over }, done);
                    }
                };
                drop(slot);
                let mut telling = Box::pin(async move {
                    SCOPE.scope(Scope::Response, ended.tell(nested)).await;
                    live.compact_if_due().await;
                    let last = ended.machine.start().request_id.clone();
                    let result = TurnResult { request_id, ..TurnResult::of(&ended) };
                    // The turn's trace is whole once whoever waits for the turn is told.
                    drop(ended);
                    live.ended(&last, result, done);
                });
                // The hooks hear of this turn's end before the next one begins, which does not wait for them.
                if (&mut telling).now_or_never().is_none() {
                    tokio::spawn(telling);
                }
            })
        });
        TurnStream { request_id, events, result, cancel: cancel.drop_guard() }
    }

    /// Runs a turn, and those that take it up where it is cut off. Without a turn, how that ended.
    async fn run(
        self: Arc<Self>,
        asked_for: &str,
        plan: Plan,
        events: EventSender,
        cancel: CancellationToken,
    ) -> Result<Ended, Box<TurnResult>> {
        let over = |over| Box::new(TurnResult::over(asked_for.to_owned(), over));
        let (mut next, mut why, mut error) = (None, Interruption::Killed, None);
        let mut interrupted = asked_for.to_owned();
        let mut recovery = None;
        match plan {
            Plan::Run(input) => next = Some(input),
            Plan::TakeUp => {}
            Plan::Skip(why) => {
                self.forget(asked_for).await;
                return Err(Box::new(TurnResult::skipped(asked_for.to_owned(), why)));
            }
        }
        loop {
            let input = match next.take() {
                Some(input) => *input,
                None => match self.take_up(&interrupted, why, error.as_deref(), &events, &cancel).await {
                    Ok(Verdict::Again(input, event)) => {
                        recovery = Some(event);
                        *input
                    }
                    Ok(Verdict::Over(how)) => return Err(over(how)),
                    Err(error) => {
                        let error = Some(error.to_string());
                        return Err(over(Over { status: TurnStatus::Error, error, message: None }));
                    }
                },
            };
            let TurnStart { request_id, trigger, continuation, .. } = input.start.clone();
            let running = Running { asked_for: asked_for.to_owned(), cancel: cancel.clone() };
            self.running.lock().insert(request_id.clone(), running);
            self.tell(SessionEvent::TurnStarted {
                request_id: request_id.clone(),
                trigger,
                continuation,
                message_ids: input.message_ids.clone(),
            });
            let events = EventSender { request_id: request_id.clone(), ..events.clone() };
            events.chat(ChatEvent::TurnStart { request_id: request_id.clone(), trigger, continuation });
            let begun = Instant::now();
            let (setup, conversation) = (self.setup.clone(), self.conversation.clone());
            let ended =
                TurnDriver::new(setup, conversation, input, events.clone(), cancel.clone()).run().await;
            events.chat(ChatEvent::TurnFinish {
                request_id: request_id.clone(),
                status: ended.end.status,
                duration_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
                error: ended.end.error.clone(),
                stage: ended.end.stage,
            });
            let Some((cause, _)) = &ended.interrupted else {
                if let Some(recovery) = recovery {
                    self.recovered(&ended, recovery, &events).await;
                }
                return Ok(ended);
            };
            self.tell(SessionEvent::TurnEnded {
                request_id: request_id.clone(),
                status: TurnStatus::Interrupted,
                error: ended.end.error.clone(),
            });
            (interrupted, why, error) = (request_id, *cause, ended.end.error.clone());
        }
    }

    /// Closes the incident of a turn that has come to its end.
    async fn recovered(&self, ended: &Ended, recovery: RecoveryEvent, events: &EventSender) {
        let root = recovery.recovery_root_request_id.clone();
        if let Err(error) = self.setup.store.set_incident(&self.conversation.name, &root, None).await {
            tracing::error!("the end of a recovery could not be stored: {error}");
        }
        events.chat(match &ended.end.error {
            Some(error) => ChatEvent::RecoveryFailed { recovery, error: error.clone() },
            None => ChatEvent::RecoveryCompleted(recovery),
        });
    }

    /// Takes a turn out of the journal that never began.
    async fn forget(&self, request_id: &str) {
        let end = JournalChange::End { status: SubmissionStatus::Skipped, error: None };
        let name = &self.conversation.name;
        if let Err(error) = self.setup.store.commit(name, request_id, Vec::new(), None, end).await {
            tracing::error!("that a turn was skipped could not be stored: {error}");
        }
    }

    /// `last` is the turn that was last at work, the one asked for or another that took it up.
    fn ended(self: Arc<Self>, last: &str, result: TurnResult, done: oneshot::Sender<TurnResult>) {
        self.running.lock().retain(|_, turn| turn.asked_for != result.request_id);
        self.tell(SessionEvent::TurnEnded {
            request_id: last.to_owned(),
            status: result.status,
            error: result.error.clone(),
        });
        if !self.turns.is_busy() {
            self.conversation.answers.clear();
        }
        let _ = done.send(result);
        self.check_continuation();
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if self.claimed.initialized() {
            self.setup.store.release_session(&self.conversation.name);
        }
    }
}

/// The client's tools that the agent has not: a client must not put its own in the place of one of them.
fn client_tools(tools: Vec<ToolDefinition>, agents: &ToolSet) -> Vec<ToolDefinition> {
    let mut known: Vec<ToolDefinition> = Vec::new();
    for tool in tools {
        let name = &tool.name;
        if agents.get(name).is_some() || known.iter().any(|tool| tool.name == *name) {
            tracing::warn!(tool = &**name, "a client's tool has the name of another one; it is not offered");
            continue;
        }
        known.push(ToolDefinition { client: true, ..tool });
    }
    known
}
