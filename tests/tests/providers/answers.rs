//! What streams are read into: text, calls, ends and ids.

use lathe::model::ModelEvent;
use lathe_tests::provider_server::Reply;
use serde_json::{Value, json};

use crate::wires::{
    WIRES, anthropic, block, chat, chat_end, finish, frames, gemini, gemini_end, greeting, item_id, metadata,
    responses, two_calls, with_metadata,
};
use crate::{answer, assert_events, call, hello};

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
