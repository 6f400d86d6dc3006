//! `/metrics`, and turns as plain JSON.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use futures::StreamExt;
use lathe::extensions::{ExtensionSettings, Limits};
use lathe::server::Limits as ServerLimits;
use lathe_tests::binary::Folder;
use lathe_tests::house::{House, call, load, says, settings};
use lathe_tests::web::{PATIENCE, ask, http, serve};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

async fn connect(address: &str, session: &str) -> Socket {
    connect_async(format!("ws://{address}/agents/a/{session}")).await.unwrap().0
}

/// The end of the next answer, as a connection is told it.
async fn ended(socket: &mut Socket) -> Value {
    loop {
        let message = timeout(PATIENCE, socket.next()).await.unwrap().unwrap().unwrap();
        let Message::Text(text) = message else { continue };
        let frame: Value = serde_json::from_str(&text).unwrap();
        if frame["type"] == "cf_agent_use_chat_response" && frame["done"] == true {
            return frame;
        }
    }
}

/// Posts a turn: the status and the answer.
async fn post(address: &str, session: &str, body: &str) -> (String, String) {
    let answer = http(address, &format!("POST /api/sessions/{session}/turns"), body).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().to_owned(), body.to_owned())
}

/// The metrics by their names and labels, and all of their text.
async fn metrics(address: &str) -> (BTreeMap<String, f64>, String) {
    let answer = http(address, "GET /metrics", "").await;
    assert!(answer.contains("content-type: application/openmetrics-text"), "{answer}");
    let (_, text) = answer.split_once("\r\n\r\n").unwrap();
    assert!(text.ends_with("# EOF\n"), "{text}");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.map(|line| line.rsplit_once(' ').unwrap());
    (pairs.map(|(name, value)| (name.to_owned(), value.parse().unwrap())).collect(), text.to_owned())
}

