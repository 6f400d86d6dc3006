//! The real providers against a server on this machine: what they send, and what they make of the answers.
//!
//! Every case runs for every wire where it makes sense.

#![expect(clippy::unwrap_used, reason = "a helper of a test may panic as the test may")]
#![expect(clippy::needless_pass_by_value, reason = "`json!` reads best where it is used")]

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::StreamExt;
use lathe::model::{
    LanguageModel, ModelCall, ModelError, ModelErrorKind, ModelEvent, ProviderKind, ProviderSettings, resolve,
};
use lathe::turn::{ModelMessage, Part, ResultOutput, Role};
use lathe_tests::provider_server::{ProviderServer, Reply};
use serde_json::{Value, json};

const KEY: &str = "sk-very-secret-0123456789";

/// The four protocols, by the provider name that stands for each here.
const WIRES: [(&str, ProviderKind); 4] = [
    ("chat", ProviderKind::Openai),
    ("responses", ProviderKind::OpenaiResponses),
    ("anthropic", ProviderKind::Anthropic),
    ("gemini", ProviderKind::Gemini),
];

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

/// The frames of an event stream, each with the name that the protocol may want.
fn frames(wire: &str, frames: &[Value]) -> String {
    let mut body = String::new();
    for frame in frames {
        if let ("anthropic" | "responses", Some(kind)) = (wire, frame["type"].as_str()) {
            body.push_str(&format!("event: {kind}\n"));
        }
        body.push_str(&format!("data: {frame}\n\n"));
    }
    if wire == "chat" {
        body.push_str("data: [DONE]\n\n");
    }
    body
}

// --- Answers, as each protocol writes them ---

fn chat(delta: Value) -> Value {
    json!({"id": "r-1", "model": "m-1-real", "choices": [{"index": 0, "delta": delta}]})
}

fn chat_end(reason: &str) -> [Value; 2] {
    [
        json!({"id": "r-1", "model": "m-1-real", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}),
        json!({"id": "r-1", "model": "m-1-real", "choices": [], "usage": {
            "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 60}, "completion_tokens_details": {"reasoning_tokens": 5},
        }}),
    ]
}

fn responses(output: &[Value], frames: Vec<Value>) -> Vec<Value> {
    let response = json!({"id": "r-1", "model": "m-1-real", "object": "response", "status": "in_progress", "output": []});
    let mut all = vec![json!({"type": "response.created", "response": response})];
    all.extend(frames);
    all.push(json!({"type": "response.completed", "response": {
        "id": "r-1", "model": "m-1-real", "object": "response", "status": "completed", "output": output, "usage": {
            "input_tokens": 100, "input_tokens_details": {"cached_tokens": 60},
            "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 120,
        },
    }}));
    all
}

fn anthropic(blocks: Vec<Value>, reason: &str) -> Vec<Value> {
    let usage = json!({"input_tokens": 33, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 7, "output_tokens": 1});
    let mut all = vec![
        json!({"type": "message_start", "message": {
            "id": "r-1", "type": "message", "role": "assistant", "model": "m-1-real", "content": [], "usage": usage,
        }}),
        json!({"type": "ping"}),
    ];
    all.extend(blocks);
    all.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {
        "output_tokens": 20, "output_tokens_details": {"thinking_tokens": 5},
    }}));
    all.push(json!({"type": "message_stop"}));
    all
}

fn block(index: u32, start: Value, deltas: &[Value]) -> Vec<Value> {
    let mut all = vec![json!({"type": "content_block_start", "index": index, "content_block": start})];
    all.extend(
        deltas.iter().map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})),
    );
    all.push(json!({"type": "content_block_stop", "index": index}));
    all
}

fn gemini(parts: Value) -> Value {
    json!({"responseId": "r-1", "modelVersion": "m-1-real", "candidates": [{"content": {"role": "model", "parts": parts}}]})
}

fn gemini_end(reason: &str) -> Value {
    json!({
        "responseId": "r-1", "modelVersion": "m-1-real", "candidates": [{"finishReason": reason}], "usageMetadata": {
            "promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 15, "thoughtsTokenCount": 5,
        },
    })
}

