//! Taking up turns that were cut off: by a crash, a stall, or a provider that fails in a way that may pass
//! (`think.md` §4.4).

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::TranscriptEvent;
use super::live::{Admission, Live, Plan};
use crate::driver::{Arrival, ChatEvent, EventSender, RecoveryEvent, TurnEvent, TurnInput};
use crate::hooks::{ChatRecoveryContext, ExhaustedContext, RecoveryHooks};
use crate::recovery::{ChatRecovery, Incident, Interruption, Waiting, repair};
use crate::session::RECENT_BYTES;
use crate::store::{JournalChange, StoreError, TurnRecord, Unfinished};
use crate::turn::{
    ExhaustedReason, RecoveryKind, SubmissionStatus, ToolPart, ToolState, Trigger, TurnStart, TurnStatus,
    UiMessage, UiPart, UiRole, partial_parts,
};

/// What is told of a turn that was interrupted when its recovery is not wanted.
const DECLINED: &str = "The answer was interrupted and is not continued.";

/// What comes of an interrupted turn.
pub(super) enum Verdict {
    /// Another turn takes it up.
    Again(Box<TurnInput>, RecoveryEvent),
    /// It ends so, with what there is of its answer.
    Over(Over),
}

/// How a turn ends that nobody takes up.
pub(super) struct Over {
    pub(super) status: TurnStatus,
    pub(super) error: Option<String>,
    pub(super) message: Option<UiMessage>,
}

/// What a turn has left.
struct Left {
    record: TurnRecord,
    created_at: u64,
    /// The answer as it would be stored now; empty if nothing has come.
    message: UiMessage,
    /// How many of its parts are new.
    new_parts: usize,
    work: u64,
}

impl Left {
    fn of(turn: Unfinished, messages: &[UiMessage]) -> Self {
        let Unfinished { mut record, chunks, ran, work, created_at, .. } = turn;
        record.ran.extend(ran);
        let id = &record.start.message_id;
        let stored = messages.iter().rev().find(|message| message.id == *id);
        let mut parts: Vec<UiPart> = stored
            .map(|stored| stored.parts.iter().take(record.base_parts).cloned().collect())
            .unwrap_or_default();
        let new = partial_parts(&chunks);
        let new_parts = new.len();
        if new_parts > 0 {
            parts.iter_mut().for_each(UiPart::close);
        }
        parts.extend(new);
        let message = UiMessage { id: id.clone(), role: UiRole::Assistant, parts, metadata: None };
        Self { record, created_at, message, new_parts, work }
    }

    fn kind(&self) -> RecoveryKind {
        if self.message.parts.is_empty() && !self.record.start.continuation {
            RecoveryKind::Retry
        } else {
            RecoveryKind::Continue
        }
    }

    /// The answer, if the turn has added to it.
    fn partial(&self) -> Option<UiMessage> {
        (self.new_parts > 0).then(|| self.message.clone())
    }

    /// Whether a tool's result is among what is new.
    fn holds_results(&self) -> bool {
        let base = self.message.parts.len() - self.new_parts;
        let mut new = self.message.parts.iter().skip(base);
        let settled = |part: &UiPart| matches!(part, UiPart::Tool(tool) if tool.state.is_settled());
        !self.record.ran.is_empty() || new.any(settled)
    }
}

impl Live {
    /// Takes the session for this process. Once.
    pub(super) async fn claim(&self) -> Result<(), StoreError> {
        let claim = async {
            *self.left.lock() = self.setup.store.open_session(&self.conversation.name).await?;
            Ok::<_, StoreError>(())
        };
        self.claimed.get_or_try_init(|| claim).await?;
        Ok(())
    }

    /// Takes the session for this process, and takes up what an earlier one has left in it. Once.
    pub(super) async fn resume(self: &Arc<Self>) -> Result<(), StoreError> {
        self.claim().await?;
        let resume = async {
            let left = std::mem::take(&mut *self.left.lock());
            if !left.is_empty() && self.watchers.is_empty() {
                // They begin before anybody can have asked to watch.
                *self.unseen.lock() = Some(self.watchers.watch());
            }
            for turn in left {
                let start = &turn.record.start;
                let admission = Admission {
                    request_id: start.request_id.clone(),
                    known_as: Some(turn.record.root_request_id.clone()),
                    trigger: start.trigger,
                    continuation: start.continuation,
                };
                if turn.begun {
                    let stream = self.admit(admission, |_, _| Box::pin(async { Plan::TakeUp }));
                    *self.recovery.lock() = Some(stream);
                } else {
                    self.admit(admission, |live, _| {
                        Box::pin(async move { Plan::Run(Box::new(live.queued(turn.record))) })
                    })
                    .detach();
                }
            }
            self.work_on_submissions();
        };
        self.resumed.get_or_init(|| resume).await;
        Ok(())
    }

