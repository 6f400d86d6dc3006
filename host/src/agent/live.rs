use std::collections::HashMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::{Mutex, RwLock};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::compact::Compaction;
use super::concurrency::{Concurrency, Submissions};
use super::continuation::Continuation;
use super::stream::{Skipped, TurnResult, TurnStream};
use super::turns::TurnQueue;
use super::{EntryError, SessionEvent};
use crate::driver::{
    Arrival, ClientAnswers, Conversation, EventSender, MessageQueue, Setup, TurnDriver, TurnInput,
};
use crate::store::{LastRequest, StoreError};
use crate::tools::ToolSet;
use crate::turn::{ToolDefinition, Trigger, TurnStart, UiMessage};

/// Events that a watcher of a session may lag behind; further ones are lost to it. 4,096: several seconds of any model's
/// output.
const WATCHED: usize = 4_096;

/// A session while somebody holds it or a turn of it runs.
pub(super) struct Live {
    pub(super) setup: Arc<Setup>,
    pub(super) conversation: Arc<Conversation>,
    pub(super) turns: TurnQueue,
    pub(super) concurrency: Concurrency,
    pub(super) submissions: Submissions,
    pub(super) continuation: Continuation,
    pub(super) compaction: Compaction,
    pub(super) watchers: broadcast::Sender<SessionEvent>,
    /// The turns that run or wait, by their ids.
    running: Mutex<HashMap<String, CancellationToken>>,
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
    Skip(Skipped),
}

/// What is known of a turn before it is due.
pub(super) struct Admission {
    pub(super) request_id: String,
    pub(super) trigger: Trigger,
    pub(super) continuation: bool,
}

impl Admission {
    pub(super) fn new(trigger: Trigger) -> Self {
        Self { request_id: Uuid::now_v7().to_string(), trigger, continuation: false }
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
            watchers: broadcast::channel(WATCHED).0,
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
        let _ = self.watchers.send(event);
    }

    /// Cancels a turn that runs or waits; false if there is none of that id.
    pub(super) fn cancel(&self, request_id: &str) -> bool {
        self.running.lock().get(request_id).map(CancellationToken::cancel).is_some()
    }

    /// Cancels all turns.
    pub(super) fn cancel_all(&self) {
        self.running.lock().values().for_each(CancellationToken::cancel);
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
        TurnInput { start, active, arrival, parent: None, merge: false, client_tools }
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
        self.running.lock().insert(request_id.clone(), cancel.clone());
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
                if !current {
                    drop(slot);
                    return live.ended(TurnResult::skipped(request_id, Skipped::Reset), done);
                }
                let input = match plan(live.clone(), admission).await {
                    Plan::Run(input) => *input,
                    Plan::Skip(why) => {
                        drop(slot);
                        return live.ended(TurnResult::skipped(request_id, why), done);
                    }
                };
                live.tell(SessionEvent::TurnStarted {
                    request_id,
                    trigger: input.start.trigger,
                    continuation: input.start.continuation,
                });
                let conversation = live.conversation.clone();
                let driver = TurnDriver::new(live.setup.clone(), conversation, input, sender, token);
                let ended = SCOPE.scope(Scope::Turn(live.address()), driver.run()).await;
                drop(slot);
                // The next turn may begin while the hooks hear of this one's end.
                tokio::spawn(async move {
                    SCOPE.scope(Scope::Response, ended.tell(nested)).await;
                    live.compact_if_due().await;
                    live.ended(TurnResult::of(&ended), done);
                });
            })
        });
        TurnStream { request_id, events, result, cancel: cancel.drop_guard() }
    }

    fn ended(self: Arc<Self>, result: TurnResult, done: oneshot::Sender<TurnResult>) {
        self.running.lock().remove(&result.request_id);
        self.tell(SessionEvent::TurnEnded {
            request_id: result.request_id.clone(),
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