/// `Grüße` and `, Welt 🌍`, in each protocol's words.
fn greeting(wire: &str) -> String {
    let all = match wire {
        "chat" => {
            let mut all = vec![chat(json!({"role": "assistant", "content": ""}))];
            all.extend(["Grüße", ", Welt 🌍"].map(|text| chat(json!({"content": text}))));
            all.extend(chat_end("stop"));
            all
        }
        "responses" => {
            let text = json!({"type": "output_text", "text": "Grüße, Welt 🌍", "annotations": []});
            let item = json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]});
            let delta = |text| json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": text});
            responses(
                std::slice::from_ref(&item),
                vec![
                    json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}}),
                    delta("Grüße"),
                    delta(", Welt 🌍"),
                    json!({"type": "response.output_item.done", "output_index": 0, "item": item}),
                ],
            )
        }
        "anthropic" => {
            let text = |text| json!({"type": "text_delta", "text": text});
            anthropic(
                block(0, json!({"type": "text", "text": ""}), &[text("Grüße"), text(", Welt 🌍")]),
                "end_turn",
            )
        }
        _ => vec![
            gemini(json!([{"text": "Grüße"}])),
            gemini(json!([{"text": ", Welt 🌍"}])),
            gemini_end("STOP"),
        ],
    };
    frames(wire, &all)
}

/// Two calls, of which `ids` gives the ids; empty where the provider gives none.
fn two_calls(wire: &str, ids: [&str; 2]) -> String {
    let input = [json!({"city": "Rome"}), json!({"city": "Oslo"})];
    let all = match wire {
        "chat" => {
            let begin = |index: usize| {
                chat(
                    json!({"tool_calls": [{"index": index, "id": ids[index], "type": "function", "function": {"name": "weather", "arguments": ""}}]}),
                )
            };
            let more = |index: usize, text: &str| {
                chat(json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]}))
            };
            // Interleaved, as some servers do.
            let mut all = vec![
                begin(0),
                more(0, "{\"city\":"),
                begin(1),
                more(1, "{\"city\":"),
                more(0, "\"Rome\"}"),
                more(1, "\"Oslo\"}"),
            ];
            all.extend(chat_end("tool_calls"));
            all
        }
        "responses" => {
            let item = |index: usize, status: &str, arguments: &str| json!({"type": "function_call", "id": format!("fc_{index}"), "call_id": ids[index], "name": "weather", "arguments": arguments, "status": status});
            let mut all = Vec::new();
            let mut done = Vec::new();
            for (index, input) in input.iter().enumerate() {
                let text = input.to_string();
                let (head, tail) = text.split_at(8);
                let delta = |text| json!({"type": "response.function_call_arguments.delta", "output_index": index, "item_id": format!("fc_{index}"), "delta": text});
                all.push(json!({"type": "response.output_item.added", "output_index": index, "item": item(index, "in_progress", "")}));
                all.extend([delta(head), delta(tail)]);
                done.push(item(index, "completed", &text));
                all.push(
                    json!({"type": "response.output_item.done", "output_index": index, "item": done[index]}),
                );
            }
            responses(&done, all)
        }
        "anthropic" => {
            let mut all = Vec::new();
            for (index, input) in (0..).zip(&input) {
                let text = input.to_string();
                let (head, tail) = text.split_at(8);
                let delta = |text| json!({"type": "input_json_delta", "partial_json": text});
                let start =
                    json!({"type": "tool_use", "id": ids[index as usize], "name": "weather", "input": {}});
                all.extend(block(index, start, &[delta(head), delta(tail)]));
            }
            anthropic(all, "tool_use")
        }
        _ => {
            let part = |index: usize| {
                let mut call = json!({"name": "weather", "args": input[index]});
                if !ids[index].is_empty() {
                    call["id"] = ids[index].into();
                }
                json!({"functionCall": call})
            };
            vec![gemini(json!([part(0), part(1)])), gemini_end("STOP")]
        }
    };
    frames(wire, &all)
}

