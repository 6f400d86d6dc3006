//! What operators do with extensions.

use std::sync::Arc;

use axum::Extension as Of;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde::Deserialize;

use super::access::{Caller, is_own};
use super::operator::{Operator, OperatorError};
use super::routes::Shared;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/api/extensions/{name}/enable", post(enable))
        .route("/api/extensions/{name}/disable", post(disable))
        .route("/api/extensions/{name}/reset", post(reset))
        .route("/api/extensions/{name}/grant", post(grant))
        .route("/api/extensions/{name}/revoke", post(revoke))
        .route_layer(middleware::from_fn(own_pages))
}

/// Keeps out what a web page from elsewhere can have a browser send, whatever origins the chat is open to.
async fn own_pages(request: Request, next: Next) -> Response {
    let headers = request.headers();
    if !is_own(headers) {
        return (StatusCode::FORBIDDEN, "only the server's own page may change extensions").into_response();
    }
    if headers.contains_key(header::CONTENT_TYPE) && !is_json(headers) {
        return (StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body is to be application/json").into_response();
    }
    next.run(request).await
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

/// The operator, for who may call upon it.
struct Acting(Arc<dyn Operator>);

impl FromRequestParts<Shared> for Acting {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Response> {
        let caller =
            Of::<Caller>::from_request_parts(parts, shared).await.map_err(IntoResponse::into_response)?;
        if !caller.operator {
            return Err((StatusCode::FORBIDDEN, "only operators may change extensions").into_response());
        }
        shared.operator.clone().map(Self).ok_or_else(nobody)
    }
}

async fn enable(Acting(operator): Acting, Path(name): Path<String>) -> Response {
    done(operator.enable(&name, true).await)
}

async fn disable(Acting(operator): Acting, Path(name): Path<String>) -> Response {
    done(operator.enable(&name, false).await)
}

async fn reset(Acting(operator): Acting, Path(name): Path<String>) -> Response {
    done(operator.reset(&name).await)
}

/// The body of `grant` and `revoke`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    permissions: Vec<String>,
}

impl FromRequest<Shared> for Named {
    type Rejection = Response;

    async fn from_request(request: Request, shared: &Shared) -> Result<Self, Response> {
        let bad = |why: String| (StatusCode::BAD_REQUEST, why).into_response();
        if !is_json(request.headers()) {
            let why = "the body is to be application/json";
            return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, why).into_response());
        }
        let body = Bytes::from_request(request, shared).await.map_err(IntoResponse::into_response)?;
        let named: Self = serde_json::from_slice(&body)
            .map_err(|error| bad(format!("the body is to be {{\"permissions\": [\"…\"]}}: {error}")))?;
        if named.permissions.is_empty() {
            return Err(bad("`permissions` is to name at least one".into()));
        }
        Ok(named)
    }
}

async fn grant(Acting(operator): Acting, Path(name): Path<String>, named: Named) -> Response {
    done(operator.grant(&name, &named.permissions).await)
}

async fn revoke(Acting(operator): Acting, Path(name): Path<String>, named: Named) -> Response {
    done(operator.revoke(&name, &named.permissions).await)
}

fn done(done: Result<(), OperatorError>) -> Response {
    match done {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => refused(&error),
    }
}

pub(super) fn refused(error: &OperatorError) -> Response {
    let status = match error {
        OperatorError::NotFound(_) => StatusCode::NOT_FOUND,
        OperatorError::Refused(_) => StatusCode::UNPROCESSABLE_ENTITY,
        OperatorError::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    (status, error.to_string()).into_response()
}

/// There is no operator to call upon.
pub(super) fn nobody() -> Response {
    (StatusCode::NOT_FOUND, "the program that runs this server manages its extensions itself").into_response()
}
