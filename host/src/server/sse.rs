//! The AI SDK's UI message stream over SSE, for clients that post (`DefaultChatTransport`).

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use uuid::Uuid;

use super::frames::{ClientFrame, Init, Unasked};
use super::hub::Order;
use super::hubs::Seat;
use super::outbox::{Frames, outbox};
use super::routes::{Shared, failed, full};
use crate::turn::Json;

/// The name by which these clients call the agent, who name none.
const AGENT: &str = "chat";

/// A client that is sent one turn. It sits in the session's hub as a connection does.
struct Listener {
    seat: Seat,
    frames: Frames,
    /// The turn; none while it is not known which one goes on.
    request: Option<String>,
    over: bool,
    _place: OwnedSemaphorePermit,
}

/// `POST /api/chat`: has a message answered. The turn goes on if the client goes away.
pub(super) async fn chat(State(shared): State<Shared>, body: Bytes) -> Response {
    let Ok(Json::Object(mut body)) = serde_json::from_slice(&body) else {
        return (StatusCode::BAD_REQUEST, "the body is to be a JSON object").into_response();
    };
    let Some(Json::String(session)) = body.remove("id") else {
        return (StatusCode::BAD_REQUEST, "the body is to name the conversation, as `id`").into_response();
    };
    body.remove("messageId");
    let init = Init::post(Json::Object(body).to_string());
    match init.asked() {
        Ok(_) => {}
        Err(Unasked::Wrong(error) | Unasked::Unreadable(error)) => {
            return (StatusCode::BAD_REQUEST, error).into_response();
        }
        Err(Unasked::Nothing) => {
            return (StatusCode::BAD_REQUEST, "the body is to have `messages`, a list").into_response();
        }
    }
    let mut listener = match listen(&shared, &session).await {
        Ok(listener) => listener,
        Err(refused) => return refused,
    };
    let id = Uuid::now_v7().to_string();
    listener.request = Some(id.clone());
    listener.order(ClientFrame::Chat { id, init }).await;
    listener.stream()
}

/// `GET /api/chat/{id}/stream`: goes on with the turn that runs; 204 if there is none.
pub(super) async fn resume(State(shared): State<Shared>, Path(session): Path<String>) -> Response {
    let mut listener = match listen(&shared, &session).await {
        Ok(listener) => listener,
        Err(refused) => return refused,
    };
    while let Some(frame) = listener.frame().await {
        match frame["type"].as_str() {
            Some("cf_agent_stream_pending") => {}
            Some("cf_agent_stream_resuming") => {
                let id = frame["id"].as_str().unwrap_or_default().to_owned();
                listener.request = Some(id.clone());
                listener.order(ClientFrame::ResumeAck { id: Some(id) }).await;
                return listener.stream();
            }
            _ => break,
        }
    }
    StatusCode::NO_CONTENT.into_response()
}

async fn listen(shared: &Shared, session: &str) -> Result<Listener, Response> {
    let Some(place) = shared.place() else { return Err(full()) };
    let (outbox, frames) = outbox(shared.limits.queued_bytes);
    match shared.hubs.join(session, None, AGENT, outbox).await {
        Ok(Some(seat)) => Ok(Listener { seat, frames, request: None, over: false, _place: place }),
        Ok(None) => Err((StatusCode::SERVICE_UNAVAILABLE, "the server stops").into_response()),
        Err(error) => Err(failed(&error)),
    }
}

impl Listener {
    async fn order(&self, frame: ClientFrame) {
        let order = Order::Frame { connection: self.seat.connection, frame };
        // A hub that is gone ends the stream.
        let _ = self.seat.orders.send(order).await;
    }

    async fn frame(&mut self) -> Option<Json> {
        serde_json::from_str(&self.frames.next().await?).ok()
    }

    /// The next events, as they are written; none once the turn is over.
    async fn next(&mut self) -> Option<String> {
        while !self.over {
            let Some(frame) = self.frame().await else { break };
            let own = frame["type"] == "cf_agent_use_chat_response"
                && frame["id"].as_str() == self.request.as_deref();
            if !own {
                continue;
            }
            let body = frame["body"].as_str().unwrap_or_default();
            let chunk = if frame["error"] == true {
                Some(json!({"type": "error", "errorText": body}).to_string())
            } else if frame["outcome"] == "aborted" {
                Some(json!({"type": "abort"}).to_string())
            } else {
                (!body.is_empty()).then(|| body.to_owned())
            };
            let mut events = chunk.map(|chunk| format!("data: {chunk}\n\n")).unwrap_or_default();
            if frame["done"] == true {
                self.over = true;
                events.push_str("data: [DONE]\n\n");
            }
            if !events.is_empty() {
                return Some(events);
            }
        }
        None
    }

    fn stream(self) -> Response {
        let events = stream::unfold(self, |mut listener| async {
            let events = listener.next().await?;
            Some((Ok::<_, std::convert::Infallible>(events), listener))
        });
        let headers = [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-cache"),
            (HeaderName::from_static("x-accel-buffering"), "no"),
            (HeaderName::from_static("x-vercel-ai-ui-message-stream"), "v1"),
        ];
        (headers, Body::from_stream(events)).into_response()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // If its orders are full, the hub finds out with the next frame.
        let _ = self.seat.orders.try_send(Order::Leave { connection: self.seat.connection });
    }
}
