//! What there is over HTTP.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{
    DefaultBodyLimit, FromRequest, Path, RawPathParams, RawQuery, Request, State, WebSocketUpgrade,
};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Extension, Router};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::access::{Access, Caller, Refusal};
use super::hub::Client;
use super::hubs::Hubs;
use super::limits::Limits;
use super::operator::Operator;
use super::outbox::outbox;
use super::token::Stay;
use super::{inspect, manage, messages, metrics, page, socket, sse, turn};
use crate::agent::{EntryError, SessionError};
use crate::store::StoreError;

/// Bytes that are read from a connection at once, and that each takes while it waits: 4 KiB. Frames may be longer.
const READ: usize = 4 << 10;

/// What every request is answered from.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) hubs: Arc<Hubs>,
    name: Option<Arc<str>>,
    pub(super) access: Arc<Access>,
    pub(super) limits: Limits,
    connections: Arc<Semaphore>,
    pub(super) operator: Option<Arc<dyn Operator>>,
}

impl Shared {
    pub(super) fn new(
        hubs: Arc<Hubs>,
        name: Option<String>,
        access: Access,
        limits: Limits,
        operator: Option<Arc<dyn Operator>>,
    ) -> Self {
        let connections = Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS)));
        Self { hubs, name: name.map(Into::into), access: Arc::new(access), limits, connections, operator }
    }

    /// Opens a session for a caller, or says why not.
    pub(super) fn place(&self, caller: &Caller, session: &str) -> Result<Place, Refusal> {
        let stay = caller.open(session)?;
        let full = (StatusCode::SERVICE_UNAVAILABLE, "too many connections");
        if !self.hubs.has_room(session) {
            return Err((StatusCode::SERVICE_UNAVAILABLE, "too many sessions are open"));
        }
        let permit = self.connections.clone().try_acquire_owned().map_err(|_| full)?;
        Ok(Place { _permit: permit, _stay: stay })
    }

    /// Connections that are open.
    pub(super) fn connected(&self) -> usize {
        self.limits
            .connections
            .min(Semaphore::MAX_PERMITS)
            .saturating_sub(self.connections.available_permits())
    }

    /// The agent's name; none if any will do.
    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn knows(&self, agent: &str) -> bool {
        self.name.as_deref().is_none_or(|name| name == agent || kebab(name) == agent)
    }
}

/// A connection's place, until it is dropped.
pub(super) struct Place {
    _permit: OwnedSemaphorePermit,
    _stay: Stay,
}

#[cfg(test)]
impl Place {
    /// The only one of a server of its own.
    pub(super) fn any() -> Self {
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        Self { _permit: permit, _stay: Caller::new(None).open("s").unwrap() }
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
        .route("/api/sessions/{session}/turns", post(turn::post))
        .route("/metrics", get(metrics::metrics))
        .route("/api/chat/{session}/stream", get(sse::resume))
        .merge(inspect::routes())
        .merge(manage::routes())
        .route_layer(middleware::from_fn_with_state(shared.limits.body, gathered))
        .layer(DefaultBodyLimit::max(shared.limits.frame_bytes))
        .fallback(|| async { nothing() })
        .route_layer(middleware::from_fn_with_state(shared.clone(), guard))
        .route("/healthz", get(|| async { "ok" }))
        .merge(page::routes(shared.clone()))
        // Outside of the guard: who asks whether it may send a token has none with it.
        .layer(shared.access.clone().cors())
        .with_state(shared)
}

fn nothing() -> Response {
    (StatusCode::NOT_FOUND, "there is nothing here").into_response()
}

/// Lets in who may come in, and says who it is.
async fn guard(
    State(shared): State<Shared>,
    params: RawPathParams,
    mut request: Request,
    next: Next,
) -> Response {
    let named = params.iter().find(|(name, _)| *name == "agent").map(|(_, agent)| agent);
    let agent = named.or(shared.name.as_deref());
    let caller = shared.access.check(request.headers(), request.uri());
    let mut response = match caller.and_then(|caller| caller.check(agent).map(|()| caller)) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    };
    // A text that says what a client has sent is no page.
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let status = response.status();
    if status.is_client_error() || status.is_server_error() {
        shared.hubs.metrics.refused(status);
    }
    response
}

fn unknown() -> Response {
    (StatusCode::BAD_REQUEST, "there is no agent of that name here").into_response()
}

/// Has the body of a request come as a whole, in time.
async fn gathered(State(patience): State<Duration>, request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let whole = Bytes::from_request(Request::from_parts(parts.clone(), body), &());
    match timeout(patience, whole).await {
        Ok(Ok(body)) => next.run(Request::from_parts(parts, body.into())).await,
        Ok(Err(refused)) => refused.into_response(),
        Err(_) => (StatusCode::REQUEST_TIMEOUT, [(header::CONNECTION, "close")], "the body takes too long")
            .into_response(),
    }
}

async fn connect(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path((agent, session)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    if !shared.knows(&agent) {
        return unknown();
    }
    match upgrade {
        Ok(upgrade) => open(&shared, &caller, &agent, &session, query.as_deref(), upgrade).await,
        Err(_) => nothing(),
    }
}

/// What there is below a session: its messages. A connection may be opened anywhere, but for agents of its own, which a
/// session has not.
async fn below(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
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
        Ok(upgrade) => open(&shared, &caller, &agent, &session, query.as_deref(), upgrade).await,
        // As in Think, the end of the path counts.
        Err(_) if path.rsplit('/').next() == Some("get-messages") => get_messages(&shared, &session).await,
        Err(_) => nothing(),
    }
}

async fn open(
    shared: &Shared,
    caller: &Caller,
    agent: &str,
    session: &str,
    query: Option<&str>,
    upgrade: WebSocketUpgrade,
) -> Response {
    let place = match shared.place(caller, session) {
        Ok(place) => place,
        Err(refusal) => return refusal.into_response(),
    };
    let (outbox, frames) = outbox(shared.limits.queued_bytes);
    // Its own id, the same for all its connections.
    let client = query.and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix("_pk=")));
    let seat = match shared.hubs.join(session, Client::Socket(client.map(str::to_owned)), agent, outbox).await
    {
        Ok(Some(seat)) => seat,
        Ok(None) => return (StatusCode::SERVICE_UNAVAILABLE, "the server stops").into_response(),
        Err(error) => return failed(&error),
    };
    let Limits { frame_bytes: bytes, idle, .. } = shared.limits;
    let upgrade = upgrade.max_message_size(bytes).max_frame_size(bytes).read_buffer_size(READ);
    upgrade.on_upgrade(move |socket| async move {
        socket::run(socket, seat, frames, idle).await;
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
