//! What a turn's trace says. In a process of its own, since the log is the process's.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write;
use std::sync::Arc;

use async_trait::async_trait;
use lathe::hooks::{HookResult, Hooks, TurnContext};
use lathe::turn::{Telemetry, TurnConfig};
use lathe_tests::house::{House, says};
use parking_lot::Mutex;
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

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
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
    let log = String::from_utf8(log.0.lock().clone()).unwrap();
    for wanted in ["triage", "{\"ticket\":7}", &*result.request_id] {
        assert!(log.contains(wanted), "{log}");
    }
}
