//! One turn as plain JSON, for programs that want the answer and no stream.

use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::access::Caller;
use super::hub::{Order, Refused};
use super::routes::{Shared, failed};
use super::{frames, messages};
use crate::agent::{ChatRequest, TurnResult, TurnStream};
use crate::turn::{Json, Trigger, UiMessage, UiRole};

/// Where messages come from that are posted here.
const CHANNEL: &str = "api";

/// `POST /api/sessions/{session}/turns`: has a message answered, and waits for it. The turn goes on if the client goes
/// away, and whoever is connected to the session sees it.
pub(super) async fn post(
    State(shared): State<Shared>,
    Extension(caller): Extension<Caller>,
    Path(session): Path<String>,
    body: Bytes,
) -> Response {
    let request = match read(&body) {
        Ok(request) => Box::new(request),
        Err(error) => return (StatusCode::BAD_REQUEST, error).into_response(),
    };
    let place = match shared.place(&caller, &session) {
        Ok(place) => place,
        Err(refusal) => return refusal.into_response(),
    };
    let orders = match shared.hubs.agent.session(&session).await {
        Ok(session) => shared.hubs.open(session).0,
        Err(error) => return failed(&error),
    };
    let (reply, begun) = oneshot::channel();
    // A hub that is gone drops the reply.
    let _ = orders.send(Order::Turn { request, reply }).await;
    let turn = match begun.await {
        Ok(Ok(turn)) => turn,
        Ok(Err(refused @ Refused::Full)) => {
            return (StatusCode::TOO_MANY_REQUESTS, refused.to_string()).into_response();
        }
        Ok(Err(Refused::Other(error))) => return (StatusCode::INTERNAL_SERVER_ERROR, error).into_response(),
        Err(_) => return (StatusCode::SERVICE_UNAVAILABLE, "the server stops").into_response(),
    };
    // In a task of its own, which nobody needs to wait for.
    let finishing = tokio::spawn(async move {
        let result = finish(turn).await;
        drop(place);
        result
    });
    match finishing.await {
        Ok(result) => {
            let json = [(header::CONTENT_TYPE, "application/json")];
            (json, answer(&result).to_string()).into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Reads on to the end, so that what is shown does not pile up.
async fn finish(mut turn: TurnStream) -> TurnResult {
    while turn.next().await.is_some() {}
    turn.finish().await
}

fn read(body: &[u8]) -> Result<ChatRequest, String> {
    let Ok(Json::Object(mut fields)) = serde_json::from_slice(body) else {
        return Err("the body is to be a JSON object".into());
    };
    let mut take = |name: &str| fields.remove(name).filter(|value| !value.is_null());
    let (text, message) = (take("text"), take("message"));
    let (body, tools) = (take("body"), take("clientTools"));
    if let Some(name) = fields.keys().next() {
        return Err(format!("there is no `{name}` here; known are text, message, body, clientTools"));
    }
    let message = match (text, message) {
        (Some(Json::String(text)), None) if !text.trim().is_empty() => {
            UiMessage::user(Uuid::now_v7().to_string(), text)
        }
        (Some(_), None) => return Err("`text` is to be a text that is not empty".into()),
        (None, Some(message)) => of_user(message)?,
        (Some(_), Some(_)) => return Err("the body is to have `text` or `message`, not both".into()),
        (None, None) => return Err("the body is to have `text`, or a `message`".into()),
    };
    if body.as_ref().is_some_and(|body| !body.is_object()) {
        return Err("`body` is to be an object".into());
    }
    let messages = messages::checked(vec![message])?;
    let client_tools = tools.map(frames::tools).transpose();
    let client_tools = client_tools.map_err(|error| format!("`clientTools` cannot be read: {error}"))?;
    Ok(ChatRequest {
        request_id: Some(Uuid::now_v7().to_string()),
        body,
        client_tools,
        trigger: Trigger::Rpc,
        channel: Some(CHANNEL.into()),
        messages,
        regenerate: false,
    })
}

/// A message gets an id if it has none, and is the user's.
fn of_user(mut message: Json) -> Result<UiMessage, String> {
    if let Json::Object(fields) = &mut message {
        fields.entry("id").or_insert_with(|| Uuid::now_v7().to_string().into());
        fields.entry("role").or_insert_with(|| "user".into());
    }
    let message: UiMessage =
        serde_json::from_value(message).map_err(|error| format!("`message` cannot be read: {error}"))?;
    if message.role != UiRole::User {
        return Err("`message` is to be the user's: its `role` is `user`".into());
    }
    if message.parts.is_empty() {
        return Err("`message` has no parts".into());
    }
    Ok(message)
}

fn answer(result: &TurnResult) -> Json {
    let mut answer = json!({
        "requestId": result.request_id,
        "status": result.status,
        "text": result.text,
        "message": result.message.as_ref().map(messages::message),
        "usage": result.usage,
        "steps": result.steps,
    });
    if let Some(error) = &result.error {
        answer["error"] = json!(error);
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_answered_is_refused_in_a_sentence() {
        for (body, said) in [
            ("{", "JSON object"),
            ("[]", "JSON object"),
            ("{}", "`text`, or a `message`"),
            ("{\"text\": \" \"}", "not empty"),
            ("{\"text\": 1}", "not empty"),
            ("{\"text\": \"a\", \"message\": {}}", "not both"),
            ("{\"text\": \"a\", \"model\": \"m\"}", "there is no `model`"),
            ("{\"text\": \"a\", \"body\": 1}", "`body` is to be an object"),
            ("{\"text\": \"a\", \"clientTools\": {}}", "`clientTools`"),
            ("{\"message\": {\"role\": \"assistant\", \"parts\": []}}", "user's"),
            ("{\"message\": {\"parts\": []}}", "no parts"),
            ("{\"message\": {\"parts\": 1}}", "`message` cannot be read"),
        ] {
            let error = read(body.as_bytes()).unwrap_err();
            assert!(error.contains(said), "{body}: {error}");
        }
    }

    #[test]
    fn a_message_gets_what_it_lacks() {
        let body = json!({"message": {"parts": [{"type": "text", "text": "hi"}]}, "body": {"a": 1},
            "clientTools": [{"name": "t"}]});
        let request = read(body.to_string().as_bytes()).unwrap();
        assert_eq!((request.messages[0].role, &*request.messages[0].text()), (UiRole::User, "hi"));
        assert!(!request.messages[0].id.is_empty() && request.client_tools.unwrap()[0].client);
        assert_eq!(request.body, Some(json!({"a": 1})));
    }
}
