//! What the inspector asks of a server: the events of sessions, and what there is of extensions and may be changed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod access;
mod feed;
mod operator;
mod web;

use lathe::server::Server;
use lathe_tests::house::House;
use tokio::net::TcpListener;

/// A server in this process.
async fn serve(house: &House, change: impl FnOnce(Server) -> Server) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = change(Server::new(house.agent.clone()));
    tokio::spawn(server.serve(listener, std::future::pending()));
    address
}
