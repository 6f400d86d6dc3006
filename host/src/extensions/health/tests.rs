use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;

use super::*;
use crate::hooks::{HookCall, ToolCost};

const MINUTE: Duration = Duration::from_secs(60);

/// Notes how the health changes.
#[derive(Default)]
struct Changes(Mutex<Vec<(Condition, Option<u64>)>>);

impl Changes {
    fn take(&self) -> Vec<(Condition, Option<u64>)> {
        std::mem::take(&mut self.0.lock())
    }
}

impl Events for Changes {
    fn hook_called(&self, _: HookCall) {}
    fn tool_called(&self, _: ToolCost) {}
    fn health_changed(&self, change: HealthChange) {
        self.0.lock().push((change.health, change.quarantine_ms));
    }
}

fn keeper() -> Arc<Keeper> {
    Arc::new(Keeper::new("x", "d1", &Limits::default()))
}

fn trap() -> Failure {
    Failure::Trap { message: "ouch".into(), backtrace: vec![] }
}

/// One call that ends so; false if it was refused.
fn call(keeper: &Arc<Keeper>, failure: Option<&Failure>, changes: &Changes) -> bool {
    let mut meter = Meter::new(100, MINUTE);
    meter.fuel = 10;
    match keeper.admit(changes) {
        Ok(pass) => pass.end(&meter, failure, true, changes),
        Err(failure) => assert!(matches!(failure, Failure::Quarantined { .. })),
    }
    keeper.health().totals.calls > 0 && !keeper.is_quarantined()
}

#[tokio::test(start_paused = true)]
async fn three_strikes_in_a_row_and_not_otherwise() {
    let (keeper, changes) = (keeper(), Changes::default());
    let own = Failure::Guest("no".into());
    for failure in [Some(&trap()), Some(&trap()), None, Some(&trap()), Some(&trap()), Some(&own)] {
        assert!(call(&keeper, failure, &changes));
    }
    assert_eq!(keeper.health().strikes, 0);
    let spent = Failure::TurnFuel { budget: 1 };
    for failure in [Some(&trap()), Some(&spent), Some(&trap())] {
        assert!(call(&keeper, failure, &changes));
    }
    assert_eq!((keeper.health().strikes, changes.take()), (2, vec![]));
    call(&keeper, Some(&trap()), &changes);
    assert_eq!(changes.take(), [(Condition::Quarantined, Some(60_000))]);
    let health = keeper.health();
    assert_eq!((health.condition, health.strikes, health.quarantines), (Condition::Quarantined, 3, 1));
    assert_eq!(health.last_error.unwrap(), "it trapped: ouch");
    assert_eq!((health.totals.calls, health.totals.fuel), (10, 100));
    let failures = [("guest", 1), ("trap", 7), ("turnFuel", 1)].map(|(kind, count)| (kind.to_owned(), count));
    assert_eq!(health.totals.failures, failures.into());
}

#[tokio::test(start_paused = true)]
async fn quarantine_doubles_up_to_its_limit_and_one_call_ends_it() {
    let (keeper, changes) = (keeper(), Changes::default());
    for _ in 0..3 {
        call(&keeper, Some(&trap()), &changes);
    }
    changes.take();
    let mut length = MINUTE;
    for minutes in [2, 4, 8, 16, 32, 60, 60] {
        tokio::time::advance(length - Duration::from_millis(1)).await;
        assert!(matches!(keeper.admit(&changes), Err(Failure::Quarantined { left_ms: 1, .. })));
        tokio::time::advance(Duration::from_millis(1)).await;
        call(&keeper, Some(&trap()), &changes);
        length = MINUTE * minutes;
        let expected = u64::try_from(length.as_millis()).unwrap();
        assert_eq!(changes.take(), [(Condition::Probing, None), (Condition::Quarantined, Some(expected))]);
    }
    tokio::time::advance(length).await;
    assert!(call(&keeper, None, &changes));
    assert_eq!(changes.take(), [(Condition::Probing, None), (Condition::Ready, None)]);
    for _ in 0..3 {
        call(&keeper, Some(&trap()), &changes);
    }
    assert_eq!(changes.take(), [(Condition::Quarantined, Some(60_000))], "it begins anew");
}

