//! The hook `before-turn` of one extension, its instance included.

use lathe::hooks::TurnSnapshot;
use lathe::turn::Trigger;
use tokio::time::Instant;

use crate::bridge::services;
use crate::measure::Bench;
use crate::payload;
use crate::report::Measure;

fn snapshot() -> TurnSnapshot {
    TurnSnapshot {
        system: payload::system(),
        tool_names: payload::tool_names(),
        message_count: 1,
        max_steps: 10,
        continuation: false,
        body: None,
        model_id: "scripted:test".into(),
        request_id: "request".into(),
        trigger: Trigger::Programmatic,
    }
}

pub(crate) fn run(bench: &mut Bench) {
    let extension = bench.extension.clone();
    bench.lathe(Measure::BeforeTurn, move |iterations| {
        let (extension, services, snapshot) = (extension.clone(), services(), snapshot());
        async move {
            let begun = Instant::now();
            for _ in 0..iterations {
                let subscriber = extension.subscribe(services.clone());
                let (_, answer) = subscriber.before_turn(snapshot.clone()).await;
                let patch = answer.unwrap().unwrap();
                assert!(patch.config.system.is_some_and(|system| system.ends_with("English.")));
            }
            begun.elapsed()
        }
    });
    let floor = bench.floor.clone();
    bench.floor(Measure::BeforeTurn, move |iterations| {
        let floor = floor.clone();
        async move { floor.before_turn(iterations).await }
    });
}
