//! The parts of a turn's stream as the AI SDK's UI message chunks, version 6.

use serde_json::json;

use crate::agent::TurnEvent;
use crate::turn::{Chunk, Json, ProviderMetadata};

/// The chunk that clients are sent; none if they learn it otherwise, from the frame that ends the stream or from the
/// chunk that follows.
pub(super) fn ui(chunk: &Chunk, continuation: bool) -> Option<Json> {
    Some(match chunk {
        // The client goes on in the message that it has.
        Chunk::Start { .. } if continuation => json!({"type": "start"}),
        Chunk::Start { message_id } => json!({"type": "start", "messageId": message_id}),
        Chunk::StartStep => json!({"type": "start-step"}),
        Chunk::TextStart { id } => json!({"type": "text-start", "id": id}),
        Chunk::TextDelta { id, text } => json!({"type": "text-delta", "id": id, "delta": text}),
        Chunk::TextEnd { id, provider_metadata } => {
            with(json!({"type": "text-end", "id": id}), provider_metadata.as_ref())
        }
        Chunk::ReasoningStart { id } => json!({"type": "reasoning-start", "id": id}),
        Chunk::ReasoningDelta { id, text } => json!({"type": "reasoning-delta", "id": id, "delta": text}),
        Chunk::ReasoningEnd { id, provider_metadata } => {
            with(json!({"type": "reasoning-end", "id": id}), provider_metadata.as_ref())
        }
        Chunk::ToolInputStart { tool_call_id, tool_name } => {
            json!({"type": "tool-input-start", "toolCallId": tool_call_id, "toolName": tool_name})
        }
        Chunk::ToolInputDelta { tool_call_id, delta } => {
            json!({"type": "tool-input-delta", "toolCallId": tool_call_id, "inputTextDelta": delta})
        }
        Chunk::ToolCall { tool_call_id, tool_name, input, malformed, provider_metadata } => {
            let mut value = json!({
                "type": "tool-input-available",
                "toolCallId": tool_call_id,
                "toolName": tool_name,
                "input": input,
            });
            if let Some(error) = malformed {
                value["type"] = json!("tool-input-error");
                value["errorText"] = json!(error);
                // The input is as it should be: it is the tool that is not known.
                if input.is_object() {
                    value["dynamic"] = json!(true);
                }
            }
            with(value, provider_metadata.as_ref())
        }
        Chunk::ToolResult { tool_call_id, output, preliminary, .. } => {
            let mut value =
                json!({"type": "tool-output-available", "toolCallId": tool_call_id, "output": output});
            if *preliminary {
                value["preliminary"] = json!(true);
            }
            value
        }
        Chunk::ToolError { tool_call_id, error, .. } => {
            json!({"type": "tool-output-error", "toolCallId": tool_call_id, "errorText": error.message})
        }
        Chunk::ToolApprovalRequest { approval_id, tool_call_id, .. } => {
            json!({"type": "tool-approval-request", "approvalId": approval_id, "toolCallId": tool_call_id})
        }
        Chunk::Source { id, url, title } => {
            let mut value = json!({"type": "source-url", "sourceId": id, "url": url});
            if let Some(title) = title {
                value["title"] = json!(title);
            }
            value
        }
        Chunk::File { media_type, url } => json!({"type": "file", "mediaType": media_type, "url": url}),
        Chunk::FinishStep { .. } => json!({"type": "finish-step"}),
        Chunk::Finish { finish_reason, .. } => json!({"type": "finish", "finishReason": finish_reason}),
        Chunk::ToolInputEnd { .. } | Chunk::Abort | Chunk::Error { .. } => return None,
    })
}

/// What happens around the answer, for clients that ask for it: `data-hook-call`, `data-tool-cost`,
/// `data-extension-health`, `data-retry`, which clients keep no part of.
pub(super) fn observed(event: &TurnEvent) -> Option<Json> {
    let Json::Object(mut data) = json!(event) else { return None };
    let Some(Json::String(kind)) = data.remove("type") else { return None };
    Some(json!({"type": format!("data-{kind}"), "data": data, "transient": true}))
}

fn with(mut value: Json, metadata: Option<&ProviderMetadata>) -> Json {
    if let Some(metadata) = metadata {
        value["providerMetadata"] = json!(metadata);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(chunk: &Json) -> Option<Json> {
        ui(&serde_json::from_value(chunk.clone()).unwrap(), false)
    }

    #[test]
    fn each_chunk_has_its_form() {
        let usage = json!({"inputTokens": 1, "outputTokens": 1, "totalTokens": 2});
        for (chunk, expected) in [
            (json!({"type": "start", "messageId": "m"}), json!({"type": "start", "messageId": "m"})),
            (
                json!({"type": "text-delta", "id": "0", "text": "a"}),
                json!({"type": "text-delta", "id": "0", "delta": "a"}),
            ),
            (
                json!({"type": "reasoning-end", "id": "0", "providerMetadata": {"p": {"signature": "s"}}}),
                json!({"type": "reasoning-end", "id": "0", "providerMetadata": {"p": {"signature": "s"}}}),
            ),
            (
                json!({"type": "tool-input-delta", "toolCallId": "c", "delta": "{"}),
                json!({"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": "{"}),
            ),
            (
                json!({"type": "tool-call", "toolCallId": "c", "toolName": "t", "input": "{", "malformed": "no JSON"}),
                json!({"type": "tool-input-error", "toolCallId": "c", "toolName": "t", "input": "{", "errorText": "no JSON"}),
            ),
            (
                json!({"type": "tool-result", "toolCallId": "c", "toolName": "t", "output": 1, "preliminary": true}),
                json!({"type": "tool-output-available", "toolCallId": "c", "output": 1, "preliminary": true}),
            ),
            (
                json!({"type": "source", "id": "s", "url": "https://a.example"}),
                json!({"type": "source-url", "sourceId": "s", "url": "https://a.example"}),
            ),
            (
                json!({"type": "finish", "finishReason": "content-filter", "totalUsage": usage}),
                json!({"type": "finish", "finishReason": "content-filter"}),
            ),
        ] {
            assert_eq!(mapped(&chunk), Some(expected));
        }
        assert_eq!(mapped(&json!({"type": "abort"})), None);
    }

    #[test]
    fn what_happens_around_the_answer_has_its_type() {
        let retry = crate::agent::Retry { attempt: 2, delay_ms: 500, error: "busy".into() };
        let data = json!({"attempt": 2, "delayMs": 500, "error": "busy"});
        let expected = json!({"type": "data-retry", "data": data, "transient": true});
        assert_eq!(observed(&TurnEvent::Retry(retry)), Some(expected));
    }

    #[test]
    fn a_continuation_has_no_message_of_its_own() {
        let start = Chunk::Start { message_id: "m".into() };
        assert_eq!(ui(&start, true), Some(json!({"type": "start"})));
    }
}
