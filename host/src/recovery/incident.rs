use serde::{Deserialize, Serialize};

use super::ChatRecovery;
use crate::turn::ExhaustedReason;

/// A wake so soon after the last attempt counts as the same one, if nothing has come: 30 s (`think.md` §4.3).
const SAME_ATTEMPT_MS: u64 = 30_000;

/// An incident that nobody has touched for so long is over; the next interruption begins a new one: 1 h.
const LIFE_MS: u64 = 3_600_000;

/// The wait before the first new attempt after a failure: 1 s; it doubles with each, up to 30 s (`think.md` §4.8a).
const FIRST_WAIT_MS: u64 = 1_000;
const LONGEST_WAIT_MS: u64 = 30_000;

/// Why a turn was interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Interruption {
    /// The process died.
    Killed,
    /// Nothing came for too long.
    Stalled,
    /// The provider failed in a way that may pass.
    Failed,
}

/// All interruptions of one turn and of those that took it up: what they have cost so far (`think.md` §4.4).
///
/// Times are in milliseconds since 1970, as the store has them. A clock that goes back makes no time pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Incident {
    /// What hooks and clients know it by.
    pub id: String,
    /// The attempt that is under way, from 1.
    pub attempt: u32,
    /// Deaths of the process.
    pub interrupted: u32,
    /// Interruptions in a living process.
    pub failures: u32,
    /// Units of work since the first interruption.
    pub work: u64,
    /// When something came last, or when it began.
    pub progress_at: u64,
    /// When the last attempt began.
    pub attempt_at: u64,
    /// Set while the next attempt is decided on and has not begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
}

/// An attempt that was decided on and begins later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// When.
    pub until: u64,
    /// Whether what is there of the answer is kept.
    pub persist: bool,
}

impl Waiting {
    /// How long that is from now, in milliseconds.
    #[must_use]
    pub fn left_ms(&self, now: u64) -> u64 {
        self.until.saturating_sub(now).min(LONGEST_WAIT_MS)
    }
}

impl Incident {
    /// One that begins.
    #[must_use]
    pub fn new(id: impl Into<String>, now: u64) -> Self {
        Self {
            id: id.into(),
            attempt: 0,
            interrupted: 0,
            failures: 0,
            work: 0,
            progress_at: now,
            attempt_at: now,
            waiting: None,
        }
    }

    /// Whether it is too old to go on.
    #[must_use]
    pub fn is_over(&self, now: u64) -> bool {
        now.saturating_sub(self.attempt_at) > LIFE_MS
    }

    /// Counts one more interruption. `work` is what the interrupted attempt brought, in units; `progress` whether it brought
    /// anything.
    pub fn interrupted(&mut self, why: Interruption, progress: bool, work: u64, now: u64) {
        let first = self.attempt == 0;
        match why {
            Interruption::Killed => self.interrupted = self.interrupted.saturating_add(1),
            Interruption::Stalled | Interruption::Failed => self.failures = self.failures.saturating_add(1),
        }
        if first || progress {
            self.attempt = 1;
        } else if now.saturating_sub(self.attempt_at) > SAME_ATTEMPT_MS {
            self.attempt = self.attempt.saturating_add(1);
        }
        // What came before the first interruption is not the recovery's.
        if !first {
            self.work = self.work.saturating_add(work);
        }
        if progress {
            self.progress_at = now;
        }
        self.attempt_at = now;
    }

    /// Whether there may be another attempt; if not, why. `should_keep_recovering` is asked between the two halves of this
    /// order: work, time, the hook, attempts.
    #[must_use]
    pub fn exhausted(&self, budget: &ChatRecovery, now: u64, keep: bool) -> Option<ExhaustedReason> {
        let silent = now.saturating_sub(self.progress_at);
        let patience = u64::try_from(budget.no_progress_timeout.as_millis()).unwrap_or(u64::MAX);
        if self.interrupted >= budget.max_interrupted_attempts {
            Some(ExhaustedReason::InterruptedAttemptsExceeded)
        } else if self.work > budget.max_recovery_work {
            Some(ExhaustedReason::WorkBudgetExceeded)
        } else if silent > patience {
            Some(ExhaustedReason::NoProgressTimeout)
        } else if !keep {
            Some(ExhaustedReason::RecoveryAborted)
        } else if self.attempt > budget.max_attempts || self.failures > budget.max_attempts {
            Some(ExhaustedReason::MaxAttemptsExceeded)
        } else {
            None
        }
    }

    /// Which attempt this is, whatever it is counted as: from the second one on the hooks are asked whether to go on.
    #[must_use]
    pub fn is_repeated(&self) -> bool {
        self.interrupted.saturating_add(self.failures) > 1
    }

