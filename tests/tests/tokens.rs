//! Several tokens, each with what it may do, and the limits of `lathe.toml`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStderr, Stdio};
use std::time::Duration;

use futures::StreamExt;
use lathe::server::{Limits, Token};
use lathe_tests::binary::Folder;
use lathe_tests::house::{House, says};
use lathe_tests::web::{PATIENCE, http, serve};
use serde_json::json;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

type Socket = WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>;

/// A connection, or the status and the sentence with which it is refused.
async fn connect(url: String) -> Result<Socket, (u16, String)> {
    match connect_async(url).await {
        Ok((socket, _)) => Ok(socket),
        Err(tungstenite::Error::Http(answer)) => {
            let said = answer.body().as_deref().unwrap_or_default();
            Err((answer.status().as_u16(), String::from_utf8_lossy(said).into_owned()))
        }
        Err(error) => Err((0, error.to_string())),
    }
}

/// Reads on until the server closes it: why.
async fn closed(socket: &mut Socket) -> String {
    loop {
        let message = timeout(PATIENCE, socket.next()).await.unwrap().unwrap().unwrap();
        if let Message::Close(frame) = message {
            return frame.unwrap().reason.to_string();
        }
    }
}

async fn status(address: &str, head: &str) -> String {
    http(address, head, "").await.split(' ').nth(1).unwrap().to_owned()
}

#[tokio::test]
async fn each_token_has_its_agents_and_its_sessions() {
    let house = House::plain(&json!([says("hello")])).await;
    let address = serve(&house, |server| {
        let server = server.token("all").admit(Token::new("desk").agent("desk").sessions(1));
        server.admit(Token::new("attic").agent("attic"))
    });
    let address = address.await.to_string();
    let url = |rest: &str, token: &str| format!("ws://{address}/agents/{rest}?token={token}");
    assert_eq!(connect(url("desk/s", "wrong")).await.unwrap_err().0, 401);
    let (status_code, said) = connect(url("desk/s", "attic")).await.unwrap_err();
    assert_eq!((status_code, &*said), (403, "this token is for another agent"));

    let mut first = connect(url("desk/s", "desk")).await.unwrap();
    let second = connect(url("desk/s", "desk")).await.unwrap();
    let (status_code, said) = connect(url("desk/t", "desk")).await.unwrap_err();
    assert!(status_code == 429 && said.contains("as many sessions open"), "{status_code} {said}");
    assert!(connect(url("desk/t", "all")).await.is_ok(), "another token's are another's");
    first.close(None).await.unwrap();
    drop((first, second));
    let mut again = connect(url("desk/t", "desk")).await;
    while again.is_err() {
        // The server finds out in its own time.
        tokio::time::sleep(Duration::from_millis(10)).await;
        again = timeout(PATIENCE, connect(url("desk/t", "desk"))).await.unwrap();
    }

    for (path, token, expected) in [
        ("/metrics", "all", "200"),
        ("/metrics", "wrong", "401"),
        // Where neither the path nor the server names an agent, a token for certain agents is for none.
        ("/metrics", "desk", "403"),
        ("/api/chat/s/stream", "desk", "403"),
        ("/agents/desk/s/get-messages", "desk", "200"),
        ("/agents/%64esk/s/get-messages", "desk", "200"),
        ("/agents/attic/s/get-messages", "desk", "403"),
    ] {
        let head = format!("GET {path}\nauthorization: Bearer {token}");
        assert_eq!(status(&address, &head).await, expected, "{path} {token}");
    }
    assert_eq!(status(&address, "GET /metrics").await, "401");
}

#[tokio::test]
async fn a_server_with_a_name_has_its_tokens_for_every_path() {
    let house = House::plain(&json!([says("hello")])).await;
    let token = Token::new("desk").agent("desk").sessions(1);
    let address = serve(&house, |server| server.name("desk").admit(token)).await.to_string();
    assert_eq!(status(&address, "GET /metrics?token=desk").await, "200");
    for others in ["/api/sessions", "/api/extensions/calc/log"] {
        assert_eq!(
            status(&address, &format!("GET {others}?token=desk")).await,
            "403",
            "{others} tells of all sessions"
        );
    }
    let turn = |session: &str| format!("POST /api/sessions/{session}/turns?token=desk");
    let _open = connect(format!("ws://{address}/agents/desk/s?token=desk")).await.unwrap();
    let said = http(&address, &turn("s"), "{\"text\": \"hi\"}").await;
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    let said = http(&address, &turn("t"), "{\"text\": \"hi\"}").await;
    assert!(said.starts_with("HTTP/1.1 429"), "{said}");
}

