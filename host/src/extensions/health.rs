//! How an extension fares, over all turns that share it: strikes, quarantine, and what it has cost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::bridge::{Bridge, BridgeError};
use super::limits::Limits;
use super::meter::{Meter, milliseconds};
use crate::hooks::{Condition, Events, Failure, HealthChange};

/// No quarantine is longer, whatever the limits say: a year, so that no clock overflows.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// What is known of an extension's health.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Health {
    /// SHA-256 of the file that it is about: a new version of it begins anew, but for the totals.
    pub digest: String,
    /// In one word.
    pub condition: Condition,
    /// Calls that failed by its fault, in a row.
    pub strikes: u32,
    /// Quarantines in a row: each is twice as long as the one before it.
    pub quarantines: u32,
    /// In quarantine: until it is tried again, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quarantine_ms: Option<u64>,
    /// What it failed with last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// All of its calls together, hooks and tools.
    pub totals: Totals,
}

/// What an extension's calls have come to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Totals {
    /// How many there were.
    pub calls: u64,
    /// Those that failed, by cause ([`Failure::kind`]).
    pub failures: BTreeMap<String, u64>,
    /// The fuel they burned.
    pub fuel: u64,
    /// The time they took, in milliseconds.
    pub time_ms: f64,
}

/// An extension's health, and when it may be called.
#[derive(Debug)]
pub(super) struct Keeper {
    extension: String,
    digest: String,
    /// 0: never.
    strikes: u32,
    slow: Duration,
    first: Duration,
    longest: Duration,
    state: Mutex<State>,
    /// Held while it is written down.
    keeping: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    strikes: u32,
    quarantines: u32,
    until: Option<Instant>,
    probing: bool,
    last_error: Option<String>,
    totals: Totals,
    /// Whether what an earlier process left is in here.
    restored: bool,
    changed: bool,
}

/// The leave to make one call. Dropped without an end, as of a call that was cancelled, it changes nothing.
#[derive(Debug)]
pub(super) struct Pass {
    keeper: Arc<Keeper>,
    /// The one call that ends a quarantine, or begins the next.
    probe: bool,
}

impl Drop for Pass {
    fn drop(&mut self) {
        if self.probe {
            self.keeper.state.lock().probing = false;
        }
    }
}

impl Keeper {
    pub(super) fn new(extension: &str, digest: &str, limits: &Limits) -> Self {
        let longest = Duration::from_millis(limits.quarantine_limit_ms).min(LONGEST);
        Self {
            extension: extension.to_owned(),
            digest: digest.to_owned(),
            strikes: limits.strikes,
            slow: Duration::from_millis(limits.slow_hook_ms),
            first: Duration::from_millis(limits.quarantine_ms).min(longest),
            longest,
            state: Mutex::default(),
            keeping: tokio::sync::Mutex::default(),
        }
    }

    /// The same extension's, under other limits: with what is known of it so far.
    pub(super) fn with_limits(&self, limits: &Limits) -> Self {
        let known = self.state.lock();
        let state = State {
            probing: false,
            changed: true,
            totals: known.totals.clone(),
            last_error: known.last_error.clone(),
            ..*known
        };
        Self { state: Mutex::new(state), ..Self::new(&self.extension, &self.digest, limits) }
    }

    /// Asks for leave to make a call.
    pub(super) fn admit(self: &Arc<Self>, events: &dyn Events) -> Result<Pass, Failure> {
        let mut state = self.state.lock();
        let Some(until) = state.until else { return Ok(Pass { keeper: self.clone(), probe: false }) };
        let left = until.saturating_duration_since(Instant::now());
        if !left.is_zero() || state.probing {
            let last_error = state.last_error.clone().unwrap_or_default();
            return Err(Failure::Quarantined { left_ms: whole_ms(left), last_error });
        }
        state.probing = true;
        drop(state);
        events.health_changed(self.change(Condition::Probing, None, None));
        Ok(Pass { keeper: self.clone(), probe: true })
    }

    /// Whether a call would be refused now.
    pub(super) fn is_quarantined(&self) -> bool {
        let state = self.state.lock();
        state.until.is_some_and(|until| state.probing || until > Instant::now())
    }

    fn change(&self, health: Condition, left: Option<Duration>, error: Option<String>) -> HealthChange {
        HealthChange { extension: self.extension.clone(), health, quarantine_ms: left.map(whole_ms), error }
    }

    pub(super) fn health(&self) -> Health {
        let state = self.state.lock();
        let left = state.until.map(|until| until.saturating_duration_since(Instant::now()));
        Health {
            digest: self.digest.clone(),
            condition: match left {
                None => Condition::Ready,
                Some(_) if state.probing => Condition::Probing,
                Some(_) => Condition::Quarantined,
            },
            strikes: state.strikes,
            quarantines: state.quarantines,
            quarantine_ms: left.map(whole_ms),
            last_error: state.last_error.clone(),
            totals: state.totals.clone(),
        }
    }

    /// Takes over what earlier processes have kept; for one in quarantine, whether the operator has lifted it since.
    pub(super) async fn refresh(&self, bridge: &dyn Bridge) {
        {
            let state = self.state.lock();
            if state.restored && (state.until.is_none() || state.changed) {
                return;
            }
        }
        let kept = bridge
            .health(&self.extension)
            .await
            .and_then(|kept| kept.map(|(body, age_ms)| Ok((read(&body)?, age_ms))).transpose());
        match kept {
            Ok(Some((health, age_ms))) => self.adopt(health, Duration::from_millis(age_ms)),
            Ok(None) => self.state.lock().restored = true,
            Err(error) => {
                tracing::warn!(extension = &*self.extension, "its health cannot be read: {error}");
                self.state.lock().restored = true;
            }
        }
    }

