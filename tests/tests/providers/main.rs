//! The real providers against a server on this machine: what they send, and what they make of the answers.
//!
//! Every case runs for every wire where it makes sense. What the cases share is here.

#![expect(clippy::unwrap_used, reason = "a helper of a test may panic as the test may")]
#![expect(clippy::needless_pass_by_value, reason = "`json!` reads best where it is used")]

mod answers;
mod failures;
mod overflow;
mod requests;
mod returns;
mod wires;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt;
use lathe::model::{
    LanguageModel, ModelCall, ModelError, ModelEvent, ProviderKind, ProviderSettings, resolve,
};
use lathe::turn::{ModelMessage, Role};
use lathe_tests::provider_server::{ProviderServer, Reply};
use serde_json::Value;

use crate::wires::WIRES;

const KEY: &str = "sk-very-secret-0123456789";

fn model(wire: &str, url: &str) -> Arc<dyn LanguageModel> {
    let kind = WIRES.iter().find(|(name, _)| *name == wire).unwrap().1;
    let path = if matches!(kind, ProviderKind::Openai | ProviderKind::OpenaiResponses) { "/v1" } else { "" };
    let settings = ProviderSettings {
        kind,
        base_url: Some(format!("{url}{path}")),
        api_key_env: Some("KEY".to_owned()),
    };
    let providers = BTreeMap::from([(wire.to_owned(), settings)]);
    resolve(&format!("{wire}:m-1"), &providers, &|name| (name == "KEY").then(|| KEY.to_owned())).unwrap()
}

fn hello() -> ModelCall {
    ModelCall { messages: vec![ModelMessage::text(Role::User, "hello")], ..ModelCall::default() }
}

fn call(value: Value) -> ModelCall {
    serde_json::from_value(value).unwrap()
}

/// Everything a model says: events, then the error that ended them, if one did.
async fn collect(model: &dyn LanguageModel, call: ModelCall) -> (Vec<ModelEvent>, Option<ModelError>) {
    let mut stream = match model.stream(call).await {
        Ok(stream) => stream,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => events.push(event),
            Err(error) => {
                assert!(stream.next().await.is_none(), "an error ends the stream");
                return (events, Some(error));
            }
        }
    }
    assert!(matches!(events.last(), Some(ModelEvent::Finish { .. })), "a silent end: {events:?}");
    (events, None)
}

/// Everything a model says to one reply of a server, and what the server was sent.
async fn answer(wire: &str, reply: Reply, call: ModelCall) -> (Vec<ModelEvent>, Option<ModelError>, Value) {
    let server = ProviderServer::start([reply]).await.unwrap();
    let (events, error) = collect(&*model(wire, server.url()), call).await;
    let body = server.asked().await.pop().map(|asked| asked.body).unwrap_or_default();
    (events, error, body)
}

/// One event a line, without what is null, so that a difference can be read.
fn lines(events: &[ModelEvent]) -> String {
    let line = |event: &ModelEvent| {
        let mut event = serde_json::to_value(event).unwrap();
        event.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        format!("{event}\n")
    };
    events.iter().map(line).collect()
}

#[track_caller]
fn assert_events(wire: &str, events: &[ModelEvent], expected: &[Value]) {
    let expected: String = expected.iter().map(|event| format!("{event}\n")).collect();
    let found = lines(events);
    assert!(found == expected, "{wire} said\n{found}\ninstead of\n{expected}");
}
