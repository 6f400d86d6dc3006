use serde::{Deserialize, Serialize};

use super::batch::{self, Batch, BatchEffect};
use super::{
    Answer, AnswerPart, Assembly, ChatStage, Effect, Outcome, Provenance, StepConfig, StepRecord, StepUpdate,
    Taken, ToolCall, ToolRecord, TurnConfig, TurnEnd, TurnStart, TurnStatus, Unexpected,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Phase {
    Assemble,
    /// Calls of an earlier turn run that a person has approved.
    Approved(Batch),
    StoreApproved,
    BeforeTurn,
    BeforeStep,
    CallModel,
    Tools(Batch),
    FinishStep {
        waits_for_client: bool,
    },
    PrepareNextStep {
        waits_for_client: bool,
    },
    DecideStop {
        waits_for_client: bool,
    },
    /// `more` if the turn goes on without them too.
    TakeSteering {
        more: bool,
    },
    TakeFollowUps,
    /// Waiting messages were taken up: they are stored before they are answered.
    StoreTaken,
    Store,
    Tell,
    Finished,
}

/// One turn, from the user's message to the answer that ends it.
///
/// ```
/// use lathe::turn::{Answer, Assembly, Effect, Outcome, TurnMachine, TurnStart, TurnStatus};
///
/// let mut turn = TurnMachine::new(TurnStart {
///     request_id: "r1".into(),
///     message_id: "m1".into(),
///     trigger: Default::default(),
///     continuation: false,
///     body: None,
///     max_steps: 10,
/// });
/// let end = loop {
///     let outcome = match turn.next() {
///         Effect::Assemble => Outcome::Assembled(Box::new(Assembly::default())),
///         Effect::BeforeTurn => Outcome::TurnConfigured(Default::default(), Default::default()),
///         Effect::BeforeStep => Outcome::StepConfigured(Default::default()),
///         Effect::CallModel => Outcome::ModelAnswered(Answer::default()),
///         Effect::FinishStep => Outcome::StepFinished,
///         Effect::PrepareNextStep => Outcome::NextStepPrepared(Default::default()),
///         Effect::DecideStop => Outcome::StopDecided(false),
///         Effect::TakeSteering | Effect::TakeFollowUps => Outcome::Taken(None),
///         Effect::Store => Outcome::Stored,
///         Effect::Tell(_) => Outcome::Told,
///         Effect::Finished(end) => break end,
///         other => unreachable!("a model that says nothing calls no tool: {other:?}"),
///     };
///     turn.apply(outcome).unwrap();
/// };
/// assert_eq!(end.status, TurnStatus::Completed);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnMachine {
    pub(super) start: TurnStart,
    pub(super) assembly: Assembly,
    pub(super) config: TurnConfig,
    pub(super) provenance: Provenance,
    pub(super) step_config: StepConfig,
    /// Finished steps; while tools run or a step finishes, the last one is the current one.
    pub(super) steps: Vec<StepRecord>,
    /// The first step that the model is still shown as it was: a hook has put other messages in place of those before.
    pub(super) shown_from: usize,
    /// Results of calls that were approved before this turn.
    pub(super) approved: Vec<ToolRecord>,
    /// What the next step is to answer.
    pub(super) taken: Option<Taken>,
    /// Cancelled while tools ran: the step ends properly, then the turn.
    pub(super) aborted: bool,
    pub(super) phase: Phase,
    pub(super) end: Option<TurnEnd>,
}

impl TurnMachine {
    /// The answer is begun anew, as another message.
    pub(crate) fn answer_as(&mut self, message_id: String) {
        self.start.message_id = message_id;
    }

    /// A turn that has not begun.
    #[must_use]
    pub fn new(start: TurnStart) -> Self {
        Self {
            start,
            assembly: Assembly::default(),
            config: TurnConfig::default(),
            provenance: Provenance::new(),
            step_config: StepConfig::default(),
            steps: Vec::new(),
            shown_from: 0,
            approved: Vec::new(),
            taken: None,
            aborted: false,
            phase: Phase::Assemble,
            end: None,
        }
    }

