//! The AI SDK's UI message stream over SSE, for clients that post (`DefaultChatTransport`).

use std::fmt::Display;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde_json::json;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::access::Caller;
use super::decisions::{Decision, decisions};
use super::frames::{ClientFrame, Init, Unasked};
use super::hub::{Client, Order};
use super::hubs::Seat;
use super::outbox::{Frames, outbox};
use super::routes::{Place, Shared, failed};
use crate::turn::Json;

/// The name by which these clients call the agent, who name none.
const AGENT: &str = "chat";

/// The end of a stream.
const DONE: &str = "data: [DONE]\n\n";

/// A request that has it is also told what happens around the answer, in `data-*` parts.
const EVENTS: HeaderName = HeaderName::from_static("x-lathe-events");

/// A client that is sent one turn. It sits in the session's hub as a connection does.
struct Listener {
    seat: Seat,
    frames: Frames,
    /// The turn; none until it is known, then the next that continues an answer.
    request: Option<String>,
    /// Calls of which the client is to be told that they do not run.
    denied: Vec<String>,
    over: bool,
    _place: Place,
}

/// `POST /api/chat`: has a message answered. The turn goes on if the client goes away.
pub(super) async fn chat(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Ok(Json::Object(mut body)) = serde_json::from_slice(&body) else {
        return (StatusCode::BAD_REQUEST, "the body is to be a JSON object").into_response();
    };
    let Some(Json::String(session)) = body.remove("id") else {
        return (StatusCode::BAD_REQUEST, "the body is to name the conversation, as `id`").into_response();
    };
    body.remove("messageId");
    let init = Init::post(Json::Object(body).to_string());
    let asked = match init.asked() {
        Ok(asked) => asked,
        Err(Unasked::Wrong(error) | Unasked::Unreadable(error)) => {
            return (StatusCode::BAD_REQUEST, error).into_response();
        }
        Err(Unasked::Nothing) => {
            return (StatusCode::BAD_REQUEST, "the body is to have `messages`, a list").into_response();
        }
    };
    let mut listener = match listen(&shared, &caller, &session, &headers).await {
        Ok(listener) => listener,
        Err(refused) => return refused,
    };
    if !asked.regenerate {
        let stored = match shared.hubs.agent.session(&session).await {
            Ok(session) => session.messages().await.unwrap_or_default(),
            Err(error) => return failed(&error),
        };
        let decisions = decisions(&stored, &asked.messages);
        if !decisions.is_empty() {
            return listener.decide(decisions).await;
        }
    }
    let id = Uuid::now_v7().to_string();
    listener.request = Some(id.clone());
    listener.order(ClientFrame::Chat { id, init }).await;
    listener.stream()
}

/// `GET /api/chat/{id}/stream`: goes on with the turn that runs; 204 if there is none.
pub(super) async fn resume(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path(session): Path<String>,
    headers: HeaderMap,
) -> Response {
    let mut listener = match listen(&shared, &caller, &session, &headers).await {
        Ok(listener) => listener,
        Err(refused) => return refused,
    };
    if listener.follow().await { listener.stream() } else { StatusCode::NO_CONTENT.into_response() }
}

async fn listen(
    shared: &Shared,
    caller: &Caller,
    session: &str,
    headers: &HeaderMap,
) -> Result<Listener, Response> {
    let place = shared.place(caller, session).map_err(IntoResponse::into_response)?;
    let (outbox, frames) = outbox(shared.limits.queued_bytes);
    let client = Client::Posted { observes: headers.contains_key(EVENTS) };
    match shared.hubs.join(session, client, AGENT, outbox).await {
        Ok(Some(seat)) => {
            Ok(Listener { seat, frames, request: None, denied: Vec::new(), over: false, _place: place })
        }
        Ok(None) => Err((StatusCode::SERVICE_UNAVAILABLE, "the server stops").into_response()),
        Err(error) => Err(failed(&error)),
    }
}

impl Listener {
    async fn order(&self, frame: ClientFrame) {
        // A hub that is gone ends the stream. What was posted is bounded by how many may post.
        self.seat.say(frame, 0).await;
    }

    /// Has the conversation go on with what people have decided.
    async fn decide(mut self, decisions: Vec<Decision>) -> Response {
        let denied = decisions.iter().filter(|decision| !decision.approved);
        self.denied = denied.map(|decision| decision.tool_call_id.clone()).collect();
        let (goes_on, answer) = oneshot::channel();
        let _ = self.seat.orders.send(Order::Decide { decisions, goes_on }).await;
        if answer.await.unwrap_or_default() { self.stream() } else { events(Body::from(DONE)) }
    }

    /// Attaches to the turn that runs; false if there is none.
    async fn follow(&mut self) -> bool {
        self.order(ClientFrame::ResumeRequest { probe_id: None }).await;
        while let Some(frame) = self.frame().await {
            match frame["type"].as_str() {
                Some("cf_agent_stream_resuming") => {
                    let id = frame["id"].as_str().unwrap_or_default().to_owned();
                    self.request = Some(id.clone());
                    self.order(ClientFrame::ResumeAck { id: Some(id) }).await;
                    return true;
                }
                Some("cf_agent_stream_resume_none") => break,
                _ => {}
            }
        }
        false
    }

    async fn frame(&mut self) -> Option<Json> {
        serde_json::from_str(&self.frames.next().await?).ok()
    }

    /// The next events, as they are written; none once the turn is over.
    async fn next(&mut self) -> Option<String> {
        while !self.over {
            let Some(frame) = self.frame().await else { break };
            let known = match &self.request {
                Some(request) => frame["id"] == **request,
                None => frame["continuation"] == true,
            };
            if frame["type"] != "cf_agent_use_chat_response" || !known {
                continue;
            }
            self.request = frame["id"].as_str().map(str::to_owned);
            let body = frame["body"].as_str().unwrap_or_default();
            let chunk = if frame["error"] == true {
                Some(json!({"type": "error", "errorText": body}).to_string())
            } else if frame["outcome"] == "aborted" {
                Some(json!({"type": "abort"}).to_string())
            } else {
                (!body.is_empty()).then(|| body.to_owned())
            };
            let mut events = chunk.map(event).unwrap_or_default();
            for id in std::mem::take(&mut self.denied) {
                events += &event(json!({"type": "tool-output-denied", "toolCallId": id}));
            }
            if frame["done"] == true {
                self.over = true;
                events.push_str(DONE);
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
        self::events(Body::from_stream(events))
    }
}

fn event(chunk: impl Display) -> String {
    format!("data: {chunk}\n\n")
}

fn events(body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
        (HeaderName::from_static("x-vercel-ai-ui-message-stream"), "v1"),
    ];
    (headers, body).into_response()
}