    /// How long the next attempt waits, in milliseconds.
    #[must_use]
    pub fn wait_ms(&self, why: Interruption) -> u64 {
        match why {
            Interruption::Killed => 0,
            Interruption::Stalled | Interruption::Failed => FIRST_WAIT_MS
                .saturating_mul(1 << self.failures.saturating_sub(1).min(10))
                .min(LONGEST_WAIT_MS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ExhaustedReason::{
        InterruptedAttemptsExceeded, MaxAttemptsExceeded, NoProgressTimeout, RecoveryAborted,
        WorkBudgetExceeded,
    };

    const MINUTE: u64 = 60_000;

    fn budget() -> ChatRecovery {
        ChatRecovery {
            max_attempts: 2,
            max_interrupted_attempts: 50,
            no_progress_timeout: std::time::Duration::from_secs(300),
            max_recovery_work: 100,
            ..Default::default()
        }
    }

    #[test]
    fn silent_attempts_are_counted_and_progress_starts_the_count_anew() {
        let mut incident = Incident::new("i", 0);
        for (minute, progress, attempt) in [(0, false, 1), (1, false, 2), (2, true, 1), (3, false, 2)] {
            incident.interrupted(Interruption::Killed, progress, 0, minute * MINUTE);
            assert_eq!(incident.attempt, attempt);
            assert_eq!(incident.exhausted(&budget(), minute * MINUTE, true), None);
        }
        incident.interrupted(Interruption::Killed, false, 0, 4 * MINUTE);
        assert_eq!(incident.exhausted(&budget(), 4 * MINUTE, true), Some(MaxAttemptsExceeded));
    }

    #[test]
    fn deaths_within_half_a_minute_are_one_attempt_and_many_deaths() {
        let mut incident = Incident::new("i", 0);
        let budget = ChatRecovery { max_interrupted_attempts: 5, ..budget() };
        for death in 1..=5 {
            incident.interrupted(Interruption::Killed, false, 0, death * 1_000);
            assert_eq!(incident.attempt, 1);
            let expected = (death == 5).then_some(InterruptedAttemptsExceeded);
            assert_eq!(incident.exhausted(&budget, death * 1_000, true), expected);
        }
    }

    #[test]
    fn work_is_never_forgiven_and_what_came_before_the_first_interruption_is_free() {
        let mut incident = Incident::new("i", 0);
        incident.interrupted(Interruption::Stalled, true, 1_000_000, 0);
        assert_eq!(incident.exhausted(&budget(), 0, true), None);
        incident.interrupted(Interruption::Killed, true, 100, MINUTE);
        assert_eq!(incident.exhausted(&budget(), MINUTE, true), None);
        incident.interrupted(Interruption::Killed, true, 1, 2 * MINUTE);
        assert_eq!(incident.exhausted(&budget(), 2 * MINUTE, true), Some(WorkBudgetExceeded));
    }

    #[test]
    fn silence_ends_it_and_so_does_the_hook() {
        let mut incident = Incident::new("i", 0);
        incident.interrupted(Interruption::Killed, false, 0, 0);
        incident.interrupted(Interruption::Killed, false, 0, 5 * MINUTE);
        assert_eq!(incident.exhausted(&budget(), 5 * MINUTE, true), None);
        assert_eq!(incident.exhausted(&budget(), 5 * MINUTE, false), Some(RecoveryAborted));
        assert_eq!(incident.exhausted(&budget(), 5 * MINUTE + 1, false), Some(NoProgressTimeout));
    }

    #[test]
    fn failures_are_counted_whatever_they_brought_and_each_waits_longer() {
        let mut incident = Incident::new("i", 0);
        let mut waits = Vec::new();
        for failure in 0..8 {
            incident.interrupted(Interruption::Failed, true, 0, failure);
            waits.push(incident.wait_ms(Interruption::Failed));
            let expected = (failure >= 2).then_some(MaxAttemptsExceeded);
            assert_eq!((incident.attempt, incident.exhausted(&budget(), failure, true)), (1, expected));
        }
        assert_eq!(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
        assert_eq!(incident.wait_ms(Interruption::Killed), 0);
    }

    #[test]
    fn an_attempt_that_waits_is_waited_for_no_longer_than_any_other() {
        let waiting = Waiting { until: 10_000, persist: true };
        let left = [9_000, 10_000, 20_000, 0].map(|now| waiting.left_ms(now));
        assert_eq!(left, [1_000, 0, 0, 10_000]);
        assert_eq!(Waiting { until: u64::MAX, persist: true }.left_ms(0), 30_000);
    }

    #[test]
    fn a_clock_that_goes_back_ends_nothing() {
        let mut incident = Incident::new("i", 10 * MINUTE);
        incident.interrupted(Interruption::Killed, false, 0, 10 * MINUTE);
        incident.interrupted(Interruption::Killed, false, 0, MINUTE);
        assert_eq!((incident.attempt, incident.exhausted(&budget(), 0, true)), (1, None));
        assert!(!incident.is_over(0) && incident.is_over(2 * 60 * MINUTE));
    }
}