    /// What is to be done next. The same until an outcome is applied.
    #[must_use]
    pub fn next(&self) -> Effect {
        match &self.phase {
            Phase::Assemble => Effect::Assemble,
            Phase::BeforeTurn => Effect::BeforeTurn,
            Phase::BeforeStep => Effect::BeforeStep,
            Phase::CallModel => Effect::CallModel,
            Phase::Tools(batch) | Phase::Approved(batch) => match batch.next() {
                Some(BatchEffect::Check { tool_call_id, tool_name, input }) => {
                    Effect::CheckInput { tool_call_id, tool_name, input }
                }
                Some(BatchEffect::Gate { call, input }) => Effect::BeforeToolCall { call, input },
                Some(BatchEffect::Run(runs)) => Effect::RunTools(runs),
                Some(BatchEffect::Review(record)) => Effect::AfterToolCall(Box::new(record)),
                // `settle` leaves this phase with the last result.
                None => Effect::FinishStep,
            },
            Phase::FinishStep { .. } => Effect::FinishStep,
            Phase::PrepareNextStep { .. } => Effect::PrepareNextStep,
            Phase::DecideStop { .. } => Effect::DecideStop,
            Phase::TakeSteering { .. } => Effect::TakeSteering,
            Phase::TakeFollowUps => Effect::TakeFollowUps,
            Phase::StoreApproved => Effect::StoreApproved(self.approved.clone()),
            Phase::Store | Phase::StoreTaken => Effect::Store,
            Phase::Tell => Effect::Tell(self.end()),
            Phase::Finished => Effect::Finished(self.end()),
        }
    }

    /// Takes what came of the last effect.
    ///
    /// # Errors
    ///
    /// If the machine did not wait for it; nothing has changed then.
    pub fn apply(&mut self, outcome: Outcome) -> Result<(), Unexpected> {
        let unexpected = Unexpected { expected: self.phase.name(), got: outcome.name() };
        let fits = match (&mut self.phase, outcome) {
            (Phase::Finished, _) | (Phase::Store | Phase::Tell, Outcome::Interrupted(..)) => false,
            (Phase::Tools(batch), Outcome::Aborted(_)) => {
                batch.cancel();
                self.aborted = true;
                true
            }
            // Cancelled after its last word, it is complete none the less.
            (Phase::TakeFollowUps, Outcome::Taken(None) | Outcome::Aborted(_))
            | (Phase::TakeSteering { more: false }, Outcome::Aborted(_)) => {
                self.finish(TurnStatus::Completed);
                true
            }
            (_, Outcome::Aborted(partial)) => {
                self.break_off(partial, TurnEnd { status: TurnStatus::Aborted, error: None, stage: None });
                true
            }
            (_, Outcome::Interrupted(error, partial)) => {
                self.interrupt(error, partial);
                true
            }
            (Phase::CallModel, Outcome::Overflowed(error)) => {
                let (status, stage) = (TurnStatus::Error, Some(ChatStage::Stream));
                self.end = Some(TurnEnd { status, error: Some(error), stage });
                self.phase = Phase::Store;
                true
            }
            (Phase::BeforeStep | Phase::CallModel, Outcome::Compacted(messages)) => {
                self.assembly.messages = messages;
                self.phase = if self.steps.is_empty() { Phase::Assemble } else { Phase::BeforeStep };
                true
            }
            (Phase::Tell, Outcome::Told | Outcome::Failed(_)) => {
                self.phase = Phase::Finished;
                true
            }
            (
                Phase::Assemble | Phase::StoreApproved | Phase::StoreTaken | Phase::Store,
                Outcome::NotStored(error),
            ) => {
                self.refuse(error, ChatStage::Persist);
                true
            }
            (Phase::Assemble | Phase::BeforeTurn, Outcome::Failed(error)) => {
                self.refuse(error, ChatStage::Turn);
                true
            }
            (_, Outcome::Failed(error)) => {
                self.break_off(
                    Answer::default(),
                    TurnEnd { status: TurnStatus::Error, error: Some(error), stage: None },
                );
                true
            }
            (Phase::Assemble, Outcome::Assembled(assembly)) => {
                self.assembly = *assembly;
                let approved = std::mem::take(&mut self.assembly.approved);
                self.phase = if approved.is_empty() || !self.approved.is_empty() {
                    Phase::BeforeTurn
                } else {
                    let ran = std::mem::take(&mut self.assembly.ran);
                    Phase::Approved(Batch::approved(approved, ran, &self.assembly.tools))
                };
                true
            }
            (Phase::BeforeTurn, Outcome::TurnConfigured(config, provenance)) => {
                self.config = *config;
                self.provenance = provenance;
                self.phase = Phase::BeforeStep;
                true
            }
            (Phase::BeforeStep, Outcome::StepConfigured(config)) => {
                self.step_config = *config;
                self.phase = Phase::CallModel;
                true
            }
            (Phase::CallModel, Outcome::ModelAnswered(answer)) => {
                self.answered(answer);
                true
            }
            (Phase::CallModel, Outcome::ModelFailed(error, partial)) => {
                self.break_off(
                    partial,
                    TurnEnd { status: TurnStatus::Error, error: Some(error), stage: None },
                );
                true
            }
            (Phase::Tools(batch) | Phase::Approved(batch), outcome) => match outcome {
                Outcome::InputChecked(id, result) => batch.checked(&id, result),
                Outcome::ToolDecided(id, decision) => batch.decided(&id, decision),
                Outcome::ToolRan { tool_call_id, ran } => batch.ran(&tool_call_id, ran),
                Outcome::ToolReviewed(id, change) => batch.reviewed(&id, &change),
                _ => false,
            },
            (Phase::StoreApproved, Outcome::Stored) => {
                self.phase = match &self.end {
                    None => Phase::Assemble,
                    Some(end) if end.status == TurnStatus::Interrupted => Phase::Finished,
                    Some(_) => Phase::Store,
                };
                true
            }
            (Phase::FinishStep { waits_for_client }, Outcome::StepFinished) => {
                self.phase = Phase::PrepareNextStep { waits_for_client: *waits_for_client };
                true
            }
            (Phase::PrepareNextStep { waits_for_client }, Outcome::NextStepPrepared(update)) => {
                self.phase = Phase::DecideStop { waits_for_client: *waits_for_client };
                self.update(*update);
                true
            }
            (Phase::DecideStop { waits_for_client }, Outcome::StopDecided(stop)) => {
                let stop = stop || *waits_for_client;
                self.step_finished(stop);
                true
            }
            (Phase::TakeSteering { .. } | Phase::TakeFollowUps, Outcome::Taken(Some(taken))) => {
                self.taken = Some(taken);
                self.phase = Phase::StoreTaken;
                true
            }
            (Phase::TakeSteering { more: true }, Outcome::Taken(None))
            | (Phase::StoreTaken, Outcome::Stored) => {
                self.step_config = StepConfig::default();
                self.phase = Phase::BeforeStep;
                true
            }
            (Phase::TakeSteering { more: false }, Outcome::Taken(None)) => {
                self.phase = Phase::TakeFollowUps;
                true
            }
            (Phase::Store, Outcome::Stored) => {
                self.phase = Phase::Tell;
                true
            }
            _ => false,
        };
        if !fits {
            return Err(unexpected);
        }
        self.settle();
        Ok(())
    }

