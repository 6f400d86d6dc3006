//! What a turn's trace says. In a process of its own, since the log is the process's.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lathe::hooks::{HookResult, Hooks, TurnContext};
use lathe::turn::{Telemetry, TurnConfig};
use lathe_tests::house::{House, says};
use lathe_tests::log::Log;
use lathe_tests::web::PATIENCE;
use serde_json::json;

struct Triage;

#[async_trait]
impl Hooks for Triage {
    async fn before_turn(&self, _: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
        let metadata = json!({"ticket": 7}).as_object().unwrap().clone();
        let telemetry = Telemetry { function_id: Some("triage".into()), metadata };
        Ok(Some(TurnConfig { telemetry: Some(telemetry), ..TurnConfig::default() }))
    }
}

#[tokio::test]
async fn telemetry_stands_in_the_turns_trace() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_span_events(tracing_subscriber::fmt::format::FmtSpan::CLOSE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let house = House::new(&json!([says("ok")]), |agent| agent.hooks(Arc::new(Triage))).await;
    let result = house.send("go").await;
    for wanted in ["triage", "{\"ticket\":7}", &*result.request_id] {
        // A span ends when the last task lets go of it.
        let there = async {
            while !log.text().contains(wanted) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        assert!(tokio::time::timeout(PATIENCE, there).await.is_ok(), "{}", log.text());
    }
}
