//! A server in the test's own process, and plain requests to it.

#![allow(clippy::expect_used, reason = "for tests alone")]

use std::net::SocketAddr;
use std::time::Duration;

use lathe::server::Server;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::house::House;

/// How long nothing at all may be heard.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Serves the house's agent, as long as the test runs.
///
/// # Panics
///
/// If there is no port; so for the ones below.
pub async fn serve(house: &House, change: impl FnOnce(Server) -> Server) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = change(Server::new(house.agent.clone()));
    tokio::spawn(server.serve(listener, std::future::pending()));
    address
}

/// What is answered over HTTP, head and all. `head` is the method and the path, and headers on lines of their own.
///
/// # Panics
///
/// If nothing is answered.
pub async fn http(address: &str, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(request(address, head, body).as_bytes()).await.expect("it is sent");
    let mut answer = String::new();
    let read = timeout(PATIENCE, stream.read_to_string(&mut answer)).await;
    read.expect("an answer").expect("a text");
    answer
}

/// Asks, and does not wait for an answer: dropping the stream goes away.
///
/// # Panics
///
/// If there is no server.
pub async fn ask(address: &str, head: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(request(address, head, body).as_bytes()).await.expect("it is sent");
    stream
}

fn request(address: &str, head: &str, body: &str) -> String {
    let (line, headers) = head.split_once('\n').unwrap_or((head, ""));
    let headers: String = headers.lines().map(|header| format!("{header}\r\n")).collect();
    let length = body.len();
    format!(
        "{line} HTTP/1.1\r\nhost: {address}\r\n{headers}connection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}
