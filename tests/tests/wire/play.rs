//! Plays a case, and says what clients, hooks and the model saw.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Map, Value, json};

use crate::client::{self, Client};
use crate::host::Host;

/// Where the session of a case is.
pub(crate) const AGENT: &str = "wire-agent";
pub(crate) const SESSION: &str = "wire-session";

/// How long frames are still heard after the last step, as in the recordings.
const AFTER: Duration = Duration::from_millis(600);

/// What happened, in the form of a case's `expect`.
pub(crate) async fn play(case: &Value) -> anyhow::Result<Value> {
    let host = Host::start(case).await?;
    let mut clients: BTreeMap<String, Client> = BTreeMap::new();
    let mut kept: BTreeMap<String, Value> = BTreeMap::new();
    let mut http = Vec::new();
    for step in case["script"].as_array().context("it has no script")? {
        if let Some(name) = step["connect"].as_str() {
            let own = step["client"].as_str().unwrap_or(name);
            let mut client =
                Client::connect(host.address, &format!("/agents/{AGENT}/{SESSION}?_pk={own}")).await?;
            client.wait("cf_agent_mcp_servers", &Value::Null).await?;
            clients.insert(name.to_owned(), client);
        } else if let Some(name) = step["send"].as_str() {
            let client = clients.get(name).context("a connection that is not there sends")?;
            match &step["text"] {
                Value::String(text) => client.send(text.clone())?,
                _ => client.send(frame(&step["frame"], &kept)?.to_string())?,
            }
        } else if let Some(name) = step["await"].as_str() {
            let client = clients.get_mut(name).context("a connection that is not there waits")?;
            let kind = step["type"].as_str().unwrap_or_default();
            let got = client.wait(kind, &step["where"]).await.with_context(|| step.to_string())?;
            if let Some(key) = step["as"].as_str() {
                kept.insert(key.to_owned(), got);
            }
        } else if let Some(ms) = step["sleepMs"].as_u64() {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        } else if let Some(name) = step["close"].as_str() {
            clients.get_mut(name).context("a connection that is not there closes")?.close();
        } else if let Some(path) = step["http"].as_str() {
            let (status, body) =
                client::get(host.address, &format!("/agents/{AGENT}/{SESSION}/{path}")).await?;
            http.push(json!({"get": path, "status": status, "body": body}));
        } else {
            anyhow::bail!("there is no step {step}");
        }
    }
    tokio::time::sleep(AFTER).await;
    let frames: Map<String, Value> = clients
        .iter()
        .map(|(name, client)| (name.clone(), client.received().iter().map(client::parsed).collect()))
        .collect();
    let mut got = json!({
        "frames": frames,
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
    let fields = keys.iter().filter_map(|key| Some(((*key).to_owned(), event.get(*key)?.clone())));
    Some(Value::Object(fields.collect()))
}

/// A frame as it is sent: kept values in their places, the body of a request as text.
fn frame(frame: &Value, kept: &BTreeMap<String, Value>) -> anyhow::Result<Value> {
    let mut frame = filled(frame, kept)?;
    if let Some(body) = frame.pointer_mut("/init/body").filter(|body| !body.is_string()) {
        *body = body.to_string().into();
    }
    Ok(frame)
}

fn filled(value: &Value, kept: &BTreeMap<String, Value>) -> anyhow::Result<Value> {
    Ok(match value {
        Value::String(text) if text.starts_with('$') => {
            let mut names = text.trim_start_matches('$').split('.');
            let mut found = kept.get(names.next().unwrap_or_default()).context("nothing was kept")?;
            for name in names {
                let place = name.parse::<usize>().ok().and_then(|place| found.get(place));
                found = place.or(found.get(name)).with_context(|| format!("{text} leads nowhere"))?;
            }
            found.clone()
        }
        Value::Array(list) => list.iter().map(|value| filled(value, kept)).collect::<anyhow::Result<_>>()?,
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| Ok((key.clone(), filled(value, kept)?)));
            Value::Object(fields.collect::<anyhow::Result<_>>()?)
        }
        other => other.clone(),
    })
}