    fn answered(&mut self, mut answer: Answer) {
        make_ids_unique(&mut answer);
        let calls: Vec<ToolCall> = answer.tool_calls().cloned().collect();
        let finish = answer.finish_reason;
        self.phase = Phase::Tools(Batch::new(calls, &self.tools(), finish));
        self.push_step(answer, Vec::new());
    }

    fn push_step(&mut self, answer: Answer, records: Vec<ToolRecord>) {
        self.steps.push(StepRecord { taken: self.taken.take(), answer, records, approvals: Vec::new() });
    }

    /// Moves on when the last call of a batch has its result.
    fn settle(&mut self) {
        let (Phase::Tools(batch) | Phase::Approved(batch)) = &self.phase else { return };
        if batch.next().is_some() {
            return;
        }
        let records = batch.records();
        if matches!(self.phase, Phase::Approved(_)) {
            self.approved = records;
            self.phase = Phase::StoreApproved;
            return;
        }
        let waits_for_client = batch.waits_for_client();
        if let Some(step) = self.steps.last_mut() {
            step.records = records;
            step.approvals = batch.approvals().map(|call| call.tool_call_id.clone()).collect();
        }
        self.phase = Phase::FinishStep { waits_for_client };
    }

    /// Changes what the rest of the turn works with.
    fn update(&mut self, update: StepUpdate) {
        self.config.model = update.model.or(self.config.model.take());
        let effort = &mut self.config.settings.reasoning_effort;
        *effort = update.reasoning_effort.or(effort.take());
        if update.system.is_some() {
            self.config.instructions = update.system;
        }
        if update.messages.is_some() {
            self.config.messages = update.messages;
            self.shown_from = self.steps.len();
        }
    }

