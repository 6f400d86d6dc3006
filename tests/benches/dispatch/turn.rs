//! Turns with the four example extensions: one by one, and many at once.

use std::time::Duration;

use futures::future::join_all;
use lathe::turn::TurnStatus;
use lathe::{Agent, TurnEvent};
use lathe_tests::house::{House, load, says, settings, watch};
use serde_json::json;
use tokio::time::Instant;

use crate::measure::{Bench, new_session};
use crate::report::Measure;

/// Turns at once.
const TURNS: u32 = 200;

pub(crate) fn run(bench: &mut Bench) {
    let rules = settings("house-rules", &json!({ "rules": ["Be brief.", "Cite sources."] }));
    let packages = ["calc", "clock", "house-rules", "meter"];
    let house = bench.runtime.block_on(async {
        let extensions = load(&packages, [rules].into()).await;
        House::new(&json!([says("Good morning.")]), |agent| agent.extensions(extensions)).await
    });
    let agent = house.agent.clone();
    bench.lathe(Measure::Turn, move |iterations| one_by_one(agent.clone(), iterations));
    let agent = house.agent.clone();
    let Some(together) =
        bench.median(Measure::Throughput.name(), move |iterations| at_once(agent.clone(), iterations))
    else {
        return;
    };
    let rate = f64::from(TURNS) * 1e9 / together;
    bench.report.lathe(Measure::Throughput, rate);
    if let Some(one) = bench.report.of(Measure::Turn) {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let ideal = 1e9 / one * f64::from(u32::try_from(cores).unwrap());
        bench.report.peer(Measure::Throughput, format!("one turn's time on each of {cores} cores"), ideal);
    }
}

/// Each in a session of its own, since a conversation grows.
async fn one_by_one(agent: Agent, iterations: u32) -> Duration {
    let mut total = Duration::ZERO;
    for _ in 0..iterations {
        let session = agent.session(&new_session()).await.unwrap();
        let begun = Instant::now();
        let result = session.send("Hello!").await.unwrap().finish().await;
        total += begun.elapsed();
        assert_eq!(result.status, TurnStatus::Completed);
    }
    total
}

async fn at_once(agent: Agent, iterations: u32) -> Duration {
    let mut total = Duration::ZERO;
    for _ in 0..iterations {
        let begun = Instant::now();
        let turns = (0..TURNS).map(|_| tokio::spawn(sound(agent.clone())));
        for done in join_all(turns).await {
            done.unwrap();
        }
        total += begun.elapsed();
    }
    total
}

/// A turn in which nothing fails.
async fn sound(agent: Agent) {
    let session = agent.session(&new_session()).await.unwrap();
    let (events, result) = watch(session.send("Hello!").await.unwrap()).await;
    assert_eq!(result.status, TurnStatus::Completed, "{:?}", result.error);
    for event in events {
        if let TurnEvent::HookCall(call) = event {
            assert!(call.failure.is_none(), "{call:?}");
        }
    }
}
