//! One client: a WebSocket connection, and requests over HTTP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use futures::{SinkExt, StreamExt};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

/// A connection: what it has received, and how far a script has waited through it.
pub(super) struct Client {
    received: Arc<(Mutex<Vec<Value>>, Notify)>,
    passed: usize,
    /// None once it is closed.
    outgoing: Option<mpsc::UnboundedSender<Message>>,
}

impl Client {
    pub(super) async fn connect(address: SocketAddr, path: &str) -> anyhow::Result<Self> {
        let (mut socket, _) = tokio_tungstenite::connect_async(format!("ws://{address}{path}")).await?;
        let received: Arc<(Mutex<Vec<Value>>, Notify)> = Arc::default();
        let (outgoing, mut to_send) = mpsc::unbounded_channel();
        let own = received.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    message = to_send.recv() => match message {
                        Some(message) => if socket.send(message).await.is_err() { return },
                        None => {
                            let _ = socket.close(None).await;
                            return;
                        }
                    },
                    message = socket.next() => match message {
                        Some(Ok(Message::Text(text))) => {
                            let frame = serde_json::from_str(&text).unwrap_or_else(|_| json!({"no JSON": text.as_str()}));
                            own.0.lock().push(frame);
                            own.1.notify_waiters();
                        }
                        Some(Ok(_)) => {}
                        Some(Err(_)) | None => return,
                    },
                }
            }
        });
        Ok(Self { received, passed: 0, outgoing: Some(outgoing) })
    }

    pub(super) fn send(&self, text: String) -> anyhow::Result<()> {
        let outgoing = self.outgoing.as_ref().context("it is closed")?;
        Ok(outgoing.send(Message::text(text))?)
    }

    pub(super) fn close(&mut self) {
        self.outgoing = None;
    }

    /// The next frame of that type that has all of `wanted` in it.
    pub(super) async fn wait(
        &mut self,
        kind: &str,
        wanted: &Value,
        patience: Duration,
    ) -> anyhow::Result<Value> {
        let (frames, more) = (&self.received.0, &self.received.1);
        let passed = &mut self.passed;
        let waiting = async {
            loop {
                let notified = more.notified();
                {
                    let frames = frames.lock();
                    let place = frames.iter().skip(*passed).position(|frame| {
                        frame["type"] == kind && (wanted.is_null() || has(&parsed(frame), wanted))
                    });
                    if let Some(place) = place {
                        *passed += place + 1;
                        return frames[*passed - 1].clone();
                    }
                }
                notified.await;
            }
        };
        timeout(patience, waiting)
            .await
            .with_context(|| format!("no {kind} with {wanted} came: {:?}", frames.lock()))
    }

    pub(super) fn received(&self) -> Vec<Value> {
        self.received.0.lock().clone()
    }
}

/// A frame with its body as JSON, where it is.
pub(super) fn parsed(frame: &Value) -> Value {
    let mut frame = frame.clone();
    if let Some(body) = frame["body"].as_str().and_then(|body| serde_json::from_str(body).ok()) {
        frame["body"] = body;
    }
    frame
}

/// Whether all of `wanted` is in `value`, at any depth.
fn has(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Object(value), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| value.get(key).is_some_and(|value| has(value, wanted)))
        }
        (Value::Array(value), Value::Array(wanted)) => wanted
            .iter()
            .enumerate()
            .all(|(place, wanted)| value.get(place).is_some_and(|value| has(value, wanted))),
        _ => value == wanted,
    }
}

/// Status and body of a GET.
pub(super) async fn get(address: SocketAddr, path: &str) -> anyhow::Result<(u16, Value)> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").context("the answer has no end of its head")?;
    let status = head.split(' ').nth(1).context("the answer has no status")?.parse()?;
    Ok((status, serde_json::from_str(body).unwrap_or_else(|_| json!(body))))
}
