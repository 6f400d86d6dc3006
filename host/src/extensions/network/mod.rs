//! What an extension reaches through `wasi:http`: the operator's rules, and the client that keeps to them.
//!
//! Whether a request may go out is decided by plain functions ([`Policy`], [`HostPattern`], `address`) that do nothing
//! else. The client asks them twice: with the request, and with the addresses that its host has. It connects to one of
//! the addresses that were checked and looks no name up again.

mod address;
mod body;
mod client;
#[cfg(feature = "fuzzing")]
pub(super) mod fuzzing;
mod grant;
mod host;
mod outgoing;
mod policy;
mod resolver;
mod transport;

pub use grant::{HeaderName, HostGrant, Method, SecretHeader};
pub use host::HostPattern;
pub(super) use outgoing::{Network, Outgoing};
pub(super) use policy::Policy;
pub use resolver::Resolver;
pub(super) use resolver::SystemResolver;
pub use transport::Transport;
