//! A conversation that is too long for the model, in each provider's own words.

use std::sync::Arc;

use async_trait::async_trait;
use lathe::Agent;
use lathe::recovery::ContextOverflow;
use lathe::session::{Compaction, CompactionError, Compactor};
use lathe::store::{SqliteStore, Store};
use lathe::turn::{TurnStatus, UiMessage};
use lathe_tests::provider_server::{ProviderServer, Reply};
use serde_json::{Value, json};

use crate::model;
use crate::wires::{WIRES, greeting};

/// What the provider's server answers, with status 400.
fn refusal(wire: &str) -> Value {
    match wire {
        "anthropic" => json!({"type": "error", "error": {"type": "invalid_request_error",
            "message": "prompt is too long: 213462 tokens > 200000 maximum"}}),
        "gemini" => json!({"error": {"code": 400, "status": "INVALID_ARGUMENT",
            "message": "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."}}),
        "responses" => json!({"error": {"type": "invalid_request_error", "code": "context_length_exceeded",
            "message": "Your input exceeds the context window of this model. Please adjust your input and try again."}}),
        _ => json!({"error": {"type": "invalid_request_error", "code": "context_length_exceeded",
            "message": "This model's maximum context length is 128000 tokens. However, your messages resulted in 130012 tokens. Please reduce the length of the messages."}}),
    }
}

/// Shortens the first two messages to a word.
struct FirstTwo;

#[async_trait]
impl Compactor for FirstTwo {
    async fn compact(&self, messages: &[UiMessage]) -> Result<Option<Compaction>, CompactionError> {
        Ok(Some(Compaction::new(&messages[0].id, &messages[1].id, "SUMMARY")))
    }
}

#[tokio::test]
async fn what_is_too_long_is_shortened_and_asked_again() {
    for (wire, _) in WIRES {
        let replies = [Reply::refusal(400, &refusal(wire)), Reply::stream(greeting(wire))];
        let server = ProviderServer::start(replies).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(SqliteStore::open(&folder.path().join("lathe.db")).await.unwrap());
        for id in ["1", "2"] {
            let message = UiMessage::user(id, format!("LONG {}", "word ".repeat(500)));
            store.put("s", &message, None).await.unwrap();
        }
        let agent = Agent::builder(store)
            .model(model(wire, server.url()))
            .compaction(Arc::new(FirstTwo))
            .context_overflow(ContextOverflow { reactive: true, ..Default::default() })
            .build()
            .unwrap();
        let session = agent.session("s").await.unwrap();
        let result = session.send("and now?").await.unwrap().finish().await;
        assert_eq!(result.status, TurnStatus::Completed, "{wire}: {:?}", result.error);
        assert!(result.text.starts_with("Grüße"), "{wire}: {}", result.text);
        let asked: Vec<String> = server.asked().await.iter().map(|asked| asked.body.to_string()).collect();
        assert_eq!(asked.len(), 2, "{wire}");
        assert!(asked[0].contains("LONG") && !asked[0].contains("SUMMARY"), "{wire}");
        assert!(asked[1].contains("SUMMARY") && !asked[1].contains("LONG"), "{wire}");
    }
}
