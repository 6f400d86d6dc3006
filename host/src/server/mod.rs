//! An agent for clients: Think's frames over WebSocket (`think.md` §6), and the AI SDK's stream over SSE.
//!
//! May use `agent`, `turn` for what messages and chunks are, and `logs` for the lines of extensions' logs. Each session that
//! somebody is connected to has a hub, a task that alone speaks to its connections; so nothing that comes from the wire
//! reaches another session, and frames have one order.

mod access;
mod chunks;
mod decisions;
mod door;
mod frames;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod hub;
mod hubs;
mod inspect;
mod limits;
mod manage;
mod messages;
mod metrics;
mod operator;
mod outbox;
mod page;
mod patient;
mod routes;
mod socket;
mod sse;
mod stream;
mod token;
mod turn;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use limits::Limits;
pub use operator::{Operator, OperatorError};
pub use token::Token;

use crate::agent::Agent;
use access::Access;
use hubs::Hubs;
use routes::Shared;

/// Serves an agent to clients.
///
/// ```no_run
/// # async fn example(agent: lathe::Agent) -> std::io::Result<()> {
/// use lathe::server::Server;
///
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8787").await?;
/// Server::new(agent).serve(listener, async { drop(tokio::signal::ctrl_c().await) }).await
/// # }
/// ```
#[derive(Clone)]
pub struct Server {
    agent: Agent,
    name: Option<String>,
    access: Access,
    limits: Limits,
    operator: Option<Arc<dyn Operator>>,
}

impl Server {
    /// A server for that agent, for clients on this machine; on an address that others reach it needs a token.
    #[must_use]
    pub fn new(agent: Agent) -> Self {
        Self { agent, name: None, access: Access::default(), limits: Limits::default(), operator: None }
    }

    /// The name in the path, as in `/agents/NAME/SESSION`; unless set, any name is this agent's.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// What every client must show: as `Authorization: Bearer TOKEN`, or as `?token=TOKEN`, since a browser's WebSocket
    /// cannot set a header. Who shows it may do anything, operators' affairs included; for less see [`admit`](Self::admit).
    #[must_use]
    pub fn token(self, token: &str) -> Self {
        self.admit(Token::new(token).operator(true))
    }

    /// Lets in who shows that token, too. May be given several times.
    #[must_use]
    pub fn admit(mut self, token: Token) -> Self {
        self.access = self.access.token(token);
        self
    }

    /// Lets web pages of that origin in, such as `https://chat.example.org`, beside those that come from the server's own
    /// address. May be given several times.
    #[must_use]
    pub fn origin(mut self, origin: &str) -> Self {
        self.access = self.access.origin(origin);
        self
    }

    /// What a client may use.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Who changes extensions where a client asks for it; nobody unless set.
    #[must_use]
    pub fn operator(mut self, operator: Arc<dyn Operator>) -> Self {
        self.operator = Some(operator);
        self
    }

    /// Takes up what an earlier process has left, then serves until `stop` is done. Turns that run then have
    /// [`Limits::stop`] to end; those that do not are taken up by the next process.
    ///
    /// # Errors
    ///
    /// If the listener has an address that other machines reach and the server no token, or the sessions that were
    /// interrupted cannot be listed.
    pub async fn serve(
        self,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let access = self.access.on(listener.local_addr()?);
        if access.is_open_to_all() {
            let why = "an address that other machines reach needs a token";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let stopping = CancellationToken::new();
        let hubs = Arc::new(Hubs::new(self.agent.clone(), self.limits, stopping.clone()));
        let interrupted = self.agent.interrupted().await.map_err(io::Error::other)?;
        let unattended = tokio::spawn(take_up(hubs.clone(), interrupted, self.limits.unattended));
        let shared = Shared::new(hubs.clone(), self.name, access, self.limits, self.operator);
        let serving = door::serve(listener, routes::routes(shared), self.limits, stopping.clone());
        let own = stopping.clone();
        let late = async {
            stop.await;
            own.cancel();
            tokio::time::sleep(self.limits.stop).await;
        };
        // A client that says nothing does not hold the server up.
        let serving = std::pin::pin!(serving);
        let late = std::pin::pin!(late);
        futures::future::select(serving, late).await;
        stopping.cancel();
        unattended.abort();
        hubs.close().await;
        Ok(())
    }
}

/// Takes up what an earlier process has left in sessions, once their clients have had the time to come back.
async fn take_up(hubs: Arc<Hubs>, interrupted: Vec<String>, wait: Duration) {
    if interrupted.is_empty() {
        return;
    }
    tokio::time::sleep(wait).await;
    for name in interrupted {
        match hubs.agent.asleep(&name).await {
            Ok(session) => hubs.wake(session).await,
            Err(error) => tracing::error!("an interrupted session is left alone: {error}"),
        }
    }
}
