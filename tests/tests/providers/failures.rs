//! What fails, and what is said of it: refusals, cuts, and calls that cannot be sent.

use lathe::model::{ModelError, ModelErrorKind};
use lathe_tests::provider_server::{ProviderServer, Reply};
use serde_json::{Value, json};

use crate::wires::{WIRES, frames, greeting, metadata, responses};
use crate::{KEY, answer, assert_events, call, collect, hello, model};

#[tokio::test]
async fn too_many_requests_say_how_long_to_wait() {
    for (wire, _) in WIRES {
        let reply =
            Reply::refusal(429, &json!({"error": {"message": "Slow down", "type": "rate_limit_error"}}));
        let (events, error, _) = answer(wire, reply.with_header("retry-after", "7"), hello()).await;
        assert_eq!(events, [], "{wire}");
        let expected = ModelError {
            kind: ModelErrorKind::RateLimit,
            message: "Slow down".to_owned(),
            status: Some(429),
            retry_after_ms: Some(7000),
        };
        assert_eq!(error, Some(expected), "{wire}");
    }
}

#[tokio::test]
async fn a_cut_connection_is_never_a_silent_end() {
    for (wire, _) in WIRES {
        let whole = greeting(wire);
        let half = &whole[..whole.find(", Welt").unwrap()];
        // Cut by the network, and ended in good order by a server that has given up.
        for reply in [Reply::stream(half).cut_off(), Reply::stream(half)] {
            let (events, error, _) = answer(wire, reply, hello()).await;
            let expected =
                ModelError::new(ModelErrorKind::Truncated, "the connection ended before the answer did");
            assert_eq!(error, Some(expected), "{wire}");
            assert_events(
                wire,
                &events,
                &[
                    metadata(),
                    json!({"type": "text-start", "id": "0"}),
                    json!({"type": "text-delta", "id": "0", "delta": "Grüße"}),
                ],
            );
        }
        let (events, error, _) = answer(wire, Reply::stream("").cut_off(), hello()).await;
        assert!(events.is_empty() && error.unwrap().is_retryable(), "{wire}");
    }
}

#[tokio::test]
async fn a_response_that_failed_is_an_error() {
    let mut all = responses(&[], vec![]);
    let last = all.last_mut().unwrap();
    last["type"] = "response.failed".into();
    last["response"]["status"] = "failed".into();
    last["response"]["error"] = json!({"code": "rate_limit_exceeded", "message": "Slow down"});
    let (_, error, _) = answer("responses", Reply::stream(frames("responses", &all)), hello()).await;
    let error = error.unwrap();
    assert_eq!(
        (error.kind, error.message.contains("Slow down")),
        (ModelErrorKind::RateLimit, true),
        "{error}"
    );
}

#[tokio::test]
async fn a_refused_key_is_not_repeated() {
    for (wire, _) in WIRES {
        let body = json!({"error": {"message": format!("Incorrect API key provided: {KEY}.")}});
        let (_, error, _) = answer(wire, Reply::refusal(401, &body), hello()).await;
        let error = error.unwrap();
        assert_eq!((error.kind, error.status), (ModelErrorKind::Auth, Some(401)), "{wire}");
        assert_eq!(error.message, "Incorrect API key provided: (key).", "{wire}");
    }
}

#[tokio::test]
async fn a_provider_that_is_not_there_can_be_tried_again() {
    for (wire, _) in WIRES {
        // A port that was free a moment ago.
        let url = ProviderServer::start([]).await.unwrap().url().to_owned();
        let model = model(wire, &url);
        let (_, error) = collect(&*model, hello()).await;
        let error = error.unwrap();
        assert_eq!((error.kind, error.status), (ModelErrorKind::Unavailable, None), "{wire}: {error}");
        for text in [error.message.clone(), format!("{error:?} {model:?}")] {
            assert!(!text.contains(KEY) && !text.contains("key="), "{wire}: {text}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_no_event_stream_says_so() {
    for (wire, _) in WIRES {
        let (_, error, _) = answer(wire, Reply::refusal(200, &json!({"hello": 1})), hello()).await;
        let error = error.unwrap();
        assert_eq!(error.kind, ModelErrorKind::InvalidResponse, "{wire}: {error}");
        assert_eq!(
            error.message,
            "the provider answered with application/json where an event stream was expected"
        );
    }
}

#[tokio::test]
async fn an_error_in_mid_stream_is_an_error() {
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    for (wire, _) in WIRES {
        let error = match wire {
            "chat" => json!({"error": {"code": "server_error", "message": "Overloaded"}}),
            "responses" => json!({"type": "error", "code": "server_error", "message": "Overloaded"}),
            "gemini" => json!({"error": {"code": 503, "status": "UNAVAILABLE", "message": "Overloaded"}}),
            _ => error.clone(),
        };
        let whole = greeting(wire);
        // The frame that holds the second half of the text never comes.
        let cut = whole[..whole.find(", Welt").unwrap()].rfind("\n\n").unwrap() + 2;
        let body = format!("{}{}", &whole[..cut], frames("", &[error]));
        let (events, error, _) = answer(wire, Reply::stream(body), hello()).await;
        assert_eq!(events.len(), 3, "{wire}: {events:?}");
        let error = error.unwrap();
        assert_eq!(
            (error.kind, error.message.as_str()),
            (ModelErrorKind::Unavailable, "Overloaded"),
            "{wire}"
        );
    }
}

#[tokio::test]
async fn an_empty_conversation_is_not_sent() {
    for (wire, _) in WIRES {
        let (_, error, body) =
            answer(wire, Reply::stream(greeting(wire)), call(json!({"system": "x"}))).await;
        assert_eq!((error.unwrap().kind, body), (ModelErrorKind::InvalidRequest, Value::Null), "{wire}");
    }
}

#[tokio::test]
async fn a_header_that_http_does_not_allow_is_named() {
    let asked = call(json!({"messages": [{"role": "user", "content": "hi"}], "headers": {"x y": "1"}}));
    let (_, error, _) = answer("chat", Reply::stream(greeting("chat")), asked).await;
    let message = "the header `x y` cannot be sent: its name or value is not allowed in HTTP";
    assert_eq!(error, Some(ModelError::new(ModelErrorKind::InvalidRequest, message)));
}