#[tokio::test]
async fn a_connection_over_which_nothing_is_said_is_closed() {
    let house = House::plain(&json!([says("hello")])).await;
    let limits = Limits { idle: Duration::from_millis(100), ..Limits::default() };
    let address = serve(&house, |server| server.limits(limits)).await;
    let mut socket = connect(format!("ws://{address}/agents/a/s")).await.unwrap();
    assert_eq!(closed(&mut socket).await, "nothing was said for too long");
}

const CONFIG: &str = "\
[server]
listen = \"127.0.0.1:0\"
agent = \"desk\"
token-env = \"OWNER\"
frame-bytes = 2_000
connections = 1
idle-timeout-s = 1_000
stop-timeout-s = 0

[[server.tokens]]
env = \"DESK\"
agents = [\"desk\"]
sessions = 1

[[server.tokens]]
env = \"ATTIC\"
agents = [\"attic\"]
";

/// A server, where it listens, and the rest of what it says.
fn start(folder: &Folder) -> (Child, String, Lines<BufReader<ChildStderr>>) {
    let mut command = folder.command(&["serve"]);
    command.env("OWNER", "owner-s3cret").env("DESK", "desk-s3cret").env("ATTIC", "attic-s3cret");
    // All that any library would ever say.
    command.env("LATHE_LOG", "trace");
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let said = lines.by_ref().map(Result::unwrap).find(|line| line.contains("http://")).unwrap();
    let address = said.split("http://").nth(1).unwrap().split(',').next().unwrap().to_owned();
    (child, address, lines)
}

#[tokio::test]
async fn tokens_and_limits_are_set_in_the_configuration_and_tokens_are_never_logged() {
    let folder = Folder::new();
    folder.write("lathe.toml", CONFIG);
    let (mut child, address, log) = start(&folder);
    let reading = std::thread::spawn(move || log.map(Result::unwrap).collect::<Vec<_>>().join("\n"));
    let url = |session: &str, token: &str| format!("ws://{address}/agents/desk/{session}?token={token}");
    assert_eq!(connect(url("s", "attic-s3cret")).await.unwrap_err().0, 403);
    assert_eq!(connect(url("s", "wrong-s3cret")).await.unwrap_err().0, 401);
    let turn = "POST /api/sessions/s/turns?token=desk-s3cret";
    let said = http(&address, turn, "{\"text\": \"hi\"}").await;
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    let open = connect(url("s", "desk-s3cret")).await.unwrap();
    assert_eq!(connect(url("t", "desk-s3cret")).await.unwrap_err().0, 429);
    assert_eq!(connect(url("t", "owner-s3cret")).await.unwrap_err().0, 503, "one connection");
    let long = format!("{{\"text\": \"{}\"}}", "x".repeat(3_000));
    let said = http(&address, "POST /api/sessions/s/turns?token=owner-s3cret", &long).await;
    assert!(said.starts_with("HTTP/1.1 413"), "{said}");
    drop(open);
    child.kill().unwrap();
    child.wait().unwrap();
    let log = reading.join().unwrap();
    assert!(log.contains("chat:turn:finish"), "the log was on: {log}");
    assert!(!log.contains("s3cret"), "{log}");
}

#[test]
fn what_is_wrong_with_tokens_is_said() {
    let folder = Folder::new();
    folder.write("lathe.toml", "[[server.tokens]]\nenv = \"LATHE_NO_SUCH_TOKEN\"");
    let ran = folder.lathe(&["serve"]);
    assert!(ran.code == Some(2) && ran.err.contains("LATHE_NO_SUCH_TOKEN"), "{}", ran.err);
    folder.write("lathe.toml", "[[server.tokens]]\nagents = [\"a\"]");
    assert!(folder.lathe(&["serve"]).err.contains("missing key `env`"));
    folder.write("lathe.toml", "[server]\ntoken-env = \"A\"\n[[server.tokens]]\nenv = \"B\"");
    let ran = folder.command(&["serve"]).env("A", "same").env("B", "same").output().unwrap();
    assert!(String::from_utf8(ran.stderr).unwrap().contains("A and B hold one token"));
}
