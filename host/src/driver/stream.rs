//! A model's events, as the turn's chunks.

use crate::model::ModelEvent;
use crate::turn::{Answer, Chunk, Json};

/// Takes an event into the answer, and says which chunk it is, if it is one.
pub(super) fn take(answer: &mut Answer, event: ModelEvent) -> Option<Chunk> {
    let chunk = match event {
        ModelEvent::ResponseMetadata { id, model_id } => {
            answer.response_id = id.or(answer.response_id.take());
            answer.response_model = model_id.or(answer.response_model.take());
            return None;
        }
        ModelEvent::Finish { reason, raw_reason, usage, provider_metadata } => {
            answer.finish_reason = reason;
            answer.raw_finish_reason = raw_reason;
            answer.usage = usage;
            answer.provider_metadata = provider_metadata;
            return None;
        }
        ModelEvent::TextStart { id } => Chunk::TextStart { id },
        ModelEvent::TextDelta { id, delta } => Chunk::TextDelta { id, text: delta },
        ModelEvent::TextEnd { id, provider_metadata } => Chunk::TextEnd { id, provider_metadata },
        ModelEvent::ReasoningStart { id } => Chunk::ReasoningStart { id },
        ModelEvent::ReasoningDelta { id, delta } => Chunk::ReasoningDelta { id, text: delta },
        ModelEvent::ReasoningEnd { id, provider_metadata } => Chunk::ReasoningEnd { id, provider_metadata },
        ModelEvent::ToolInputStart { id, tool_name } => Chunk::ToolInputStart { tool_call_id: id, tool_name },
        ModelEvent::ToolInputDelta { id, delta } => Chunk::ToolInputDelta { tool_call_id: id, delta },
        ModelEvent::ToolInputEnd { id } => Chunk::ToolInputEnd { tool_call_id: id },
        ModelEvent::ToolCall { id, tool_name, input, provider_metadata } => {
            let (input, malformed) = read(input);
            Chunk::ToolCall { tool_call_id: id, tool_name, input, malformed, provider_metadata }
        }
        ModelEvent::Source { id, url, title } => Chunk::Source { id, url, title },
        ModelEvent::File { media_type, url } => Chunk::File { media_type, url },
    };
    answer.push(&chunk);
    Some(chunk)
}

/// A tool's input; the text itself and what is wrong with it, where it is no JSON object. A tool without parameters is
/// often called with nothing at all, which is meant as `{}`.
fn read(input: String) -> (Json, Option<String>) {
    if input.trim().is_empty() {
        return (Json::Object(Default::default()), None);
    }
    match serde_json::from_str::<Json>(&input) {
        Ok(value) if value.is_object() => (value, None),
        Ok(value) => (value, Some("it must be a JSON object".into())),
        Err(error) => (Json::String(input), Some(format!("it is not JSON: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn inputs_that_are_no_object_are_kept_and_marked() {
        for (input, value, fits) in [
            ("{\"a\":1}", json!({"a": 1}), true),
            (" ", json!({}), true),
            ("[1]", json!([1]), false),
            ("null", json!(null), false),
            ("{\"a\":", json!("{\"a\":"), false),
        ] {
            let (read, malformed) = read(input.into());
            assert_eq!((read, malformed.is_none()), (value, fits), "{input}");
        }
        let deep = "[".repeat(10_000);
        assert!(read(deep).1.is_some_and(|reason| reason.contains("recursion limit")));
    }
}
