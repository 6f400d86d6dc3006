use std::net::SocketAddr;

use serde::Deserialize;

/// `[server]`: what `lathe serve` listens on, and whom it lets in.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Server {
    /// The address. Default: `127.0.0.1:8787`.
    pub listen: Option<SocketAddr>,
    /// The agent's name in the path; any, unless set.
    pub agent: Option<String>,
    /// The variable with the token that clients must show; needed on an address that other machines reach.
    pub token_env: Option<String>,
    /// The origins of web pages that are let in, beside those from the server's own address.
    pub origins: Vec<String>,
}
