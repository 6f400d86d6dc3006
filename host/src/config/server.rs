use std::net::SocketAddr;
use std::num::{NonZeroU32, NonZeroUsize};

use serde::Deserialize;

/// `[server]`: what `lathe serve` listens on, and whom it lets in.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Server {
    /// The address. Default: `127.0.0.1:8787`.
    pub listen: Option<SocketAddr>,
    /// The agent's name in the path; any, unless set.
    pub agent: Option<String>,
    /// The variable with a token that clients may show, who may then do anything. An address that other machines reach
    /// needs this or one of `tokens`.
    pub token_env: Option<String>,
    /// More tokens, each with what it may do.
    pub tokens: Vec<ServerToken>,
    /// The origins of web pages that are let in, beside those from the server's own address.
    pub origins: Vec<String>,
    /// Connections of all sessions together. Default: 1,024.
    pub connections: Option<NonZeroUsize>,
    /// Sessions that are open, or were within five minutes. Default: 2,048.
    pub sessions: Option<NonZeroUsize>,
    /// Bytes of one frame, or of one posted request, from a client. Default: 8 MiB.
    pub frame_bytes: Option<NonZeroUsize>,
    /// Bytes that wait for a client that reads slowly; one that lets more gather is dropped. Default: 16 MiB.
    pub queued_bytes: Option<NonZeroUsize>,
    /// Requests of one session that wait for their turn. Default: 64.
    pub requests: Option<NonZeroUsize>,
    /// Seconds for which nothing may be said over a WebSocket; then it is closed. Default: 3,600.
    pub idle_timeout_s: Option<NonZeroU32>,
    /// Seconds that turns which run may take to end when the server stops; 0 for none. Default: 10.
    pub stop_timeout_s: Option<u32>,
}

/// `[[server.tokens]]`: a token, and what who shows it may do.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ServerToken {
    /// The variable that holds it.
    pub env: String,
    /// The agents that it is for, by their names in the path. Default: any.
    #[serde(default)]
    pub agents: Vec<String>,
    /// Sessions that it may have open at once. Default: any number.
    #[serde(default)]
    pub sessions: Option<NonZeroUsize>,
    /// Whether it may change what the host does, such as its extensions. Default: false.
    #[serde(default)]
    pub operator: bool,
}
