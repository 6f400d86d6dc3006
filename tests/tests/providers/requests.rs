//! What reaches the wire.

use lathe::model::ModelCall;
use lathe_tests::provider_server::{ProviderServer, Reply};
use serde_json::json;

use crate::wires::{WIRES, greeting};
use crate::{KEY, answer, call, collect, model};

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