    /// A turn that waited when the process died; its messages are stored.
    fn queued(&self, record: TurnRecord) -> TurnInput {
        let TurnRecord { start, root_request_id, message_ids, parent, merge, client_tools, .. } = record;
        TurnInput {
            takes_up: start.request_id.clone(),
            start: TurnStart { message_id: Uuid::now_v7().to_string(), ..start },
            active: self.setup.active(),
            root_request_id,
            message_ids,
            arrival: Arrival::Stored(Vec::new()),
            base_parts: 0,
            ran: Vec::new(),
            parent,
            merge,
            client_tools,
        }
    }

    /// Decides what becomes of a turn that was cut off, and keeps what is there of it.
    pub(super) async fn take_up(
        &self,
        request_id: &str,
        why: Interruption,
        error: Option<&str>,
        events: &EventSender,
        cancel: &CancellationToken,
    ) -> Result<Verdict, StoreError> {
        let store = &self.setup.store;
        let name = &self.conversation.name;
        let left = store.unfinished(name).await?;
        let Some(turn) = left.into_iter().find(|turn| turn.record.start.request_id == request_id) else {
            let (status, error) = (TurnStatus::Error, error.map(str::to_owned));
            return Ok(Verdict::Over(Over { status, error, message: None }));
        };
        let messages = store.recent(name, RECENT_BYTES).await?;
        let left = Left::of(turn, &messages);
        let Some(budget) = &self.setup.recovery else {
            self.end(&left, DECLINED, events).await?;
            return Ok(left.over(TurnStatus::Error, Some(DECLINED)));
        };
        let root = &left.record.root_request_id;
        let (kept, now) = store.incident(name, root).await?;
        let kept: Option<Incident> = kept.and_then(|kept| serde_json::from_str(&kept).ok());
        let mut incident = kept
            .filter(|kept| !kept.is_over(now))
            .unwrap_or_else(|| Incident::new(Uuid::now_v7().to_string(), now));
        // The process died before the attempt had begun that was decided on: it is still the same one.
        let waited = incident.waiting.take().filter(|_| why == Interruption::Killed);
        if waited.is_none() {
            incident.interrupted(why, left.new_parts > 0, left.work, now);
            // Counted before the attempt: one that kills the process is not made for ever.
            store.set_incident(name, root, serde_json::to_string(&incident).ok()).await?;
        }
        let mut recovery = Recovery { live: self, budget, left, incident, now, events };
        recovery.detected();
        let waiting = match waited {
            Some(waiting) => {
                recovery.keep_partial(waiting.persist);
                waiting
            }
            None => match recovery.decide(why, &messages).await? {
                ControlFlow::Continue(waiting) => waiting,
                ControlFlow::Break(verdict) => return Ok(verdict),
            },
        };
        let wait = waiting.left_ms(now);
        if wait > 0 {
            recovery.wait(Some(waiting)).await?;
            recovery.events.chat(ChatEvent::RecoveryScheduled(recovery.event()));
            tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    let end = JournalChange::End { status: SubmissionStatus::Aborted, error: None };
                    store.commit(name, request_id, Vec::new(), None, end).await?;
                    recovery.close("cancelled").await?;
                    return Ok(recovery.left.over(TurnStatus::Aborted, None));
                }
                () = tokio::time::sleep(Duration::from_millis(wait)) => {}
            }
        }
        if wait > 0 || waited.is_some() {
            recovery.wait(None).await?;
        }
        recovery.events.chat(ChatEvent::RecoveryAttempt(recovery.event()));
        Ok(Verdict::Again(Box::new(recovery.input()), recovery.event()))
    }

    /// Ends an interrupted turn for good, with what is there of its answer.
    async fn end(&self, left: &Left, error: &str, events: &EventSender) -> Result<(), StoreError> {
        let mut partial: Vec<UiMessage> = left.partial().into_iter().collect();
        repair(&mut partial, |tool| self.waits(tool, left), |_| None);
        let name = &self.conversation.name;
        let end = JournalChange::End { status: SubmissionStatus::Error, error: Some(error.into()) };
        let (id, parent) = (&left.record.start.request_id, left.record.parent.as_deref());
        self.setup.store.commit(name, id, partial.clone(), parent, end).await?;
        for message in partial {
            events.send(TurnEvent::Transcript(TranscriptEvent::MessageUpdated { message }));
        }
        Ok(())
    }

    /// Whether somebody outside will answer a call.
    fn waits(&self, tool: &ToolPart, left: &Left) -> bool {
        let clients = || {
            let own = self.setup.active();
            let own = own.all_tools.get(&tool.tool_name).map(|tool| tool.definition().client);
            own.unwrap_or_else(|| left.record.client_tools.iter().any(|known| known.name == tool.tool_name))
        };
        tool.state == ToolState::ApprovalRequested || tool.state == ToolState::InputAvailable && clients()
    }
}

