//! Plays a case, and says what clients, hooks and the model saw.

use std::time::Duration;

use anyhow::{Context, ensure};
use lathe_tests::frames::Clients;
use lathe_tests::probe::Template;
use lathe_tests::recording::pick;
use serde_json::{Value, json};

use crate::host::Host;

/// How long frames are still heard after the last step, as in the recordings.
const AFTER: Duration = Duration::from_millis(600);

/// What happened, in the form of a case's `expect`.
pub(crate) async fn play(case: &Value, probe: Option<&Template>) -> anyhow::Result<Value> {
    let host = Host::start(case, probe).await?;
    let mut clients = Clients::new(host.address);
    let mut http = Vec::new();
    for step in case["script"].as_array().context("it has no script")? {
        if let Some(path) = step["http"].as_str() {
            http.push(clients.get(path).await?);
        } else {
            let known = clients.step(step).await.with_context(|| step.to_string())?;
            ensure!(known, "there is no step {step}");
        }
    }
    tokio::time::sleep(AFTER).await;
    let mut got = json!({
        "frames": clients.frames(),
        "hooks": host.hooks.lock().iter().filter_map(hook).collect::<Vec<_>>(),
        "modelRequests": host.model.requests().len(),
    });
    if !http.is_empty() {
        got["http"] = json!(http);
    }
    Ok(got)
}

/// What the recorder looked at of a hook.
fn hook(event: &Value) -> Option<Value> {
    let keys: &[&str] = match event["hook"].as_str()? {
        "beforeTurn" => &["hook", "messages", "continuation", "body"],
        "onChatResponse" => &["hook", "status", "error", "continuation"],
        "onChatError" => &["hook", "error", "stage"],
        _ => return None,
    };
    Some(Value::Object(pick(event, keys)))
}
