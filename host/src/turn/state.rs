//! What is known of a turn at any point.

use super::machine::Phase;
use super::{
    Assembly, Provenance, StepConfig, StepRecord, Taken, ToolRecord, TurnConfig, TurnEnd, TurnMachine,
    TurnStart, Usage,
};

impl TurnMachine {
    /// What the turn began with.
    #[must_use]
    pub fn start(&self) -> &TurnStart {
        &self.start
    }

    /// What it works with; empty before [`Outcome::Assembled`](super::Outcome::Assembled).
    #[must_use]
    pub fn assembly(&self) -> &Assembly {
        &self.assembly
    }

    /// A tool call's result, once it has one.
    #[must_use]
    pub fn record(&self, tool_call_id: &str) -> Option<ToolRecord> {
        let current = match &self.phase {
            Phase::Tools(batch) | Phase::Approved(batch) => batch.records(),
            _ => Vec::new(),
        };
        let of_steps = self.steps.iter().flat_map(|step| &step.records);
        let mut records = current.into_iter().chain(of_steps.chain(&self.approved).cloned());
        records.find(|record| record.call.tool_call_id == tool_call_id)
    }

    /// Whether a tool call runs: it may, and has no result yet.
    #[must_use]
    pub fn is_running(&self, tool_call_id: &str) -> bool {
        match &self.phase {
            Phase::Tools(batch) | Phase::Approved(batch) => batch.is_running(tool_call_id),
            _ => false,
        }
    }

    /// How it ends, once that is settled.
    #[must_use]
    pub fn ending(&self) -> Option<&TurnEnd> {
        self.end.as_ref()
    }

    /// What the `before_turn` hooks made of it.
    #[must_use]
    pub fn config(&self) -> &TurnConfig {
        &self.config
    }

    /// What the step under way is set to.
    pub(super) fn step_config(&self) -> &StepConfig {
        &self.step_config
    }

    /// The first step that the model is still shown as it was.
    pub(super) fn shown_from(&self) -> usize {
        self.shown_from
    }

    /// Whether the calls of the last step are under way.
    pub(super) fn runs_tools(&self) -> bool {
        matches!(self.phase, Phase::Tools(_))
    }

    /// Whether calls are under way that were approved before the turn.
    #[must_use]
    pub fn runs_approved(&self) -> bool {
        matches!(self.phase, Phase::Approved(_))
    }

    /// Messages that were taken up and that no step has answered yet.
    #[must_use]
    pub fn taken(&self) -> Option<&Taken> {
        self.taken.as_ref()
    }

    /// Who set what.
    #[must_use]
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// The steps so far, the current one included once the model has answered.
    #[must_use]
    pub fn steps(&self) -> &[StepRecord] {
        &self.steps
    }

    /// The number of the step that is under way, or comes next, from 0.
    #[must_use]
    pub fn step_number(&self) -> u32 {
        let current = matches!(
            self.phase,
            Phase::Tools(_)
                | Phase::FinishStep { .. }
                | Phase::PrepareNextStep { .. }
                | Phase::DecideStop { .. }
        );
        u32::try_from(self.steps.len() - usize::from(current && !self.steps.is_empty())).unwrap_or(u32::MAX)
    }

    /// The most steps that this turn may take.
    #[must_use]
    pub fn max_steps(&self) -> u32 {
        self.config.max_steps.unwrap_or(self.start.max_steps)
    }

    /// What all steps together have cost.
    #[must_use]
    pub fn total_usage(&self) -> Usage {
        self.steps.iter().fold(Usage::default(), |sum, step| sum.plus(step.answer.usage))
    }
}