impl Left {
    fn over(&self, status: TurnStatus, error: Option<&str>) -> Verdict {
        let message = (!self.message.parts.is_empty()).then(|| self.message.clone());
        Verdict::Over(Over { status, error: error.map(str::to_owned), message })
    }

    /// What is new is not kept.
    fn drop_new(&mut self) {
        let base = self.message.parts.len() - self.new_parts;
        self.message.parts.truncate(base);
        self.new_parts = 0;
    }
}

/// One interruption of one turn, while it is decided on.
struct Recovery<'a> {
    live: &'a Live,
    budget: &'a ChatRecovery,
    left: Left,
    incident: Incident,
    now: u64,
    events: &'a EventSender,
}

impl Recovery<'_> {
    fn event(&self) -> RecoveryEvent {
        RecoveryEvent {
            incident_id: self.incident.id.clone(),
            recovery_root_request_id: self.left.record.root_request_id.clone(),
            recovery_kind: self.left.kind(),
            attempt: self.incident.attempt,
        }
    }

    fn detected(&self) {
        self.events.chat(ChatEvent::RecoveryDetected(self.event()));
    }

    fn context<'a>(&'a self, text: &'a str, messages: &'a [UiMessage]) -> ChatRecoveryContext<'a> {
        let TurnRecord { start, root_request_id, client_tools, stash, .. } = &self.left.record;
        ChatRecoveryContext {
            session: &self.live.conversation.name,
            incident_id: &self.incident.id,
            request_id: &start.request_id,
            recovery_root_request_id: root_request_id,
            recovery_kind: self.left.kind(),
            attempt: self.incident.attempt,
            max_attempts: self.budget.max_attempts,
            partial_text: text,
            partial_parts: &self.left.message.parts,
            recovery_data: stash.as_ref(),
            messages,
            last_body: start.body.as_ref(),
            last_client_tools: client_tools,
            created_at: self.left.created_at,
        }
    }

    /// Asks the budget and the hooks, and keeps what is there of the answer: when the next attempt begins, or how it ends.
    async fn decide(
        &mut self,
        why: Interruption,
        messages: &[UiMessage],
    ) -> Result<ControlFlow<Verdict, Waiting>, StoreError> {
        let text = self.left.message.text();
        if let Some(reason) = self.exhausted(&text, messages).await {
            return self.give_up(reason, &text, messages).await.map(ControlFlow::Break);
        }
        let options = {
            let context = self.context(&text, messages);
            RecoveryHooks(self.live.setup.hooks.clone()).options(&context).await
        };
        let options = match options {
            Ok(options) => options,
            Err(error) => {
                tracing::warn!(hook = "onChatRecovery", "a built-in hook failed: {error}");
                let reason = ExhaustedReason::RecoveryError;
                return self.give_up(reason, &text, messages).await.map(ControlFlow::Break);
            }
        };
        self.keep_partial(options.persist);
        if !options.go_on {
            self.live.end(&self.left, DECLINED, self.events).await?;
            self.close("continue_disabled").await?;
            return Ok(ControlFlow::Break(self.left.over(TurnStatus::Error, Some(DECLINED))));
        }
        self.persist().await?;
        if self.waits_for_client() {
            self.park().await?;
            return Ok(ControlFlow::Break(self.left.over(TurnStatus::Completed, None)));
        }
        let until = self.now + self.incident.wait_ms(why);
        Ok(ControlFlow::Continue(Waiting { until, persist: options.persist }))
    }

    /// Without it what is new is dropped, unless a tool's result is among it.
    fn keep_partial(&mut self, persist: bool) {
        if !persist && !self.left.holds_results() {
            self.left.drop_new();
        }
    }

    /// Notes that the attempt waits, or that it begins.
    async fn wait(&mut self, waiting: Option<Waiting>) -> Result<(), StoreError> {
        self.incident.waiting = waiting;
        let (name, root) = (&self.live.conversation.name, &self.left.record.root_request_id);
        self.live.setup.store.set_incident(name, root, serde_json::to_string(&self.incident).ok()).await
    }

    async fn exhausted(&self, text: &str, messages: &[UiMessage]) -> Option<ExhaustedReason> {
        let reason = self.incident.exhausted(self.budget, self.now, true);
        // The hook is asked where nothing but the number of attempts could stand against it.
        let asks = self.incident.is_repeated()
            && matches!(reason, None | Some(ExhaustedReason::MaxAttemptsExceeded));
        if !asks {
            return reason;
        }
        let hooks = RecoveryHooks(self.live.setup.hooks.clone());
        let keep = hooks.keep_recovering(&self.context(text, messages)).await;
        self.incident.exhausted(self.budget, self.now, keep)
    }

    async fn give_up(
        &self,
        reason: ExhaustedReason,
        text: &str,
        messages: &[UiMessage],
    ) -> Result<Verdict, StoreError> {
        let terminal_message = &self.budget.terminal_message;
        let recovery = self.context(text, messages);
        // Before the end is stored: whoever waits for a submission's end hears of it after the hooks.
        RecoveryHooks(self.live.setup.hooks.clone())
            .exhausted(&ExhaustedContext { recovery, reason, terminal_message })
            .await;
        self.live.end(&self.left, terminal_message, self.events).await?;
        self.forget().await?;
        self.events.chat(ChatEvent::RecoveryExhausted { recovery: self.event(), reason });
        Ok(self.left.over(TurnStatus::Error, Some(terminal_message)))
    }

    /// Keeps what is there of the answer. The journal keeps it too, until another turn has begun.
    async fn persist(&self) -> Result<(), StoreError> {
        let Some(message) = self.left.partial() else { return Ok(()) };
        self.live.put(&message, self.left.record.parent.as_deref()).await?;
        self.events.send(TurnEvent::Transcript(TranscriptEvent::MessageUpdated { message }));
        Ok(())
    }

    fn waits_for_client(&self) -> bool {
        self.left.message.tools().any(|tool| self.live.waits(tool, &self.left))
    }

    /// The conversation goes on when the client has answered: until then there is nothing to do.
    async fn park(&self) -> Result<(), StoreError> {
        let mut partial: Vec<UiMessage> = self.left.partial().into_iter().collect();
        let changed = repair(&mut partial, |tool| self.live.waits(tool, &self.left), |_| None);
        let name = &self.live.conversation.name;
        let end = JournalChange::End { status: SubmissionStatus::Completed, error: None };
        let id = &self.left.record.start.request_id;
        self.live.setup.store.commit(name, id, partial.clone(), None, end).await?;
        if !changed.is_empty() {
            for message in partial {
                self.events.send(TurnEvent::Transcript(TranscriptEvent::MessageUpdated { message }));
            }
        }
        self.close("awaiting_client_interaction").await
    }

    async fn close(&self, reason: &'static str) -> Result<(), StoreError> {
        self.events.chat(ChatEvent::RecoverySkipped { recovery: self.event(), reason });
        self.forget().await
    }

    async fn forget(&self) -> Result<(), StoreError> {
        let (name, root) = (&self.live.conversation.name, &self.left.record.root_request_id);
        self.live.setup.store.set_incident(name, root, None).await
    }

    /// The turn that takes it up.
    fn input(&self) -> TurnInput {
        let TurnRecord { start, root_request_id, message_ids, parent, merge, client_tools, ran, .. } =
            self.left.record.clone();
        let request_id = Uuid::now_v7().to_string();
        let takes_up = start.request_id.clone();
        let stored = !self.left.message.parts.is_empty();
        let start = match self.left.kind() {
            RecoveryKind::Retry => TurnStart {
                request_id,
                message_id: Uuid::now_v7().to_string(),
                trigger: Trigger::RecoveryRetry,
                ..start
            },
            RecoveryKind::Continue => {
                TurnStart { request_id, trigger: Trigger::RecoveryContinue, continuation: true, ..start }
            }
        };
        TurnInput {
            start,
            active: self.live.setup.active(),
            root_request_id,
            message_ids,
            takes_up,
            arrival: Arrival::Stored(Vec::new()),
            base_parts: self.left.message.parts.len(),
            ran,
            parent: parent.filter(|_| !stored),
            merge,
            client_tools,
        }
    }
}
