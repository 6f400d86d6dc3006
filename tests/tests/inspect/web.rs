//! A small HTTP client.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long nothing at all may be heard.
const PATIENCE: Duration = Duration::from_secs(60);

type Headers<'a> = &'a [(&'a str, &'a str)];

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).map_err(|_| format!("{self:?}")).unwrap()
    }
}

/// HTTP/1.0, so that bodies come as they are.
async fn send(address: &str, line: &str, headers: Headers<'_>, body: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut head = format!("{line} HTTP/1.0\r\nhost: {address}\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).await.unwrap();
    BufReader::new(stream)
}

pub(crate) async fn request(address: &str, line: &str, headers: Headers<'_>, body: &str) -> Answer {
    let mut text = String::new();
    let mut stream = send(address, line, headers, body).await;
    timeout(PATIENCE, stream.read_to_string(&mut text)).await.unwrap().unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, body: body.to_owned() }
}

pub(crate) async fn get(address: &str, path: &str) -> Answer {
    request(address, &format!("GET {path}"), &[], "").await
}

/// As a program posts.
pub(crate) async fn post(address: &str, path: &str, body: &Value) -> Answer {
    let line = format!("POST {path}");
    if body.is_null() {
        return request(address, &line, &[], "").await;
    }
    request(address, &line, &[("content-type", "application/json")], &body.to_string()).await
}

/// One turn over `POST /api/chat`, to its end: what was streamed.
pub(crate) async fn chat(address: &str, session: &str, id: &str, text: &str) -> String {
    let message = json!({"id": id, "role": "user", "parts": [{"type": "text", "text": text}]});
    let ask = json!({"id": session, "messages": [message], "trigger": "submit-message"});
    let answer = post(address, "/api/chat", &ask).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

/// Somebody who watches a session.
pub(crate) struct Inspector(BufReader<TcpStream>);

impl Inspector {
    /// Watches, and has seen the events up to the one with the id `after`.
    pub(crate) async fn new(address: &str, session: &str, after: Option<&str>) -> Self {
        let headers: Vec<_> = after.iter().map(|id| ("last-event-id", *id)).collect();
        let stream = send(address, &format!("GET /api/sessions/{session}/events"), &headers, "").await;
        let mut inspector = Self(stream);
        while !inspector.line().await.unwrap().is_empty() {}
        inspector
    }

    /// The next line; none once the server has closed.
    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = timeout(PATIENCE, self.0.read_line(&mut line)).await.unwrap();
        read.is_ok_and(|bytes| bytes > 0).then(|| line.trim_end().to_owned())
    }

    /// The next event with its id; none at the end of what is remembered, and once the server has closed.
    pub(crate) async fn next(&mut self) -> Option<(String, Value)> {
        let mut id = String::new();
        loop {
            let line = self.line().await?;
            match line.split_once(": ") {
                Some(("id", text)) => id = text.to_owned(),
                Some(("data", text)) => return Some((id, serde_json::from_str(text).unwrap())),
                Some(("", "from here on it is live")) => return None,
                _ => {}
            }
        }
    }

    /// All that is remembered.
    pub(crate) async fn remembered(&mut self) -> Vec<(String, Value)> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }

    /// What happens up to the end of a turn.
    pub(crate) async fn turn(&mut self) -> Vec<(String, Value)> {
        let mut events = Vec::new();
        loop {
            events.push(self.next().await.unwrap());
            if events.last().unwrap().1["type"] == "turn-ended" {
                return events;
            }
        }
    }
}
