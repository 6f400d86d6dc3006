//! What clients may take of a server that others use, too: sockets, time, sessions; and that nothing that they send makes it
//! panic.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use lathe::server::{Limits, Server, Token};
use lathe::store::Store;
use lathe_tests::house::{House, says};
use lathe_tests::mutation::Mutation;
use lathe_tests::web::{PATIENCE, ask, http, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};
use tokio_util::sync::CancellationToken;

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

const SHORT: Duration = Duration::from_millis(100);

async fn connect(address: &str, session: &str) -> Socket {
    connect_async(format!("ws://{address}/agents/a/{session}")).await.unwrap().0
}

/// Sends bytes, and reads until the server closes.
async fn sent(address: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may have closed before it has read all.
    let _ = stream.write_all(bytes).await;
    rest(&mut stream).await
}

async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

/// Asks until that is the status.
async fn until(address: &str, head: &str, wanted: &str) {
    let asking = async {
        while status(&http(address, head, "").await) != wanted {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, asking).await.unwrap();
}

/// Waits until so many connections are left.
async fn connections(address: &str, wanted: usize) {
    let line = format!("lathe_connections {wanted}\n");
    let mut metrics = String::new();
    let waiting = async {
        while !metrics.contains(&line) {
            tokio::time::sleep(Duration::from_millis(10)).await;
            metrics = http(address, "GET /metrics", "").await;
        }
    };
    let waited = timeout(PATIENCE, waiting).await;
    assert!(waited.is_ok(), "not {line} in {metrics}");
}

#[tokio::test]
async fn who_takes_too_long_to_ask_is_not_waited_for() {
    let house = House::plain(&json!([says("hello")])).await;
    let limits = Limits { head: SHORT, body: SHORT, ..Limits::default() };
    let address = serve(&house, |server| server.limits(limits)).await.to_string();
    assert_eq!(sent(&address, b"").await, "");
    assert_eq!(sent(&address, b"GET /healthz HT").await, "");
    let answer = sent(&address, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert!(status(&answer) == "200" && answer.ends_with("ok"), "and nothing follows: {answer}");
    let slow = b"POST /api/chat HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{";
    let answer = sent(&address, slow).await;
    assert!(status(&answer) == "408" && answer.ends_with("the body takes too long"), "{answer}");
}

#[tokio::test]
async fn there_are_so_many_sockets_and_no_more() {
    let house = House::plain(&json!([says("hello")])).await;
    let limits = Limits { connections: 1, ..Limits::default() };
    let address = serve(&house, |server| server.limits(limits)).await.to_string();
    // What is connected counts on, though it speaks another protocol.
    let mut socket = connect(&address, "s").await;
    let mut streams = Vec::new();
    for _ in 0..64 {
        streams.push(TcpStream::connect(&address).await.unwrap());
    }
    let answer = rest(&mut TcpStream::connect(&address).await.unwrap()).await;
    assert!(status(&answer) == "503" && answer.ends_with("too many connections"), "{answer}");
    streams.pop();
    until(&address, "GET /healthz", "200").await;
    streams.push(TcpStream::connect(&address).await.unwrap());
    socket.close(None).await.unwrap();
    until(&address, "GET /healthz", "200").await;
}

#[tokio::test]
async fn who_reads_nothing_does_not_keep_a_place() {
    // More than the system takes for it.
    let house = House::plain(&json!([{"text": vec!["x".repeat(1 << 20); 12]}])).await;
    let limits = Limits { write: SHORT, ..Limits::default() };
    let address = serve(&house, |server| server.limits(limits)).await.to_string();
    let deaf = async |head: &str, body: &str| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4_096).unwrap();
        let mut stream = socket.connect(address.parse().unwrap()).await.unwrap();
        let length = body.len();
        let request = format!("{head} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    };
    let message = json!({"id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}]});
    let asking = deaf("POST /api/chat", &json!({"id": "s", "messages": [message]}).to_string()).await;
    let session = house.agent.session("s").await.unwrap();
    while session.messages().await.unwrap().len() < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    connections(&address, 0).await;
    drop(asking);
}

#[tokio::test]
async fn sessions_that_are_open_are_counted_and_names_that_are_tried_leave_nothing() {
    let house = House::plain(&json!([says("hello")])).await;
    let limits = Limits { sessions: 1, ..Limits::default() };
    let address = serve(&house, |server| server.limits(limits)).await.to_string();
    for path in ["agents/a/one/get-messages", "agents/a/two/get-messages", "api/chat/three/stream"] {
        let answer = http(&address, &format!("GET /{path}"), "").await;
        assert!(status(&answer).starts_with('2'), "{answer}");
    }
    let watch = |session: &str| format!("GET /api/sessions/{session}/events");
    let answer = http(&address, &watch("four"), "").await;
    assert!(status(&answer) == "503" && answer.ends_with("too many sessions are open"), "{answer}");
    let answer = http(&address, "POST /api/sessions/four/turns", "{\"text\": \"hi\"}").await;
    assert_eq!(status(&answer), "503");
    let mut again = ask(&address, &watch("three"), "").await;
    let mut first = [0; 12];
    again.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200", "it is open");
    let names = async || {
        let sessions = house.store.sessions().await.unwrap();
        sessions.into_iter().map(|session| session.name).collect::<Vec<_>>()
    };
    let waiting = async {
        while names().await != ["three"] {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, waiting).await.unwrap();
}

#[tokio::test]
async fn what_clients_share_has_a_largest_size() {
    let house = House::plain(&json!([says("hello")])).await;
    let address = serve(&house, |server| server).await.to_string();
    let (mut one, mut other) = (connect(&address, "s").await, connect(&address, "s").await);
    let state = |text: &str| Message::text(json!({"type": "cf_agent_state", "state": text}).to_string());
    one.send(state("small")).await.unwrap();
    one.send(state(&"x".repeat(300 << 10))).await.unwrap();
    let mut told = Vec::new();
    while let Some(Ok(message)) = timeout(PATIENCE, one.next()).await.unwrap() {
        told.push(message);
    }
    let Some(Message::Close(Some(why))) = told.last() else { return assert_eq!(told, []) };
    assert_eq!(why.reason.as_str(), "what clients share may be 256 KiB");
    other
        .send(Message::text("{\"type\":\"rpc\",\"id\":\"r\",\"method\":\"none\",\"args\":[]}"))
        .await
        .unwrap();
    let mut states = Vec::new();
    loop {
        let message = timeout(PATIENCE, other.next()).await.unwrap().unwrap().unwrap();
        let Message::Text(text) = message else { continue };
        let frame: Value = serde_json::from_str(&text).unwrap();
        match frame["type"].as_str() {
            Some("cf_agent_state") => states.push(frame["state"].clone()),
            Some("rpc") => break,
            _ => {}
        }
    }
    assert_eq!(states, ["small"]);
}

#[tokio::test]
async fn a_server_that_stops_lets_a_turn_end_and_waits_for_nobody_else() {
    let house = House::plain(&json!([{"text": ["one ", {"holdMs": 500}, "two"]}])).await;
    let stop = CancellationToken::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    // Far longer than any test may take: were one client waited for, it would be seen.
    let limits = Limits { stop: Duration::from_hours(1), head: Duration::from_hours(1), ..Limits::default() };
    let server = Server::new(house.agent.clone()).limits(limits);
    let serving = tokio::spawn(server.serve(listener, stop.clone().cancelled_owned()));
    let (mut sockets, mut streams) = (Vec::new(), Vec::new());
    for number in 0..50 {
        sockets.push(connect(&address, &format!("s{number}")).await);
        let head = format!("GET /api/sessions/s{number}/events");
        streams.push(ask(&address, &head, "").await);
        streams.push(TcpStream::connect(&address).await.unwrap());
    }
    connections(&address, 100).await;
    let turn = ask(&address, "POST /api/sessions/s/turns", "{\"text\": \"count\"}").await;
    streams.push(turn);
    while house.requests().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    stop.cancel();
    timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
    let answer = rest(streams.last_mut().unwrap()).await;
    assert!(status(&answer) == "200" && answer.contains("one two"), "{answer}");
    assert!(TcpStream::connect(&address).await.is_err(), "it listens no more");
}

#[tokio::test]
async fn an_address_that_others_reach_needs_a_token() {
    let house = House::plain(&json!([says("hello")])).await;
    let listener = async || TcpListener::bind("0.0.0.0:0").await.unwrap();
    let served = Server::new(house.agent.clone()).serve(listener().await, std::future::ready(())).await;
    assert_eq!(served.unwrap_err().to_string(), "an address that other machines reach needs a token");
    let server = Server::new(house.agent.clone()).admit(Token::new("t"));
    server.serve(listener().await, std::future::ready(())).await.unwrap();
}

/// Requests as they should be, to be spoilt.
const REQUESTS: [&str; 14] = [
    "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n",
    "GET /page/app.js HTTP/1.1\r\nhost: localhost\r\nif-none-match: \"a\", W/\"b\"\r\n\r\n",
    "GET /agents/a/s HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    "GET /agents/a/%2e%2e%2fs/get-messages HTTP/1.1\r\nhost: [::1]:80\r\norigin: http://localhost\r\n\r\n",
    "GET http://localhost/agents/../s/get-messages?token=%ff&_pk=1 HTTP/1.1\r\nhost: localhost\r\n\r\n",
    "POST /api/chat HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99\r\n\r\n{\"id\": \"s\", \"messages\": [{\"id\": \"u\", \"role\": \"user\", \"parts\": [{\"type\": \"text\", \"text\": \"hi\"}]}]}\n",
    "POST /api/sessions/s/turns HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\ne\r\n{\"text\": \"hi\"}\r\n0\r\n\r\n",
    "GET /api/chat/s/stream HTTP/1.1\r\nhost: localhost\r\nx-lathe-events: 1\r\n\r\n",
    "GET /api/sessions HTTP/1.0\r\nhost: localhost\r\n\r\n",
    "GET /api/sessions/s/events HTTP/1.1\r\nhost: localhost\r\nlast-event-id: 0-18446744073709551615\r\n\r\n",
    "GET /api/extensions/calc/log?limit=1&session=%00&requestId= HTTP/1.1\r\nhost: localhost\r\n\r\n",
    "POST /api/extensions/calc/grant HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 27\r\n\r\n{\"permissions\": [\"model\"]}\n",
    "OPTIONS /api/chat HTTP/1.1\r\nhost: localhost\r\norigin: http://localhost\r\naccess-control-request-method: POST\r\naccess-control-request-headers: a, b\r\n\r\n",
    "GET /metrics HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer \t\r\nsec-fetch-site: none\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n",
];

#[tokio::test]
async fn nothing_that_is_sent_makes_it_panic() {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let said = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        said(panic);
    }));
    let house = House::plain(&json!([says("hello")])).await;
    let limits = Limits { head: SHORT, body: SHORT, idle: SHORT, ..Limits::default() };
    let address = serve(&house, |server| server.limits(limits)).await.to_string();
    let seeds = REQUESTS.map(str::as_bytes);
    let mut requests: Vec<Vec<u8>> = seeds.iter().map(|seed| seed.to_vec()).collect();
    let mut mutation = Mutation::new(1);
    requests.extend((0..600).map(|_| mutation.of(&seeds)));
    let long = "x".repeat(70 << 10);
    for (head, wanted) in [
        (format!("GET /?{long} HTTP/1.1\r\nhost: localhost\r\n\r\n"), "414 431"),
        (format!("GET / HTTP/1.1\r\nhost: localhost\r\nx: {long}\r\n\r\n"), "431"),
        (format!("GET / HTTP/1.1\r\nhost: localhost\r\n{}\r\n", "x: y\r\n".repeat(200)), "431"),
        (format!("GET /agents/a/{}/get-messages HTTP/1.0\r\nhost: localhost\r\n\r\n", &long[..201]), "400"),
        ("GET /agents/a/%0a/get-messages HTTP/1.0\r\nhost: localhost\r\n\r\n".into(), "400"),
        ("GET /agents/a/%2e%2e/get-messages HTTP/1.0\r\nhost: localhost\r\n\r\n".into(), "200"),
    ] {
        let answer = sent(&address, head.as_bytes()).await;
        assert!(wanted.contains(status(&answer)), "{head:.99}: {answer:.99}");
    }
    let (mut answered, mut failed) = (0, Vec::new());
    let mut answers = futures::stream::iter(requests)
        .map(async |request| {
            let mut stream = TcpStream::connect(&address).await.unwrap();
            let _ = stream.write_all(&request).await;
            let mut start = [0; 12];
            // Streams go on for ever.
            let _ = timeout(PATIENCE, stream.read_exact(&mut start)).await.unwrap();
            (request, String::from_utf8_lossy(&start).into_owned())
        })
        .buffer_unordered(32);
    while let Some((request, start)) = answers.next().await {
        answered += usize::from(start.starts_with("HTTP/1."));
        if start.contains(" 500") {
            failed.push(String::from_utf8_lossy(&request).into_owned());
        }
    }
    assert_eq!(failed, [""; 0], "what a client sends is no fault of the server's");
    assert!(answered > 300, "{answered} answers");
    assert_eq!(PANICS.load(Ordering::Relaxed), 0);
    until(&address, "GET /healthz", "200").await;
}