    fn adopt(&self, health: Health, age: Duration) {
        let mut state = self.state.lock();
        if state.restored {
            if health.quarantine_ms.is_none() && !state.changed && !state.probing {
                (state.strikes, state.quarantines, state.until) = (0, 0, None);
            }
            return;
        }
        *state = State { totals: health.totals, restored: true, ..State::default() };
        if health.digest == self.digest && self.strikes > 0 {
            let left = health.quarantine_ms.map(|ms| Duration::from_millis(ms).min(LONGEST));
            state.until = left.map(|left| Instant::now() + left.saturating_sub(age));
            state.strikes = health.strikes;
            state.quarantines = health.quarantines;
            state.last_error = health.last_error;
        }
    }

    /// Writes down what has changed, if it can.
    pub(super) async fn keep(&self, bridge: &dyn Bridge) {
        if let Err(error) = self.write(bridge).await {
            tracing::warn!(extension = &*self.extension, "its health cannot be kept: {error}");
        }
    }

    /// Writes down what has changed. Of many turns that end at once, one writes for all.
    pub(super) async fn write(&self, bridge: &dyn Bridge) -> Result<(), BridgeError> {
        let _one = self.keeping.lock().await;
        if !std::mem::take(&mut self.state.lock().changed) {
            return Ok(());
        }
        let body = serde_json::to_string(&self.health()).unwrap_or_default();
        bridge.keep_health(&self.extension, &body).await
    }

    /// All is well, as far as the operator is concerned. What it has cost is kept.
    pub(super) fn reset(&self) {
        let mut state = self.state.lock();
        let totals = std::mem::take(&mut state.totals);
        *state = State { totals, restored: true, changed: true, ..State::default() };
    }
}

impl Pass {
    /// Notes how the call ended. `hook` tells a call that keeps a turn waiting from one of a tool, which may take its
    /// time.
    pub(super) fn end(self, meter: &Meter, failure: Option<&Failure>, hook: bool, events: &dyn Events) {
        let change = self.note(meter, failure, hook);
        // Of a probe that came to nothing, the next call is one again.
        drop(self);
        if let Some(change) = change {
            match &change.error {
                Some(error) => tracing::warn!(
                    extension = &*change.extension,
                    "in quarantine for {} s: {error}",
                    change.quarantine_ms.unwrap_or_default().div_ceil(1_000)
                ),
                None => tracing::info!(extension = &*change.extension, "well again"),
            }
            events.health_changed(change);
        }
    }

    fn note(&self, meter: &Meter, failure: Option<&Failure>, hook: bool) -> Option<HealthChange> {
        let keeper = &*self.keeper;
        let time = meter.time();
        let mut state = keeper.state.lock();
        state.changed = true;
        state.totals.calls += 1;
        state.totals.fuel = state.totals.fuel.saturating_add(meter.fuel);
        state.totals.time_ms += milliseconds(time);
        if let Some(failure) = failure {
            *state.totals.failures.entry(failure.kind().to_owned()).or_default() += 1;
            state.last_error = Some(failure.to_string());
        }
        let slow = failure.is_none() && hook && time > keeper.slow;
        if slow {
            state.last_error = Some(format!(
                "it went well but took {} ms, more than {} ms",
                time.as_millis(),
                keeper.slow.as_millis()
            ));
        }
        if state.until.is_some() && !self.probe {
            // Begun before the quarantine: it neither ends nor lengthens it.
            return None;
        }
        if slow || failure.is_some_and(Failure::is_strike) {
            state.strikes = state.strikes.saturating_add(1);
            if self.probe || (keeper.strikes > 0 && state.strikes >= keeper.strikes) {
                let length = keeper.first.saturating_mul(2u32.saturating_pow(state.quarantines));
                let length = length.min(keeper.longest);
                state.quarantines = state.quarantines.saturating_add(1);
                state.until = Some(Instant::now() + length);
                let error = state.last_error.clone();
                return Some(keeper.change(Condition::Quarantined, Some(length), error));
            }
            return None;
        }
        // A call that could not be made says nothing; an error of the guest's own is an answer.
        if failure.is_none() || matches!(failure, Some(Failure::Guest(_))) {
            state.strikes = 0;
            if state.until.take().is_some() {
                state.quarantines = 0;
                return Some(keeper.change(Condition::Ready, None, None));
            }
        }
        None
    }
}

/// Ends the quarantine of an extension and forgets its strikes; what it has cost is kept. False if nothing is known of
/// an extension of that name. A host that runs takes notice at its next turn.
///
/// # Errors
///
/// If what is kept cannot be read or written.
pub async fn reset_health(bridge: &dyn Bridge, extension: &str) -> Result<bool, BridgeError> {
    let Some((body, _)) = bridge.health(extension).await? else { return Ok(false) };
    let totals = read(&body).unwrap_or_default().totals;
    let body = serde_json::to_string(&Health { totals, ..Health::default() }).unwrap_or_default();
    bridge.keep_health(extension, &body).await?;
    Ok(true)
}

fn read(body: &str) -> Result<Health, BridgeError> {
    serde_json::from_str(body).map_err(|error| BridgeError::Failed(error.to_string()))
}

fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