/// Reasoning that has to come back, then a call.
fn thinking(wire: &str) -> String {
    let all = match wire {
        "chat" => {
            let details = json!([{"type": "reasoning.text", "text": "Hm.", "signature": "c2ln", "index": 0}]);
            let call = json!({"index": 0, "id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}});
            let mut all = vec![
                chat(json!({"reasoning_content": "Hm", "content": null})),
                chat(json!({"reasoning_content": ".", "reasoning_details": details})),
                chat(json!({"content": "Ah"})),
                chat(json!({"tool_calls": [call]})),
            ];
            all.extend(chat_end("tool_calls"));
            all
        }
        "responses" => {
            let reasoning = json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "c2ln", "summary": [{"type": "summary_text", "text": "Hm."}]});
            let call = json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "weather", "arguments": "{}", "status": "completed"});
            responses(
                &[reasoning.clone(), call.clone()],
                vec![
                    json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs_1", "summary": []}}),
                    json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "item_id": "rs_1", "summary_index": 0, "delta": "Hm."}),
                    json!({"type": "response.output_item.done", "output_index": 0, "item": reasoning}),
                    json!({"type": "response.output_item.added", "output_index": 1, "item": call}),
                    json!({"type": "response.output_item.done", "output_index": 1, "item": call}),
                ],
            )
        }
        "anthropic" => {
            let mut all = block(
                0,
                json!({"type": "thinking", "thinking": ""}),
                &[
                    json!({"type": "thinking_delta", "thinking": "Hm"}),
                    json!({"type": "thinking_delta", "thinking": "."}),
                    json!({"type": "signature_delta", "signature": "c2ln"}),
                ],
            );
            all.extend(block(1, json!({"type": "redacted_thinking", "data": "cmVk"}), &[]));
            all.extend(block(
                2,
                json!({"type": "tool_use", "id": "c1", "name": "weather", "input": {}}),
                &[],
            ));
            anthropic(all, "tool_use")
        }
        _ => vec![
            gemini(json!([{"text": "Hm.", "thought": true}])),
            gemini(json!([{"functionCall": {"name": "weather", "args": {}}, "thoughtSignature": "c2ln"}])),
            gemini_end("STOP"),
        ],
    };
    frames(wire, &all)
}

// --- What every wire's last event tells ---

fn finish(wire: &str, calls: bool) -> Value {
    let raw = match (wire, calls) {
        ("chat", true) => "tool_calls",
        ("chat", false) => "stop",
        ("responses", _) => "completed",
        ("anthropic", true) => "tool_use",
        ("anthropic", false) => "end_turn",
        _ => "STOP",
    };
    let mut event = json!({
        "type": "finish", "reason": if calls { "tool-calls" } else { "stop" }, "rawReason": raw,
        "usage": {"inputTokens": 100, "outputTokens": 20, "totalTokens": 120, "reasoningTokens": 5, "cachedInputTokens": 60},
    });
    if wire == "anthropic" {
        event["providerMetadata"] = json!({"anthropic": {"cacheCreationInputTokens": 7}});
    }
    event
}

fn metadata() -> Value {
    json!({"type": "response-metadata", "id": "r-1", "modelId": "m-1-real"})
}

fn item_id(wire: &str, id: &str) -> Option<Value> {
    (wire == "responses").then(|| json!({"openai": {"itemId": id, "model": "m-1"}}))
}

fn with_metadata(mut event: Value, metadata: Option<Value>) -> Value {
    if let Some(metadata) = metadata {
        event["providerMetadata"] = metadata;
    }
    event
}

// --- The five cases ---

#[tokio::test]
async fn frames_may_be_split_anywhere() {
    for (wire, _) in WIRES {
        for piece in [1, 2, 3, 7, 64, usize::MAX] {
            let (events, error, _) =
                answer(wire, Reply::stream(greeting(wire)).in_pieces_of(piece), hello()).await;
            assert_eq!(error, None, "{wire} in pieces of {piece}");
            assert_events(
                wire,
                &events,
                &[
                    metadata(),
                    json!({"type": "text-start", "id": "0"}),
                    json!({"type": "text-delta", "id": "0", "delta": "Grüße"}),
                    json!({"type": "text-delta", "id": "0", "delta": ", Welt 🌍"}),
                    with_metadata(json!({"type": "text-end", "id": "0"}), item_id(wire, "msg_1")),
                    finish(wire, false),
                ],
            );
        }
    }
}

