//! The table of wires, and how each spells what the cases need.

use lathe::model::ProviderKind;
use serde_json::{Value, json};

/// The four protocols, by the provider name that stands for each here.
pub(super) const WIRES: [(&str, ProviderKind); 4] = [
    ("chat", ProviderKind::Openai),
    ("responses", ProviderKind::OpenaiResponses),
    ("anthropic", ProviderKind::Anthropic),
    ("gemini", ProviderKind::Gemini),
];

/// The frames of an event stream, each with the name that the protocol may want.
pub(super) fn frames(wire: &str, frames: &[Value]) -> String {
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

pub(super) fn chat(delta: Value) -> Value {
    json!({"id": "r-1", "model": "m-1-real", "choices": [{"index": 0, "delta": delta}]})
}

pub(super) fn chat_end(reason: &str) -> [Value; 2] {
    [
        json!({"id": "r-1", "model": "m-1-real", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}),
        json!({"id": "r-1", "model": "m-1-real", "choices": [], "usage": {
            "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
            "prompt_tokens_details": {"cached_tokens": 60}, "completion_tokens_details": {"reasoning_tokens": 5},
        }}),
    ]
}

pub(super) fn responses(output: &[Value], frames: Vec<Value>) -> Vec<Value> {
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

pub(super) fn anthropic(blocks: Vec<Value>, reason: &str) -> Vec<Value> {
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

pub(super) fn block(index: u32, start: Value, deltas: &[Value]) -> Vec<Value> {
    let mut all = vec![json!({"type": "content_block_start", "index": index, "content_block": start})];
    all.extend(
        deltas.iter().map(|delta| json!({"type": "content_block_delta", "index": index, "delta": delta})),
    );
    all.push(json!({"type": "content_block_stop", "index": index}));
    all
}

pub(super) fn gemini(parts: Value) -> Value {
    json!({"responseId": "r-1", "modelVersion": "m-1-real", "candidates": [{"content": {"role": "model", "parts": parts}}]})
}

pub(super) fn gemini_end(reason: &str) -> Value {
    json!({
        "responseId": "r-1", "modelVersion": "m-1-real", "candidates": [{"finishReason": reason}], "usageMetadata": {
            "promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 15, "thoughtsTokenCount": 5,
        },
    })
}

/// `Grüße` and `, Welt 🌍`, in each protocol's words.
pub(super) fn greeting(wire: &str) -> String {
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
pub(super) fn two_calls(wire: &str, ids: [&str; 2]) -> String {
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
pub(super) fn thinking(wire: &str) -> String {
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

pub(super) fn finish(wire: &str, calls: bool) -> Value {
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

pub(super) fn metadata() -> Value {
    json!({"type": "response-metadata", "id": "r-1", "modelId": "m-1-real"})
}

pub(super) fn item_id(wire: &str, id: &str) -> Option<Value> {
    (wire == "responses").then(|| json!({"openai": {"itemId": id, "model": "m-1"}}))
}

pub(super) fn with_metadata(mut event: Value, metadata: Option<Value>) -> Value {
    if let Some(metadata) = metadata {
        event["providerMetadata"] = metadata;
    }
    event
}