#[tokio::test(start_paused = true)]
async fn while_one_call_probes_no_other_is_made() {
    let (keeper, changes) = (keeper(), Changes::default());
    let early = keeper.admit(&changes).unwrap();
    for _ in 0..3 {
        call(&keeper, Some(&trap()), &changes);
    }
    early.end(&Meter::new(0, MINUTE), None, true, &changes);
    assert!(keeper.is_quarantined(), "a call from before the quarantine does not end it");
    tokio::time::advance(MINUTE).await;
    let probe = keeper.admit(&changes).unwrap();
    assert!(keeper.admit(&changes).is_err() && keeper.is_quarantined());
    assert_eq!(keeper.health().condition, Condition::Probing);
    drop(probe);
    assert!(!keeper.is_quarantined(), "the cancelled one leaves it to the next");
    let probe = keeper.admit(&changes).unwrap();
    let busy = Failure::Busy { limit: 1, waited_ms: 1 };
    probe.end(&Meter::new(0, MINUTE), Some(&busy), true, &changes);
    assert!(call(&keeper, None, &changes), "so does one that could not be made");
    assert_eq!(keeper.health().condition, Condition::Ready);
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_is_slow_each_time_is_set_aside_a_tool_is_not() {
    for hook in [false, true] {
        let (keeper, changes) = (keeper(), Changes::default());
        for _ in 0..3 {
            let pass = keeper.admit(&changes).unwrap();
            let meter = Meter::new(0, MINUTE);
            tokio::time::advance(Duration::from_secs(3)).await;
            pass.end(&meter, None, hook, &changes);
        }
        assert_eq!(keeper.is_quarantined(), hook);
        assert_eq!(keeper.health().totals.time_ms, 9_000.0);
    }
}

#[tokio::test(start_paused = true)]
async fn without_strikes_nothing_is_set_aside() {
    let keeper = Arc::new(Keeper::new("x", "d1", &Limits { strikes: 0, ..Limits::default() }));
    let changes = Changes::default();
    for _ in 0..20 {
        assert!(call(&keeper, Some(&trap()), &changes));
    }
}

/// A database of one row.
#[derive(Default)]
struct Kept {
    row: Mutex<Option<String>>,
    age_ms: u64,
}

#[async_trait]
impl Bridge for Kept {
    async fn health(&self, _: &str) -> Result<Option<(String, u64)>, BridgeError> {
        Ok(self.row.lock().clone().map(|row| (row, self.age_ms)))
    }

    async fn keep_health(&self, _: &str, health: &str) -> Result<(), BridgeError> {
        *self.row.lock() = Some(health.to_owned());
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn quarantine_outlives_the_process_and_ends_in_time() {
    let (first, changes, mut kept) = (keeper(), Changes::default(), Kept::default());
    first.refresh(&kept).await;
    for _ in 0..3 {
        call(&first, Some(&trap()), &changes);
    }
    first.keep(&kept).await;
    kept.age_ms = 20_000;
    let second = keeper();
    second.refresh(&kept).await;
    let expected = Health { quarantine_ms: Some(40_000), ..first.health() };
    assert_eq!(second.health(), expected);
    kept.age_ms = 100_000;
    let third = keeper();
    third.refresh(&kept).await;
    assert!(call(&third, None, &changes), "the time of the quarantine is over");
    let newer = Arc::new(Keeper::new("x", "d2", &Limits::default()));
    newer.refresh(&kept).await;
    let totals = first.health().totals;
    assert_eq!(newer.health(), Health { digest: "d2".into(), totals, ..Health::default() });
}

#[tokio::test(start_paused = true)]
async fn the_operator_ends_a_quarantine_under_a_host_that_runs() {
    let (keeper, changes, kept) = (keeper(), Changes::default(), Kept::default());
    assert_eq!(reset_health(&kept, "x").await, Ok(false));
    for _ in 0..3 {
        call(&keeper, Some(&trap()), &changes);
    }
    keeper.keep(&kept).await;
    keeper.refresh(&kept).await;
    assert!(keeper.is_quarantined());
    assert_eq!(reset_health(&kept, "x").await, Ok(true));
    keeper.refresh(&kept).await;
    assert_eq!((keeper.health().condition, keeper.health().strikes), (Condition::Ready, 0));
    assert_eq!(keeper.health().totals.calls, 3);
}