#[tokio::test]
async fn calls_run_in_parallel() {
    for (wire, _) in WIRES {
        let (events, error, _) = answer(wire, Reply::stream(two_calls(wire, ["c1", "c2"])), hello()).await;
        assert_eq!(error, None, "{wire}");
        let start = |id| json!({"type": "tool-input-start", "id": id, "toolName": "weather"});
        let delta = |id, text| json!({"type": "tool-input-delta", "id": id, "delta": text});
        let end = |id, text, item| {
            let call = json!({"type": "tool-call", "id": id, "toolName": "weather", "input": text});
            [json!({"type": "tool-input-end", "id": id}), with_metadata(call, item_id(wire, item))]
        };
        let (rome, oslo) = (r#"{"city":"Rome"}"#, r#"{"city":"Oslo"}"#);
        let mut expected = vec![metadata()];
        match wire {
            "chat" => {
                let head = "{\"city\":";
                expected.extend([start("c1"), delta("c1", head), start("c2"), delta("c2", head)]);
                expected.extend([delta("c1", "\"Rome\"}"), delta("c2", "\"Oslo\"}")]);
                expected.extend(end("c1", rome, ""));
                expected.extend(end("c2", oslo, ""));
            }
            _ => {
                for (id, text, item) in [("c1", rome, "fc_0"), ("c2", oslo, "fc_1")] {
                    expected.push(start(id));
                    let pieces = if wire == "gemini" { vec![text] } else { vec![&text[..8], &text[8..]] };
                    expected.extend(pieces.into_iter().map(|text| delta(id, text)));
                    expected.extend(end(id, text, item));
                }
            }
        }
        expected.push(finish(wire, true));
        assert_events(wire, &events, &expected);
    }
}

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

// --- Ends and steps of the provider's own ---

#[tokio::test]
async fn every_end_keeps_the_providers_word() {
    for (wire, raw, reason) in [
        ("chat", "length", "length"),
        ("chat", "content_filter", "content-filter"),
        ("chat", "what", "other"),
        ("responses", "max_output_tokens", "length"),
        ("responses", "content_filter", "content-filter"),
        ("anthropic", "max_tokens", "length"),
        ("anthropic", "stop_sequence", "stop"),
        ("anthropic", "refusal", "content-filter"),
        ("gemini", "MAX_TOKENS", "length"),
        ("gemini", "SAFETY", "content-filter"),
        ("gemini", "MALFORMED_FUNCTION_CALL", "error"),
    ] {
        let all = match wire {
            "chat" => [vec![chat(json!({"content": "a"}))], chat_end(raw).to_vec()].concat(),
            "responses" => {
                let mut all = responses(&[], vec![]);
                let last = all.last_mut().unwrap();
                last["type"] = "response.incomplete".into();
                last["response"]["status"] = "incomplete".into();
                last["response"]["incomplete_details"] = json!({"reason": raw});
                all
            }
            "anthropic" => anthropic(block(0, json!({"type": "text", "text": "a"}), &[]), raw),
            _ => vec![gemini(json!([{"text": "a"}])), gemini_end(raw)],
        };
        let (events, error, _) = answer(wire, Reply::stream(frames(wire, &all)), hello()).await;
        assert_eq!(error, None, "{wire} {raw}");
        let last = serde_json::to_value(events.last()).unwrap();
        assert_eq!(
            (last["reason"].as_str(), last["rawReason"].as_str()),
            (Some(reason), Some(raw)),
            "{wire}"
        );
        assert_eq!(last["usage"]["totalTokens"], 120, "{wire} {raw}");
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

// --- Ids ---

#[tokio::test]
async fn ids_are_unique_in_the_conversation() {
    for (wire, _) in WIRES {
        for ids in [["same", "same"], ["", ""], ["old", "new"]] {
            let history = json!({"messages": [
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "old", "toolName": "weather", "input": {}}]},
                {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "old", "toolName": "weather", "output": {"type": "text", "value": "sunny"}}]},
            ]});
            let (events, error, _) = answer(wire, Reply::stream(two_calls(wire, ids)), call(history)).await;
            assert_eq!(error, None, "{wire} {ids:?}");
            let calls: Vec<(&str, &Value)> = events
                .iter()
                .filter_map(|event| match event {
                    ModelEvent::ToolCall { id, provider_metadata, .. } => {
                        let own = provider_metadata
                            .as_ref()
                            .and_then(|all| all.values().next())
                            .map(|own| &own["toolCallId"]);
                        Some((id.as_str(), own.unwrap_or(&Value::Null)))
                    }
                    _ => None,
                })
                .collect();
            let [(first, first_own), (second, second_own)] = calls[..] else {
                panic!("{wire} {ids:?}: {calls:?}")
            };
            assert!(first != second && first != "old", "{wire} {ids:?}: {calls:?}");
            match ids {
                ["same", _] => assert!(first == "same" && second.starts_with("call_"), "{wire}: {calls:?}"),
                ["old", _] => assert!(first_own == "old" && second == "new", "{wire}: {calls:?}"),
                _ => assert!(
                    first.starts_with("call_") && first_own.is_null() && second_own.is_null(),
                    "{wire}: {calls:?}"
                ),
            }
            // Every event of a call names it alike.
            let starts = events.iter().filter_map(|event| match event {
                ModelEvent::ToolInputStart { id, .. } => Some(id.as_str()),
                _ => None,
            });
            assert_eq!(starts.collect::<Vec<_>>(), [first, second], "{wire}");
        }
    }
}

