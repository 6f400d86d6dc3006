//! What the inspector is told: the events of sessions, and what there is of sessions and extensions.

mod about;
mod events;
mod feed;
mod memory;
mod weight;

use axum::Router;
use axum::routing::get;

use super::routes::Shared;
pub(super) use feed::Feed;

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/api/about", get(about::about))
        .route("/api/sessions", get(about::sessions))
        .route("/api/sessions/{session}/events", get(events::events))
        .route("/api/extensions", get(about::extensions))
        .route("/api/extensions/{name}/log", get(about::log))
}
