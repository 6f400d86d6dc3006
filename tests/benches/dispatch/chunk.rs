//! The hook `on-chunk`: what it adds to a turn, and by itself.

use std::sync::Arc;
use std::time::Duration;

use lathe::agent::AgentBuilder;
use lathe::extensions::Extension;
use lathe::hooks::{ChunkContext, Dispatcher};
use lathe::turn::{Chunk, TurnStatus};
use lathe::{Agent, TurnEvent};
use lathe_tests::house::House;
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::Instant;

use crate::bridge::{events, services};
use crate::measure::{Bench, middle, new_session};
use crate::payload::{DELTA, DELTAS};
use crate::report::Measure;

pub(crate) fn run(bench: &mut Bench) {
    in_turn(bench);
    alone(bench);
}

/// A long answer, with a subscriber and without, in turns: what else the machine does meets both.
fn in_turn(bench: &mut Bench) {
    let (without, with) = (house(bench, |agent| agent), {
        let extension = bench.extension.clone();
        house(bench, |agent| agent.extensions([extension]))
    });
    let added = Arc::new(Mutex::new(Vec::new()));
    bench.lathe(Measure::LongTurn, |iterations| {
        let (without, with, added) = (without.agent.clone(), with.agent.clone(), added.clone());
        async move {
            let mut total = Duration::ZERO;
            for _ in 0..iterations {
                let (plain, _) = answer(&without).await;
                let (shown, whole) = answer(&with).await;
                added.lock().push((shown.as_secs_f64() - plain.as_secs_f64()) * 1e9 / f64::from(DELTAS));
                total += whole;
            }
            total
        }
    });
    let added = middle(std::mem::take(&mut added.lock()));
    if let Some(median) = added {
        bench.report.lathe(Measure::ChunkInTurn, median);
    }
}

fn house(bench: &Bench, build: impl FnOnce(AgentBuilder) -> AgentBuilder) -> House {
    let deltas: Vec<&str> = (0..DELTAS).map(|_| DELTA).collect();
    bench.runtime.block_on(House::new(&json!([{ "text": deltas }]), build))
}

/// One turn of a new session: the time until its stream has ended, and until it is over, with everything stored and seen.
async fn answer(agent: &Agent) -> (Duration, Duration) {
    let session = agent.session(&new_session()).await.unwrap();
    let begun = Instant::now();
    let mut turn = session.send("Go on.").await.unwrap();
    let mut shown = Duration::ZERO;
    while let Some(event) = turn.next().await {
        match event {
            TurnEvent::Chunk(Chunk::Finish { .. }) => shown = begun.elapsed(),
            TurnEvent::HookCall(call) => assert!(call.failure.is_none(), "{call:?}"),
            _ => {}
        }
    }
    let result = turn.finish().await;
    let whole = begun.elapsed();
    assert_eq!(result.status, TurnStatus::Completed);
    (shown, whole)
}

/// Per chunk, from the dispatcher to the guest's answer, for as many as a turn has.
fn alone(bench: &mut Bench) {
    let extension = bench.extension.clone();
    bench.lathe(Measure::OnChunk, move |iterations| show(extension.clone(), iterations));
    let floor = bench.floor.clone();
    bench.floor(Measure::OnChunk, move |iterations| {
        let floor = floor.clone();
        async move { floor.on_chunk(iterations).await }
    });
}

async fn show(extension: Arc<Extension>, iterations: u32) -> Duration {
    let chunk = Chunk::TextDelta { id: "text-0".into(), text: DELTA.into() };
    let mut total = Duration::ZERO;
    let mut left = iterations;
    while left > 0 {
        let subscriber = extension.subscribe(services());
        let dispatcher = Dispatcher::new(Arc::new([]), vec![subscriber], events(), Box::new(|_| Ok(())));
        let begun = Instant::now();
        let chunks = left.min(DELTAS);
        for _ in 0..chunks {
            dispatcher.on_chunk(ChunkContext { request_id: "request", chunk: &chunk }).await.unwrap();
        }
        dispatcher.flush().await;
        total += begun.elapsed();
        left -= chunks;
    }
    total
}