// --- What reaches the wire ---

/// A request with everything in it.
fn full(wire: &str) -> ModelCall {
    call(json!({
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,iVBORw0KGgo="},
            ]},
            {"role": "assistant", "content": [
                {"type": "reasoning", "text": "unsigned"},
                {"type": "tool-call", "toolCallId": "c1", "toolName": "weather", "input": {"city": "Rome"}},
                {"type": "tool-call", "toolCallId": "c2", "toolName": "weather", "input": {"city": "Oslo"}},
            ]},
            {"role": "tool", "content": [
                {"type": "tool-result", "toolCallId": "c1", "toolName": "weather", "output": {"type": "json", "value": {"sun": true}}},
                {"type": "tool-result", "toolCallId": "c2", "toolName": "weather", "output": {"type": "error-text", "value": "no such city"}},
            ]},
        ],
        "tools": [{"name": "weather", "description": "Tells it.", "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}}}],
        "toolChoice": {"type": "tool", "toolName": "weather"},
        "maxOutputTokens": 77,
        "temperature": 0.5,
        "topP": 0.9,
        "topK": 40,
        "presencePenalty": 0.25,
        "frequencyPenalty": 0.75,
        "stopSequences": ["END"],
        "seed": 42,
        "reasoningEffort": "low",
        "output": {"title": "Found", "type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false},
        "headers": {"x-trace": "t-1", "content-length": "1"},
        "providerOptions": {wire: {"service_tier": "flex"}, "someoneElse": {"no": true}},
    }))
}

