//! Tokens, and who shows them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use axum::http::StatusCode;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use super::access::Refusal;

/// What a client must show, and what it may do then: by default talk to every agent, in any number of sessions, and
/// nothing that is for operators.
#[derive(Clone)]
pub struct Token {
    /// Comparing hashes tells nothing about the token by its time.
    digest: [u8; 32],
    agents: Vec<String>,
    sessions: Option<usize>,
    operator: bool,
}

impl Token {
    /// What is to be shown: as `Authorization: Bearer TOKEN`, or as `?token=TOKEN`.
    #[must_use]
    pub fn new(token: &str) -> Self {
        Self { digest: Sha256::digest(token).into(), agents: Vec::new(), sessions: None, operator: false }
    }

    /// Lets it talk to the agent of that name alone, as in `/agents/NAME/SESSION`; may be given several times. Where a
    /// path names no agent, the [server's name](super::Server::name) counts.
    #[must_use]
    pub fn agent(mut self, name: impl Into<String>) -> Self {
        self.agents.push(name.into());
        self
    }

    /// How many sessions may be open at once by it: those that a client is connected to, or waits for. Default: any number.
    #[must_use]
    pub fn sessions(mut self, sessions: usize) -> Self {
        self.sessions = Some(sessions);
        self
    }

    /// Whether who shows it may change what the host does, such as its extensions. Default: false.
    #[must_use]
    pub fn operator(mut self, operator: bool) -> Self {
        self.operator = operator;
        self
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("agents", &self.agents)
            .field("sessions", &self.sessions)
            .field("operator", &self.operator)
            .finish_non_exhaustive()
    }
}

/// Sessions that are open, each with its connections.
type Open = Arc<Mutex<HashMap<String, usize>>>;

/// A token that clients use.
#[derive(Clone, Debug)]
pub(super) struct Held {
    token: Token,
    /// Those that are open by it.
    open: Open,
}

impl Held {
    pub(super) fn new(token: Token) -> Self {
        Self { token, open: Arc::default() }
    }

    pub(super) fn is(&self, digest: &[u8; 32]) -> bool {
        self.token.digest == *digest
    }
}

/// Who makes a request. In the extensions of every request behind the guard.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    /// Whether it may change what the host does.
    pub(super) operator: bool,
    /// None where the server has no token: then whoever reaches it may do anything.
    token: Option<Held>,
}

impl Caller {
    pub(super) fn new(token: Option<Held>) -> Self {
        Self { operator: token.as_ref().is_none_or(|held| held.token.operator), token }
    }

    /// Refuses an agent that it may not talk to; none where the path and the server name none.
    pub(super) fn check(&self, agent: Option<&str>) -> Result<(), Refusal> {
        let Some(Held { token, .. }) = &self.token else { return Ok(()) };
        if token.agents.is_empty() || token.agents.iter().any(|name| Some(&**name) == agent) {
            return Ok(());
        }
        let why = match agent {
            Some(_) => "this token is for another agent",
            None => {
                "this token is for certain agents, and this server's agent has no name: see `agent` in [server]"
            }
        };
        Err((StatusCode::FORBIDDEN, why))
    }

    /// Opens a session, until what is returned is dropped.
    pub(super) fn open(&self, session: &str) -> Result<Stay, Refusal> {
        let Some(held) = &self.token else { return Ok(Stay(None)) };
        let Some(limit) = held.token.sessions else { return Ok(Stay(None)) };
        let mut open = held.open.lock();
        if open.len() >= limit && !open.contains_key(session) {
            let why = "this token has as many sessions open as it may; close one first";
            return Err((StatusCode::TOO_MANY_REQUESTS, why));
        }
        *open.entry(session.to_owned()).or_default() += 1;
        Ok(Stay(Some((held.open.clone(), session.to_owned()))))
    }
}

/// A session that is open by a token.
#[derive(Debug)]
pub(super) struct Stay(Option<(Open, String)>);

impl Drop for Stay {
    fn drop(&mut self) {
        let Some((open, session)) = self.0.take() else { return };
        let mut open = open.lock();
        if let Some(connections) = open.get_mut(&session) {
            *connections -= 1;
            if *connections == 0 {
                open.remove(&session);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(token: Token) -> Caller {
        Caller::new(Some(Held::new(token)))
    }

    #[test]
    fn a_token_is_for_its_agents_alone() {
        let any = caller(Token::new("a"));
        assert!(any.check(None).is_ok() && any.check(Some("desk")).is_ok() && !any.operator);
        let some = caller(Token::new("a").agent("desk").agent("hall").operator(true));
        assert!(some.check(Some("hall")).is_ok() && some.operator);
        for agent in [None, Some("attic")] {
            assert_eq!(some.check(agent).unwrap_err().0, StatusCode::FORBIDDEN, "{agent:?}");
        }
        assert!(Caller::new(None).operator && Caller::new(None).check(None).is_ok());
    }

    #[test]
    fn sessions_are_counted_not_connections() {
        let caller = caller(Token::new("a").sessions(1));
        let (first, second) = (caller.open("s").unwrap(), caller.open("s").unwrap());
        assert_eq!(caller.open("t").unwrap_err().0, StatusCode::TOO_MANY_REQUESTS);
        drop(first);
        assert!(caller.open("t").is_err(), "one connection is left");
        drop(second);
        assert!(caller.open("t").is_ok());
    }

    #[test]
    fn nothing_of_a_token_is_printed() {
        let printed = format!("{:?}", caller(Token::new("s3cret")));
        assert!(!printed.contains("s3cret") && !printed.contains("digest"), "{printed}");
    }
}