/// Waits until a metric has a value: a hub counts in its own time.
async fn until(address: &str, name: &str, value: f64) -> (BTreeMap<String, f64>, String) {
    let waiting = async {
        loop {
            let (metrics, text) = metrics(address).await;
            if metrics.get(name) == Some(&value) {
                return (metrics, text);
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    let waited = timeout(PATIENCE, waiting).await;
    assert!(waited.is_ok(), "no {name} {value} in {}", metrics(address).await.1);
    waited.unwrap()
}

#[tokio::test]
async fn a_turn_is_counted_once_however_many_watch_it() {
    let rules = settings("house-rules", &json!({"rules": ["Be kind."]}));
    let extensions = load(&["house-rules", "calc"], [rules].into()).await;
    let script = json!([call("c", "calc_evaluate", &json!({"expression": "6 * 7"})), says("42")]);
    let house = House::new(&script, |agent| agent.extensions(extensions)).await;
    let address = serve(&house, |server| server).await.to_string();
    let mut watching =
        vec![connect(&address, "quiet-session").await, connect(&address, "quiet-session").await];
    let (status, body) = post(&address, "quiet-session", "{\"text\": \"what is it?\"}").await;
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&*status, &answer["status"], &answer["text"]), ("200", &json!("completed"), &json!("42")));
    assert_eq!((&answer["steps"], &answer["usage"]["inputTokens"]), (&json!(2), &json!(20)));
    assert_eq!(answer["message"]["role"], "assistant");
    for socket in &mut watching {
        let done = ended(socket).await;
        assert_eq!((&done["id"], &done["outcome"]), (&answer["requestId"], &json!("completed")));
    }
    let (seen, text) = until(&address, "lathe_turns_total{status=\"completed\",trigger=\"rpc\"}", 1.0).await;
    for (name, value) in [
        ("lathe_turn_duration_seconds_count", 1.0),
        ("lathe_steps_total", 2.0),
        ("lathe_tokens_total{model=\"scripted:test\",kind=\"input\"}", 20.0),
        ("lathe_tokens_total{model=\"scripted:test\",kind=\"output\"}", 10.0),
        ("lathe_tool_calls_total{outcome=\"ok\"}", 1.0),
        ("lathe_extension_calls_total{extension=\"house-rules\",hook=\"beforeTurn\"}", 1.0),
        ("lathe_extension_calls_total{extension=\"calc\",hook=\"tool\"}", 1.0),
        ("lathe_extension_health{extension=\"calc\",health=\"ready\"}", 1.0),
        ("lathe_extension_health{extension=\"calc\",health=\"quarantined\"}", 0.0),
        ("lathe_connections", 2.0),
        ("lathe_sessions", 1.0),
        ("lathe_requests_waiting", 0.0),
        ("lathe_slow_clients_total", 0.0),
    ] {
        assert_eq!(seen.get(name), Some(&value), "{name} in {text}");
    }
    assert!(seen["lathe_extension_fuel_total{extension=\"calc\",hook=\"tool\"}"] > 0.0, "{text}");
    assert!(seen["lathe_frames_sent_total"] > 10.0, "{text}");
    assert!(!text.contains("quiet-session") && !text.contains("what is it"), "{text}");
}

#[tokio::test]
async fn failures_are_counted_by_their_cause() {
    let limits = Limits { strikes: 1, ..Limits::default() };
    let deed = json!({"do": "panic"}).as_object().unwrap().clone();
    let rogue = ExtensionSettings { settings: deed, limits, ..Default::default() };
    let extensions = load(&["rogue"], [("rogue".to_owned(), rogue)].into()).await;
    let house = House::new(&json!([says("ok")]), |agent| agent.extensions(extensions)).await;
    let address = serve(&house, |server| server).await.to_string();
    assert_eq!(post(&address, "s", "{\"text\": \"go\"}").await.0, "200");
    assert_eq!(http(&address, "GET /agents/a/%01/get-messages", "").await.split(' ').nth(1), Some("400"));
    let name = "lathe_extension_failures_total{extension=\"rogue\",hook=\"beforeTurn\",cause=\"trap\"}";
    let (seen, text) = until(&address, name, 1.0).await;
    assert_eq!(seen["lathe_extension_health{extension=\"rogue\",health=\"quarantined\"}"], 1.0, "{text}");
    assert_eq!(seen["lathe_extension_strikes{extension=\"rogue\"}"], 1.0, "{text}");
    assert!(seen["lathe_extension_quarantine_seconds{extension=\"rogue\"}"] > 0.0, "{text}");
    assert_eq!(seen["lathe_requests_refused_total{status=\"400\"}"], 1.0, "{text}");
}

/// Another process with the same sessions, and where it listens.
fn other(house: &House) -> (Child, String) {
    let data = house.folder.path().to_str().unwrap();
    let folder = Folder::new();
    let mut command = folder.command(&["serve", "--listen", "127.0.0.1:0", "--data", data]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let said = lines.map(Result::unwrap).find(|line| line.contains("http://")).unwrap();
    let address = said.split("http://").nth(1).unwrap().split(',').next().unwrap().to_owned();
    (child, address)
}

#[tokio::test]
async fn what_cannot_be_answered_says_why() {
    let house = House::plain(&json!([says("ok"), {"error": "no"}])).await;
    let limits = ServerLimits { frame_bytes: 10_000, ..ServerLimits::default() };
    let address = serve(&house, |server| server.limits(limits)).await.to_string();
    let long = format!("{{\"text\": \"{}\"}}", "x".repeat(20_000));
    for (session, body, status, said) in [
        ("s", "{\"text\": \"\"}", "400", "`text` is to be a text"),
        ("s", "{\"message\": {\"role\": \"assistant\", \"parts\": []}}", "400", "user's"),
        ("%01", "{\"text\": \"hi\"}", "400", "name"),
        ("s", &*long, "413", ""),
    ] {
        let (got, sentence) = post(&address, session, body).await;
        assert_eq!(got, status, "{body}: {sentence}");
        assert!(sentence.contains(said), "{body}: {sentence}");
    }
    let (mut other, elsewhere) = other(&house);
    assert_eq!(post(&elsewhere, "held", "{\"text\": \"hi\"}").await.0, "200");
    let (status, sentence) = post(&address, "held", "{\"text\": \"hi\"}").await;
    assert_eq!((&*status, &*sentence), ("409", "the session is in use by another process"));
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(post(&address, "s", "{\"text\": \"hi\"}").await.0, "200");
    let (status, body) = post(&address, "s", "{\"text\": \"again\"}").await;
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&*status, &answer["status"]), ("200", &json!("error")), "{answer}");
    assert!(answer["error"].as_str().unwrap().contains("no"));
}

#[tokio::test]
async fn a_posted_turn_goes_on_without_its_client() {
    let house = House::plain(&json!([{"text": ["one ", {"holdMs": 300}, "two"]}])).await;
    let address = serve(&house, |server| server).await.to_string();
    let mut watching = connect(&address, "s").await;
    let asking = ask(&address, "POST /api/sessions/s/turns", "{\"text\": \"count\"}").await;
    until(&address, "lathe_requests_waiting", 0.0).await;
    loop {
        let message = timeout(PATIENCE, watching.next()).await.unwrap().unwrap().unwrap();
        if message.to_text().unwrap().contains("one ") {
            break;
        }
    }
    drop(asking);
    assert_eq!(ended(&mut watching).await["outcome"], "completed");
    assert_eq!(house.transcript().await, ["user: count", "assistant: one two"]);
}
