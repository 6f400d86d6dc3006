//! What there is over HTTP.

use std::sync::Arc;

use axum::Router;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{DefaultBodyLimit, Path, RawQuery, Request, State, WebSocketUpgrade};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::access::Access;
use super::hubs::Hubs;
use super::limits::Limits;
use super::outbox::outbox;
use super::{messages, socket, sse};
use crate::agent::{EntryError, SessionError};
use crate::store::StoreError;

/// What every request is answered from.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) hubs: Arc<Hubs>,
    name: Option<Arc<str>>,
    access: Arc<Access>,
    pub(super) limits: Limits,
    connections: Arc<Semaphore>,
}

impl Shared {
    pub(super) fn new(hubs: Arc<Hubs>, name: Option<String>, access: Access, limits: Limits) -> Self {
        let connections = Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS)));
        Self { hubs, name: name.map(Into::into), access: Arc::new(access), limits, connections }
    }

    /// A connection's place; none if there is none left.
    pub(super) fn place(&self) -> Option<OwnedSemaphorePermit> {
        self.connections.clone().try_acquire_owned().ok()
    }

    fn knows(&self, agent: &str) -> bool {
        self.name.as_deref().is_none_or(|name| name == agent || kebab(name) == agent)
    }
}

/// A class's name as clients write it in an address: `my-agent` for `MyAgent`.
fn kebab(name: &str) -> String {
    let shouted = !name.chars().any(char::is_lowercase);
    let mut written = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !shouted {
            written.push('-');
        }
        written.extend(letter.to_lowercase());
    }
    written.replace('_', "-").trim_matches('-').to_owned()
}

pub(super) fn routes(shared: Shared) -> Router {
    Router::new()
        .route("/agents/{agent}/{session}", any(connect))
        .route("/agents/{agent}/{session}/{*path}", any(below))
        .route("/api/chat", post(sse::chat))
        .route("/api/chat/{session}/stream", get(sse::resume))
        .layer(DefaultBodyLimit::max(shared.limits.frame_bytes))
        .fallback(|| async { nothing() })
        .route_layer(middleware::from_fn_with_state(shared.clone(), guard))
        .route("/healthz", get(|| async { "ok" }))
        .with_state(shared)
}

pub(super) fn full() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, "too many connections").into_response()
}

fn nothing() -> Response {
    (StatusCode::NOT_FOUND, "there is nothing here").into_response()
}

async fn guard(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    match shared.access.check(request.headers(), request.uri()) {
        Ok(()) => next.run(request).await,
        Err((status, why)) => (status, why).into_response(),
    }
}

fn unknown() -> Response {
    (StatusCode::BAD_REQUEST, "there is no agent of that name here").into_response()
}

async fn connect(
    State(shared): State<Shared>,
    Path((agent, session)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    if !shared.knows(&agent) {
        return unknown();
    }
    match upgrade {
        Ok(upgrade) => open(&shared, &agent, &session, query.as_deref(), upgrade).await,
        Err(_) => nothing(),
    }
}

/// What there is below a session: its messages. A connection may be opened anywhere, but for agents of its own, which a
/// session has not.
async fn below(
    State(shared): State<Shared>,
    Path((agent, session, path)): Path<(String, String, String)>,
    RawQuery(query): RawQuery,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    if !shared.knows(&agent) {
        return unknown();
    }
    if path == "sub" || path.starts_with("sub/") {
        return (StatusCode::NOT_FOUND, "a session has no agents of its own here").into_response();
    }
    match upgrade {
        Ok(upgrade) => open(&shared, &agent, &session, query.as_deref(), upgrade).await,
        // As in Think, the end of the path counts.
        Err(_) if path.rsplit('/').next() == Some("get-messages") => get_messages(&shared, &session).await,
        Err(_) => nothing(),
    }
}

async fn open(
    shared: &Shared,
    agent: &str,
    session: &str,
    query: Option<&str>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let Some(place) = shared.place() else { return full() };
    let (outbox, frames) = outbox(shared.limits.queued_bytes);
    // Its own id, the same for all its connections.
    let client = query.and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix("_pk=")));
    let seat = match shared.hubs.join(session, client.map(str::to_owned), agent, outbox).await {
        Ok(Some(seat)) => seat,
        Ok(None) => return (StatusCode::SERVICE_UNAVAILABLE, "the server stops").into_response(),
        Err(error) => return failed(&error),
    };
    let bytes = shared.limits.frame_bytes;
    upgrade.max_message_size(bytes).max_frame_size(bytes).on_upgrade(|socket| async move {
        socket::run(socket, seat, frames).await;
        drop(place);
    })
}

async fn get_messages(shared: &Shared, session: &str) -> Response {
    let session = match shared.hubs.agent.asleep(session).await {
        Ok(session) => session,
        Err(error) => return failed(&error),
    };
    if session.sleeps() {
        shared.hubs.wake(session.clone()).await;
    }
    match session.messages().await {
        Ok(stored) => {
            let json = [(header::CONTENT_TYPE, "application/json")];
            (json, messages::messages(&stored).to_string()).into_response()
        }
        Err(EntryError::Store(error)) => failed(&error.into()),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// What is wrong with a session; details of the store are for the log alone.
pub(super) fn failed(error: &SessionError) -> Response {
    match error {
        SessionError::Name(_) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
        SessionError::Store(StoreError::Held { .. }) | SessionError::InUse(_) => {
            (StatusCode::CONFLICT, "the session is in use by another process").into_response()
        }
        SessionError::Hook(_) | SessionError::Store(_) => {
            tracing::error!("a session cannot be opened: {error}");
            (StatusCode::INTERNAL_SERVER_ERROR, "the session cannot be opened").into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::kebab;

    #[test]
    fn classes_are_addressed_in_small_letters() {
        for (name, address) in [
            ("MyAgent", "my-agent"),
            ("chat", "chat"),
            ("MY_AGENT", "my-agent"),
            ("chat_Agent_", "chat--agent"),
        ] {
            assert_eq!(kebab(name), address);
        }
    }
}
