//! What there is, as JSON.

use axum::Extension as Of;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::server::access::Caller;
use crate::server::manage;
use crate::server::routes::{Shared, failed};

/// Lines of a log that are told unless another number is asked for.
const LINES: usize = 200;

/// `GET /api/about`.
pub(super) async fn about(State(shared): State<Shared>, Of(caller): Of<Caller>) -> Response {
    answer(&json!({
        "agent": shared.name(),
        "model": shared.hubs.agent.model(),
        "version": env!("CARGO_PKG_VERSION"),
        "operator": caller.operator && shared.operator.is_some(),
    }))
}

/// `GET /api/sessions`. Whoever else knows a session by its name may use it, and is not told the names of others'.
pub(super) async fn sessions(State(shared): State<Shared>, Of(caller): Of<Caller>) -> Response {
    if !caller.operator {
        return (StatusCode::FORBIDDEN, "only operators may list all sessions").into_response();
    }
    match shared.hubs.agent.sessions().await {
        Ok(sessions) => answer(&sessions),
        Err(error) => failed(&error),
    }
}

/// `GET /api/extensions`.
pub(super) async fn extensions(State(shared): State<Shared>) -> Response {
    let agent = &shared.hubs.agent;
    agent.refresh_health().await;
    let Some(operator) = &shared.operator else {
        let extensions = agent.extensions();
        return answer(&extensions.iter().map(|extension| extension.listing()).collect::<Vec<_>>());
    };
    match operator.extensions().await {
        Ok(extensions) => answer(&extensions),
        Err(error) => manage::refused(&error),
    }
}

/// What is wanted of a log.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wanted {
    session: Option<String>,
    request_id: Option<String>,
    limit: Option<usize>,
}

/// `GET /api/extensions/{name}/log`.
pub(super) async fn log(
    State(shared): State<Shared>,
    Of(caller): Of<Caller>,
    Path(name): Path<String>,
    Query(wanted): Query<Wanted>,
) -> Response {
    // It tells of all sessions.
    if !caller.operator {
        return (StatusCode::FORBIDDEN, "only operators may read logs").into_response();
    }
    let Some(operator) = &shared.operator else { return manage::nobody() };
    let mut lines = match operator.log(&name).await {
        Ok(lines) => lines,
        Err(error) => return manage::refused(&error),
    };
    let Wanted { session, request_id, limit } = wanted;
    lines.retain(|line| {
        session.as_ref().is_none_or(|session| *session == line.record.session)
            && request_id.as_ref().is_none_or(|id| *id == line.record.request_id)
    });
    lines.drain(..lines.len().saturating_sub(limit.unwrap_or(LINES)));
    answer(&lines)
}

fn answer(value: &impl Serialize) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    match serde_json::to_vec(value) {
        Ok(body) => (headers, body).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
