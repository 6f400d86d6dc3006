//! What an answer holds that has to go back to the provider that gave it.

use std::collections::BTreeMap;

use lathe::model::{ModelEvent, ProviderSettings, resolve};
use lathe::turn::{ModelMessage, Part, ResultOutput, Role};
use lathe_tests::provider_server::{ProviderServer, Reply};
use serde_json::json;

use crate::wires::{WIRES, anthropic, block, frames, greeting, thinking};
use crate::{call, collect, hello, lines, model};

#[tokio::test]
async fn reasoning_goes_back_with_what_it_was_signed_with() {
    for (wire, _) in WIRES {
        let server = ProviderServer::start([Reply::stream(thinking(wire)), Reply::stream(greeting(wire))])
            .await
            .unwrap();
        let model = model(wire, server.url());
        let tools = json!([{"name": "weather", "description": "", "inputSchema": {"type": "object"}}]);
        let mut asked = call(json!({"messages": [{"role": "user", "content": "hello"}], "tools": tools}));
        let (events, error) = collect(&*model, asked.clone()).await;
        assert_eq!(error, None, "{wire}");
        let reasoning: String = events
            .iter()
            .filter_map(|event| match event {
                ModelEvent::ReasoningDelta { delta, .. } => Some(delta.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(reasoning, "Hm.", "{wire}");

        let (assistant, results) = said(&events);
        asked.messages.extend([assistant, results]);
        let (_, error) = collect(&*model, asked).await;
        assert_eq!(error, None, "{wire}");
        let body = server.asked().await[1].body.clone();
        let (found, expected) = match wire {
            "chat" => (
                &body["messages"][1],
                json!({
                    "role": "assistant", "content": "Ah", "reasoning_content": "Hm.",
                    "reasoning_details": [{"type": "reasoning.text", "text": "Hm.", "signature": "c2ln", "index": 0}],
                    "tool_calls": [{"type": "function", "id": "c1", "function": {"name": "weather", "arguments": "{}"}}],
                }),
            ),
            "responses" => (
                &body["input"],
                json!([
                    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
                    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "id": "rs_1", "encrypted_content": "c2ln"},
                    {"type": "function_call", "status": "completed", "call_id": "c1", "name": "weather", "arguments": "{}", "id": "fc_1"},
                    {"type": "function_call_output", "call_id": "c1", "output": "sunny", "status": "completed"},
                ]),
            ),
            "anthropic" => (
                &body["messages"][1]["content"],
                json!([
                    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
                    {"type": "redacted_thinking", "data": "cmVk"},
                    {"type": "tool_use", "id": "c1", "name": "weather", "input": {}},
                ]),
            ),
            // Gemini signs the call, not the thought, which it does not want back.
            _ => (
                &body["contents"][1],
                json!({"role": "model", "parts": [
                    {"functionCall": {"name": "weather", "args": {}}, "thoughtSignature": "c2ln"},
                ]}),
            ),
        };
        assert_eq!(found, &expected, "{wire}");

        // Another model cannot read it: nothing of it is sent there.
        let other = ProviderServer::start([Reply::stream(greeting(wire))]).await.unwrap();
        let (assistant, results) = said(&events);
        let mut elsewhere = hello();
        elsewhere.messages.extend([assistant, results]);
        let id = format!("{wire}:m-2");
        let kind = WIRES.iter().find(|(name, _)| *name == wire).unwrap().1;
        let settings = ProviderSettings { kind, base_url: Some(other.url().to_owned()), api_key_env: None };
        let model = resolve(&id, &BTreeMap::from([(wire.to_owned(), settings)]), &|_| None).unwrap();
        let (_, error) = collect(&*model, elsewhere).await;
        assert_eq!(error, None, "{wire}");
        let sent = other.asked().await[0].body.to_string();
        assert!(!sent.contains("c2ln") && !sent.contains("Hm."), "{wire} sent {sent}");
    }
}

#[tokio::test]
async fn steps_of_a_hosted_tool_go_back_in_their_place() {
    let query =
        json!({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []});
    let cited = json!({"type": "web_search_result_location", "url": "https://a.example", "title": "A", "cited_text": "a"});
    let all = [
        block(0, query.clone(), &[]),
        block(1, found.clone(), &[]),
        block(
            2,
            json!({"type": "text", "text": ""}),
            &[
                json!({"type": "citations_delta", "citation": cited}),
                json!({"type": "text_delta", "text": "It is so."}),
            ],
        ),
    ];
    let answer = frames("anthropic", &anthropic(all.concat(), "end_turn"));
    let server =
        ProviderServer::start([Reply::stream(answer), Reply::stream(greeting("anthropic"))]).await.unwrap();
    let model = model("anthropic", server.url());
    let tools = json!({"anthropic": {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}});
    let mut asked =
        call(json!({"messages": [{"role": "user", "content": "hello"}], "providerOptions": tools}));
    let (events, error) = collect(&*model, asked.clone()).await;
    assert_eq!(error, None);
    let source = ModelEvent::Source {
        id: "source-1".to_owned(),
        url: "https://a.example".to_owned(),
        title: Some("A".to_owned()),
    };
    assert!(events.contains(&source), "{}", lines(&events));
    asked.messages.extend([said(&events).0, ModelMessage::text(Role::User, "why?")]);
    let (_, error) = collect(&*model, asked).await;
    assert_eq!(error, None);
    let body = server.asked().await.remove(1).body;
    let text = json!({"type": "text", "text": "It is so.", "citations": [cited]});
    assert_eq!(body["messages"][1]["content"], json!([query, found, text]));
    assert_eq!(body["tools"], json!([{"type": "web_search_20250305", "name": "web_search"}]));
}

/// The events as the messages that go back, in the order in which they began, with a result for each call.
fn said(events: &[ModelEvent]) -> (ModelMessage, ModelMessage) {
    let (mut parts, mut results) = (BTreeMap::new(), Vec::new());
    let mut texts = BTreeMap::<String, (usize, String)>::new();
    for (at, event) in events.iter().cloned().enumerate() {
        match event {
            ModelEvent::TextStart { id } | ModelEvent::ReasoningStart { id } => {
                texts.insert(id, (at, String::new()));
            }
            ModelEvent::TextDelta { id, delta } | ModelEvent::ReasoningDelta { id, delta } => {
                texts.get_mut(&id).unwrap().1.push_str(&delta);
            }
            ModelEvent::TextEnd { id, provider_metadata } => {
                let (at, text) = texts.remove(&id).unwrap();
                parts.insert(at, Part::Text { text, provider_options: provider_metadata });
            }
            ModelEvent::ReasoningEnd { id, provider_metadata } => {
                let (at, text) = texts.remove(&id).unwrap();
                parts.insert(at, Part::Reasoning { text, provider_options: provider_metadata });
            }
            ModelEvent::ToolCall { id, tool_name, input, provider_metadata } => {
                let call = Part::ToolCall {
                    tool_call_id: id.clone(),
                    tool_name: tool_name.clone(),
                    input: serde_json::from_str(&input).unwrap(),
                    provider_options: provider_metadata,
                };
                parts.insert(at, call);
                let output = ResultOutput::Text("sunny".to_owned());
                results.push(Part::ToolResult { tool_call_id: id, tool_name, output });
            }
            _ => {}
        }
    }
    let content = parts.into_values().collect();
    (ModelMessage { role: Role::Assistant, content }, ModelMessage { role: Role::Tool, content: results })
}
