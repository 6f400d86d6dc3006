//! `lathe serve`: whom it lets in, what harm clients can do, and how it stops. What it says on the wire is the test `wire`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use lathe::server::{Limits, Server};
use lathe::store::Store;
use lathe_tests::binary::Folder;
use lathe_tests::house::{House, says};
use lathe_tests::web::{PATIENCE, http, serve};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};
use tokio_util::sync::CancellationToken;

struct Client(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Client {
    async fn connect(address: &str, session: &str) -> Self {
        Self(connect_async(format!("ws://{address}/agents/a/{session}")).await.unwrap().0)
    }

    /// The next frame of that type with that key and value.
    async fn wait(&mut self, kind: &str, key: &str, wanted: &Value) -> Value {
        loop {
            let message = timeout(PATIENCE, self.0.next()).await.unwrap().unwrap().unwrap();
            let Message::Text(text) = message else { continue };
            let frame: Value = serde_json::from_str(&text).unwrap();
            if frame["type"] == kind && frame[key] == *wanted {
                return frame;
            }
        }
    }

    /// Asks, and waits for the end of the answer.
    async fn ask(&mut self, id: &str, text: &str) -> Value {
        self.send(id, text).await;
        self.wait("cf_agent_use_chat_response", "done", &json!(true)).await
    }

    async fn send(&mut self, id: &str, text: &str) {
        let message =
            json!({"id": format!("u-{id}"), "role": "user", "parts": [{"type": "text", "text": text}]});
        let body = json!({"messages": [message], "trigger": "submit-message"}).to_string();
        let init = json!({"method": "POST", "body": body});
        let frame = json!({"type": "cf_agent_use_chat_request", "id": id, "init": init});
        self.0.send(Message::text(frame.to_string())).await.unwrap();
    }

    /// Whether the server ends it.
    async fn is_closed(&mut self) -> bool {
        loop {
            match timeout(PATIENCE, self.0.next()).await.unwrap() {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return true,
                Some(Ok(_)) => {}
            }
        }
    }
}

/// The status with which a connection is refused; 0 if it is not.
async fn refused(url: String, origin: Option<&str>) -> u16 {
    let mut request = url.into_client_request().unwrap();
    if let Some(origin) = origin {
        request.headers_mut().insert("origin", origin.parse().unwrap());
    }
    let error = connect_async(request).await.err();
    let Some(tungstenite::Error::Http(answer)) = &error else { return 0 };
    answer.status().as_u16()
}

#[tokio::test]
async fn the_harm_that_one_client_does_is_its_own() {
    let house = House::plain(&json!([says("hello")])).await;
    let limits = Limits { frame_bytes: 100_000, connections: 3, ..Limits::default() };
    let address = serve(&house, |server| server.limits(limits)).await.to_string();
    let mut good = Client::connect(&address, "good").await;
    let mut bad = Client::connect(&address, "bad").await;
    let deep = "[".repeat(50_000);
    for text in
        ["{", "\u{0}", "{\"type\":\"rpc\"}", &*format!("{{\"type\":\"cf_agent_state\",\"state\":{deep}")]
    {
        bad.0.send(Message::text(text)).await.unwrap();
    }
    bad.0.send(Message::binary(vec![0xff; 1_000])).await.unwrap();
    assert_eq!(bad.ask("one", "still there?").await["outcome"], "completed");
    let _ = bad.0.send(Message::text("x".repeat(200_000))).await;
    assert!(bad.is_closed().await, "a frame beyond the limit ends its connection");

    let mut flood = Vec::new();
    for session in ["x", "y"] {
        flood.push(Client::connect(&address, session).await);
    }
    let url = format!("ws://{address}/agents/a/z");
    assert_eq!(refused(url, None).await, 503, "there is no place left");
    let done = good.ask("one", "hi").await;
    assert_eq!((&done["outcome"], &done["messageIds"]), (&json!("completed"), &json!(["u-one"])));
    let session = house.agent.session("good").await.unwrap();
    assert_eq!(session.messages().await.unwrap().len(), 2, "nothing of the other session is here");
}

#[tokio::test]
async fn who_may_come_in() {
    let house = House::plain(&json!([says("hello")])).await;
    let address = serve(&house, |server| server.name("desk").token("s3cret")).await;
    let url = |rest: &str| format!("ws://{address}/agents/{rest}");
    assert_eq!(refused(url("desk/s"), None).await, 401);
    assert_eq!(refused(url("desk/s?token=s3cret"), Some("https://evil.example")).await, 403);
    assert_eq!(refused(url("other/s?token=s3cret"), None).await, 400, "there is one agent here");
    assert_eq!(refused(url("desk/s/sub/child/c?token=s3cret"), None).await, 404, "sessions have no agents");
    assert_eq!(refused(url("desk/%01?token=s3cret"), None).await, 400, "no name for a session");
    assert!(connect_async(url("desk/s?token=s3cret")).await.is_ok());
}

#[tokio::test]
async fn clients_that_post_are_streamed_the_answer_and_may_resume() {
    let house = House::plain(&json!([says("hello"), {"text": ["one ", {"holdMs": 500}, "two"]}])).await;
    let limits = Limits { frame_bytes: 10_000, ..Limits::default() };
    let address = serve(&house, |server| server.limits(limits)).await.to_string();
    let message = |id: &str| json!({"id": id, "role": "user", "parts": [{"type": "text", "text": "hi"}]});
    let ask =
        |id: &str| json!({"id": "s", "messages": [message(id)], "trigger": "submit-message"}).to_string();
    assert!(http(&address, "GET /api/chat/s/stream", "").await.starts_with("HTTP/1.1 204"));
    let answer = http(&address, "POST /api/chat", &ask("u1")).await;
    assert!(answer.contains("x-vercel-ai-ui-message-stream: v1"), "{answer}");
    for part in ["\"type\":\"start\"", "\"delta\":\"hello\"", "\"finishReason\":\"stop\"", "data: [DONE]"] {
        assert!(answer.contains(part), "{part} is not in {answer}");
    }
    let mut watching = Client::connect(&address, "s").await;
    let (asker, own) = (address.clone(), ask("u2"));
    let asking = tokio::spawn(async move { http(&asker, "POST /api/chat", &own).await });
    watching.wait("cf_agent_use_chat_response", "seq", &json!(3)).await;
    let resumed = http(&address, "GET /api/chat/s/stream", "").await;
    assert!(resumed.contains("one ") && resumed.contains("two") && resumed.contains("[DONE]"), "{resumed}");
    assert!(asking.await.unwrap().contains("two"));
    for (body, status) in [("{", 400), ("{\"id\":\"s\"}", 400), (&*"x".repeat(20_000), 413)] {
        let answer = http(&address, "POST /api/chat", body).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    }
}

/// Stops a server while it answers, with nobody connected any more.
async fn stopped_in_a_turn(house: &House, patience: Duration) {
    let stop = CancellationToken::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = Server::new(house.agent.clone()).limits(Limits { stop: patience, ..Limits::default() });
    let serving = tokio::spawn(server.serve(listener, stop.clone().cancelled_owned()));
    let mut client = Client::connect(&address, "s").await;
    client.send("one", "count").await;
    client.wait("cf_agent_use_chat_response", "seq", &json!(3)).await;
    drop(client);
    stop.cancel();
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_server_that_stops_lets_turns_end() {
    let house = House::plain(&json!([{"text": ["one ", {"holdMs": 500}, "two"]}])).await;
    stopped_in_a_turn(&house, PATIENCE).await;
    assert_eq!(house.transcript().await, ["user: count", "assistant: one two"]);
}

#[tokio::test]
async fn what_does_not_end_in_time_is_left_to_the_next_server() {
    let house = House::plain(&json!([{"text": ["one ", {"holdMs": 60_000}, "two"]}])).await;
    stopped_in_a_turn(&house, Duration::from_millis(50)).await;
    assert_eq!(house.store.interrupted().await.unwrap(), ["s"]);
}

/// The server in the folder, and where it listens.
fn start(folder: &Folder, args: &[&str]) -> (Child, String) {
    let all = [&["serve", "--listen", "127.0.0.1:0"], args].concat();
    let mut child = folder.command(&all).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let said = lines.map(Result::unwrap).find(|line| line.contains("http://")).unwrap();
    let address = said.split("http://").nth(1).unwrap().split(',').next().unwrap().to_owned();
    (child, address)
}

#[cfg(unix)]
#[tokio::test]
async fn the_binary_serves_until_it_is_told_to_stop() {
    let folder = Folder::new();
    let (mut child, address) = start(&folder, &["--agent", "a"]);
    let mut client = Client::connect(&address, "s").await;
    assert_eq!(client.ask("one", "What is 21 * 2?").await["outcome"], "completed");
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert!(client.is_closed().await);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let (mut child, address) = start(&folder, &[]);
    let mut client = Client::connect(&address, "s").await;
    let greeting = client.wait("cf_agent_chat_messages", "connect", &json!(true)).await;
    assert_eq!(greeting["messages"].as_array().unwrap().len(), 2, "the conversation is still there");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn who_tells_it_twice_does_not_wait_for_the_turn() {
    let folder = Folder::new();
    folder.write("lathe.toml", "[server]\nstop-timeout-s = 3600");
    folder.write("script.json", r#"[{"text": ["one ", {"holdMs": 3600000}]}]"#);
    let (mut child, address) = start(&folder, &["--model", "scripted:script.json"]);
    let mut client = Client::connect(&address, "s").await;
    client.send("one", "count").await;
    client.wait("cf_agent_use_chat_response", "seq", &json!(3)).await;
    let tell = || Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(tell().success());
    // Once it accepts nobody any more it has heard.
    while TcpStream::connect(&address).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(tell().success());
    assert!(client.is_closed().await);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn an_address_that_others_reach_needs_a_token() {
    let folder = Folder::new();
    let ran = folder.command(&["serve", "--listen", "0.0.0.0:0"]).output().unwrap();
    let err = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{err}");
    assert!(err.contains("no token is set") && err.contains("--token-env"), "{err}");
    folder.write("lathe.toml", "[server]\nlisten = \"0.0.0.0:0\"\ntoken-env = \"LATHE_NO_SUCH_TOKEN\"");
    let ran = folder.command(&["serve"]).output().unwrap();
    assert!(String::from_utf8(ran.stderr).unwrap().contains("LATHE_NO_SUCH_TOKEN"));
}

/// The frames of a greeting.
async fn greeting(client: &mut Client) -> Vec<Value> {
    let mut frames: Vec<Value> = Vec::new();
    while frames.last().is_none_or(|frame| frame["type"] != "cf_agent_mcp_servers") {
        let message = timeout(PATIENCE, client.0.next()).await.unwrap().unwrap().unwrap();
        if let Message::Text(text) = message {
            frames.push(serde_json::from_str(&text).unwrap());
        }
    }
    frames
}

#[tokio::test]
async fn what_clients_share_and_the_last_failure_are_known_to_the_next_server() {
    let house = House::plain(&json!([{"text": ["part"], "streamError": "the provider broke"}])).await;
    let address = serve(&house, |server| server).await.to_string();
    let mut client = Client::connect(&address, "s").await;
    client.0.send(Message::text("{\"type\":\"cf_agent_state\",\"state\":{\"n\":1}}")).await.unwrap();
    assert_eq!(client.ask("one", "hi").await["outcome"], "error");
    client.0.close(None).await.unwrap();

    let address = serve(&house, |server| server).await.to_string();
    let mut client = Client::connect(&address, "s").await;
    let greeting = greeting(&mut client).await;
    let state = greeting.iter().find(|frame| frame["type"] == "cf_agent_state").unwrap();
    assert_eq!(state["state"], json!({"n": 1}));
    let probe = json!({"type": "cf_agent_stream_resume_request", "probeId": "p"});
    client.0.send(Message::text(probe.to_string())).await.unwrap();
    client.wait("cf_agent_stream_resuming", "id", &json!("one")).await;
    let ack = json!({"type": "cf_agent_stream_resume_ack", "id": "one"});
    client.0.send(Message::text(ack.to_string())).await.unwrap();
    let failed = client.wait("cf_agent_use_chat_response", "error", &json!(true)).await;
    assert_eq!((&failed["body"], &failed["done"]), (&json!("the provider broke"), &json!(true)));
}