    fn step_finished(&mut self, stop: bool) {
        let records = self.steps.last().map(|step| &*step.records).unwrap_or_default();
        let terminate = records.iter().all(|record| record.terminate);
        let limit = usize::try_from(self.max_steps()).unwrap_or(usize::MAX);
        let met = self.config.stop_when.iter().flatten().any(|condition| condition.is_met(&self.steps));
        if self.aborted {
            self.finish(TurnStatus::Aborted);
        } else if stop || met || self.steps.len() >= limit {
            self.finish(TurnStatus::Completed);
        } else {
            self.phase = Phase::TakeSteering { more: !terminate };
        }
    }

    fn finish(&mut self, status: TurnStatus) {
        self.end = Some(TurnEnd { status, error: None, stage: None });
        self.phase = Phase::Store;
    }

    /// Ends the turn in the middle: keeps what was said, answers every open call.
    fn break_off(&mut self, mut partial: Answer, end: TurnEnd) {
        match &mut self.phase {
            // What is to be stored is complete by then.
            Phase::Store | Phase::Tell => {
                self.end = Some(end);
                self.phase = Phase::Tell;
                return;
            }
            Phase::Tools(batch) => {
                batch.cancel();
                batch.settle();
                let records = batch.records();
                if let Some(step) = self.steps.last_mut() {
                    step.records = records;
                }
            }
            // The calls are of an earlier message, where they stay as they are.
            Phase::Approved(batch) => {
                batch.settle();
                self.approved = batch.records();
                self.end = Some(end);
                self.phase = Phase::StoreApproved;
                return;
            }
            Phase::CallModel if !partial.parts.is_empty() => {
                make_ids_unique(&mut partial);
                let records = partial.tool_calls().map(batch::cancelled).collect();
                self.push_step(partial, records);
            }
            _ => {}
        }
        self.end = Some(end);
        self.phase = Phase::Store;
    }

    /// Leaves the turn where it is: calls without a result stay so, for whoever goes on.
    fn interrupt(&mut self, error: String, mut partial: Answer) {
        self.end = Some(TurnEnd { status: TurnStatus::Interrupted, error: Some(error), stage: None });
        match &mut self.phase {
            Phase::Tools(batch) => {
                let records = batch.records();
                if let Some(step) = self.steps.last_mut() {
                    step.records = records;
                }
            }
            // What ran is not lost: it belongs to a message that is stored.
            Phase::Approved(batch) => {
                self.approved = batch.records();
                self.phase = Phase::StoreApproved;
                return;
            }
            Phase::CallModel if !partial.parts.is_empty() => {
                make_ids_unique(&mut partial);
                self.push_step(partial, Vec::new());
            }
            _ => {}
        }
        self.phase = Phase::Finished;
    }

    /// Ends the turn outside the model's stream: there is nothing to store.
    fn refuse(&mut self, error: String, stage: ChatStage) {
        self.end = Some(TurnEnd { status: TurnStatus::Error, error: Some(error), stage: Some(stage) });
        self.phase = Phase::Tell;
    }

    fn end(&self) -> TurnEnd {
        self.end.clone().unwrap_or(TurnEnd { status: TurnStatus::Completed, error: None, stage: None })
    }
}

/// A model may use one id twice in an answer; results are matched by id, so the later ones get a new one.
fn make_ids_unique(answer: &mut Answer) {
    let mut seen = std::collections::BTreeSet::new();
    for part in &mut answer.parts {
        let AnswerPart::ToolCall(call) = part else { continue };
        let id = call.tool_call_id.clone();
        let mut number = 2;
        while !seen.insert(call.tool_call_id.clone()) {
            call.tool_call_id = format!("{id}-{number}");
            number += 1;
        }
    }
}

impl Phase {
    fn name(&self) -> &'static str {
        match self {
            Self::Assemble => "Assembled",
            Self::BeforeTurn => "TurnConfigured",
            Self::BeforeStep => "StepConfigured",
            Self::CallModel => "ModelAnswered",
            Self::Tools(_) | Self::Approved(_) => "the outcome of a tool call that is due",
            Self::FinishStep { .. } => "StepFinished",
            Self::PrepareNextStep { .. } => "NextStepPrepared",
            Self::DecideStop { .. } => "StopDecided",
            Self::TakeSteering { .. } | Self::TakeFollowUps => "Taken",
            Self::StoreApproved | Self::StoreTaken | Self::Store => "Stored",
            Self::Tell => "Told",
            Self::Finished => "nothing any more",
        }
    }
}
