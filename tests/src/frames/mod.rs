//! Clients of a recorded case, which do over WebSocket what its script says, and keep the frames that they are sent.

mod client;
mod normal;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use client::{Client, parsed};
pub use normal::normal;

/// The name by which clients call the agent of a case.
pub const AGENT: &str = "case-agent";

/// The session of a case.
pub const SESSION: &str = "case-session";

/// As the recorders waited, where a case does not say how long.
const AWAIT_MS: u64 = 10_000;

/// How often it is looked whether something has come.
const LOOK: Duration = Duration::from_millis(20);

/// The clients of a case.
pub struct Clients {
    address: SocketAddr,
    clients: BTreeMap<String, Client>,
    /// Frames that the script has kept.
    kept: BTreeMap<String, Value>,
}

impl Clients {
    /// Of the server at that address.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self { address, clients: BTreeMap::new(), kept: BTreeMap::new() }
    }

    /// Clients that connect from now on find the server there.
    pub fn move_to(&mut self, address: SocketAddr) {
        self.address = address;
    }

    /// Does what a step says. False if that is nothing that clients do.
    ///
    /// # Errors
    ///
    /// If it cannot be done, or what is waited for does not come.
    pub async fn step(&mut self, step: &Value) -> anyhow::Result<bool> {
        if let Some(name) = step["connect"].as_str() {
            let own = step["client"].as_str().unwrap_or(name);
            let path = format!("/agents/{AGENT}/{SESSION}?_pk={own}");
            let mut client = Client::connect(self.address, &path).await?;
            client.wait("cf_agent_mcp_servers", &Value::Null, Duration::from_millis(AWAIT_MS)).await?;
            self.clients.insert(name.to_owned(), client);
        } else if let Some(name) = step["send"].as_str() {
            let client = self.clients.get(name).context("a connection that is not there sends")?;
            match &step["text"] {
                Value::String(text) => client.send(text.clone())?,
                _ => client.send(self.frame(&step["frame"])?.to_string())?,
            }
        } else if let Some(name) = step["await"].as_str() {
            let client = self.clients.get_mut(name).context("a connection that is not there waits")?;
            let kind = step["type"].as_str().unwrap_or_default();
            let patience = Duration::from_millis(step["timeoutMs"].as_u64().unwrap_or(AWAIT_MS));
            let got = client.wait(kind, &step["where"], patience).await?;
            if let Some(key) = step["as"].as_str() {
                self.kept.insert(key.to_owned(), got);
            }
        } else if let Some(ms) = step["sleepMs"].as_u64() {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        } else if let Some(ms) = step["waitIdleMs"].as_u64() {
            self.quiet(Duration::from_millis(ms)).await;
        } else if let Some(name) = step["close"].as_str() {
            self.clients.get_mut(name).context("a connection that is not there closes")?.close();
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Waits until no client has received anything for so long.
    pub async fn quiet(&self, time: Duration) {
        let count = || self.clients.values().map(|client| client.received().len()).sum::<usize>();
        let (mut seen, mut since) = (count(), Instant::now());
        while since.elapsed() < time {
            tokio::time::sleep(LOOK).await;
            if count() != seen {
                (seen, since) = (count(), Instant::now());
            }
        }
    }

    /// What each client has received, by its name.
    #[must_use]
    pub fn frames(&self) -> Value {
        let frames = self
            .clients
            .iter()
            .map(|(name, client)| (name.clone(), client.received().iter().map(parsed).collect::<Value>()));
        Value::Object(frames.collect::<Map<_, _>>())
    }

    /// Status and body of a GET below the session's address.
    ///
    /// # Errors
    ///
    /// If there is no answer.
    pub async fn get(&self, path: &str) -> anyhow::Result<Value> {
        let (status, body) = client::get(self.address, &format!("/agents/{AGENT}/{SESSION}/{path}")).await?;
        Ok(json!({"get": path, "status": status, "body": body}))
    }

    /// A frame as it is sent: kept values in their places, the body of a request as text.
    fn frame(&self, frame: &Value) -> anyhow::Result<Value> {
        let mut frame = self.filled(frame)?;
        if let Some(body) = frame.pointer_mut("/init/body").filter(|body| !body.is_string()) {
            *body = body.to_string().into();
        }
        Ok(frame)
    }

    fn filled(&self, value: &Value) -> anyhow::Result<Value> {
        Ok(match value {
            Value::String(text) if text.starts_with('$') => {
                let mut names = text.trim_start_matches('$').split('.');
                let mut found =
                    self.kept.get(names.next().unwrap_or_default()).context("nothing was kept")?;
                for name in names {
                    let place = name.parse::<usize>().ok().and_then(|place| found.get(place));
                    found = place.or(found.get(name)).with_context(|| format!("{text} leads nowhere"))?;
                }
                found.clone()
            }
            Value::Array(list) => {
                list.iter().map(|value| self.filled(value)).collect::<anyhow::Result<_>>()?
            }
            Value::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| Ok((key.clone(), self.filled(value)?)));
                Value::Object(fields.collect::<anyhow::Result<_>>()?)
            }
            other => other.clone(),
        })
    }
}