#[tokio::test]
async fn everything_asked_for_reaches_the_wire() {
    for (wire, _) in WIRES {
        let server = ProviderServer::start([Reply::stream(greeting(wire))]).await.unwrap();
        let (_, error) = collect(&*model(wire, server.url()), full(wire)).await;
        assert_eq!(error, None, "{wire}");
        let asked = server.asked().await.remove(0);
        assert_eq!(asked.headers["x-trace"], "t-1");
        assert_ne!(asked.headers["content-length"], "1");
        let schema = &full(wire).settings.output.unwrap();
        let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
        let (target, key, expected) = match wire {
            "chat" => (
                "/v1/chat/completions",
                ("authorization", format!("Bearer {KEY}")),
                json!({
                    "model": "m-1",
                    "messages": [
                        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
                        {"role": "user", "content": [
                            {"type": "text", "text": "What is this?"},
                            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"}},
                        ]},
                        {"role": "assistant", "tool_calls": [
                            {"type": "function", "id": "c1", "function": {"name": "weather", "arguments": "{\"city\":\"Rome\"}"}},
                            {"type": "function", "id": "c2", "function": {"name": "weather", "arguments": "{\"city\":\"Oslo\"}"}},
                        ]},
                        {"role": "tool", "tool_call_id": "c1", "content": "{\"sun\":true}"},
                        {"role": "tool", "tool_call_id": "c2", "content": "no such city"},
                    ],
                    "tools": [{"type": "function", "function": {"name": "weather", "description": "Tells it.", "parameters": parameters}}],
                    "tool_choice": {"type": "function", "function": {"name": "weather"}},
                    "temperature": 0.5, "max_tokens": 77, "top_p": 0.9, "top_k": 40,
                    "presence_penalty": 0.25, "frequency_penalty": 0.75, "stop": ["END"], "seed": 42, "reasoning_effort": "low",
                    "response_format": {"type": "json_schema", "json_schema": {"name": "Found", "strict": true, "schema": schema}},
                    "service_tier": "flex", "stream": true, "stream_options": {"include_usage": true},
                }),
            ),
            "responses" => (
                "/v1/responses",
                ("authorization", format!("Bearer {KEY}")),
                json!({
                    "model": "m-1",
                    "instructions": "Be brief.",
                    "input": [
                        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What is this?"}]},
                        {"type": "message", "role": "user", "content": [
                            {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"},
                        ]},
                        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{\"city\":\"Rome\"}"},
                        {"type": "function_call", "call_id": "c2", "name": "weather", "arguments": "{\"city\":\"Oslo\"}"},
                        {"type": "function_call_output", "call_id": "c1", "output": "{\"sun\":true}", "status": "completed"},
                        {"type": "function_call_output", "call_id": "c2", "output": "no such city", "status": "completed"},
                    ],
                    "tools": [{"type": "function", "name": "weather", "description": "Tells it.", "parameters": parameters, "strict": false}],
                    "tool_choice": {"type": "function", "name": "weather"},
                    "temperature": 0.5, "max_output_tokens": 77, "top_p": 0.9,
                    "reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"],
                    "text": {"format": {"type": "json_schema", "name": "Found", "strict": true, "schema": schema}},
                    "service_tier": "flex", "stream": true,
                }),
            ),
            "anthropic" => (
                "/v1/messages",
                ("x-api-key", KEY.to_owned()),
                json!({
                    "model": "m-1",
                    "system": [{"type": "text", "text": "Be brief."}],
                    "messages": [
                        {"role": "user", "content": [
                            {"type": "text", "text": "What is this?"},
                            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
                        ]},
                        {"role": "assistant", "content": [
                            {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Rome"}},
                            {"type": "tool_use", "id": "c2", "name": "weather", "input": {"city": "Oslo"}},
                        ]},
                        {"role": "user", "content": [
                            {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "{\"sun\":true}"}]},
                            {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "no such city"}], "is_error": true},
                        ]},
                    ],
                    "tools": [{"name": "weather", "description": "Tells it.", "input_schema": parameters}],
                    "tool_choice": {"type": "tool", "name": "weather"},
                    "temperature": 0.5, "max_tokens": 77, "top_p": 0.9, "top_k": 40, "stop_sequences": ["END"],
                    "thinking": {"type": "adaptive"},
                    "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": schema}},
                    "service_tier": "flex", "stream": true,
                }),
            ),
            _ => (
                "/v1beta/models/m-1:streamGenerateContent?alt=sse",
                ("x-goog-api-key", KEY.to_owned()),
                json!({
                    "systemInstruction": {"role": "model", "parts": [{"text": "Be brief.", "thought": false}]},
                    "contents": [
                        {"role": "user", "parts": [
                            {"text": "What is this?", "thought": false},
                            {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}, "thought": false},
                        ]},
                        {"role": "model", "parts": [
                            {"functionCall": {"name": "weather", "args": {"city": "Rome"}}},
                            {"functionCall": {"name": "weather", "args": {"city": "Oslo"}}},
                        ]},
                        {"role": "user", "parts": [
                            {"functionResponse": {"name": "weather", "response": {"result": {"sun": true}}}, "thought": false},
                            {"functionResponse": {"name": "weather", "response": {"error": "no such city"}}, "thought": false},
                        ]},
                    ],
                    "tools": [{"functionDeclarations": [{"name": "weather", "description": "Tells it.", "parametersJsonSchema": parameters}], "codeExecution": null}],
                    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowed_function_names": ["weather"]}},
                    "generationConfig": {
                        "temperature": 0.5, "maxOutputTokens": 77, "topP": 0.9, "topK": 40, "presencePenalty": 0.25,
                        "frequencyPenalty": 0.75, "stopSequences": ["END"], "seed": 42,
                        "thinkingConfig": {"thinkingLevel": "low"},
                        "responseMimeType": "application/json", "responseJsonSchema": schema,
                    },
                    "safetySettings": null, "service_tier": "flex",
                }),
            ),
        };
        assert_eq!(asked.target, target, "{wire}");
        assert_eq!(asked.headers[key.0], key.1, "{wire}");
        assert_eq!(asked.body, expected, "{wire} was sent\n{:#}", asked.body);
    }
}

#[tokio::test]
async fn tool_choices_reach_the_wire() {
    for (choice, expected) in [
        ("none", [json!("none"), json!("none"), json!({"type": "none"}), json!("NONE")]),
        ("required", [json!("required"), json!("required"), json!({"type": "any"}), json!("ANY")]),
    ] {
        for ((wire, _), expected) in WIRES.into_iter().zip(expected) {
            let tools = json!([{"name": "weather", "description": "", "inputSchema": {"type": "object"}}]);
            let asked = call(
                json!({"messages": [{"role": "user", "content": "hi"}], "tools": tools, "toolChoice": choice}),
            );
            let (_, _, body) = answer(wire, Reply::stream(greeting(wire)), asked).await;
            let found = if wire == "gemini" {
                &body["toolConfig"]["functionCallingConfig"]["mode"]
            } else {
                &body["tool_choice"]
            };
            assert_eq!(*found, expected, "{wire} {choice}");
        }
    }
}

// --- Failures ---

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
