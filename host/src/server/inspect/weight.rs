//! About how many bytes an event takes up: what it has that may be large, and a fixed part for the rest.

use crate::agent::{ChatEvent, SessionEvent, TranscriptEvent, TurnEvent};
use crate::turn::{Chunk, ConfigChange, Json, JsonObject, ProviderMetadata, ToolState, UiMessage, UiPart};

/// Of an event, a message's part or a JSON value beside its texts.
const FIXED: usize = 256;
const PART: usize = 64;
const VALUE: usize = 32;

pub(super) fn weight(event: &SessionEvent) -> usize {
    FIXED
        + match event {
            SessionEvent::Turn { event, .. } => turn(event),
            SessionEvent::TurnEnded { error, .. } => text(error.as_ref()),
            SessionEvent::Chat { event } => chat(event),
            SessionEvent::Transcript { event } => transcript(event),
            SessionEvent::TurnStarted { .. } => 0,
        }
}

fn turn(event: &TurnEvent) -> usize {
    match event {
        TurnEvent::Chunk(part) => chunk(part),
        TurnEvent::HookCall(call) => {
            let dropped: usize = call.dropped.iter().map(String::len).sum();
            set(&call.changes) + dropped + text(call.error.as_ref())
        }
        TurnEvent::ConfigChange(changes) => set(&changes.changes),
        TurnEvent::ToolCost(cost) => text(cost.error.as_ref()),
        TurnEvent::Health(change) => text(change.error.as_ref()),
        TurnEvent::Retry(retry) => retry.error.len(),
        TurnEvent::Transcript(event) => transcript(event),
        TurnEvent::Chat(event) => chat(event),
    }
}

fn set(changes: &[ConfigChange]) -> usize {
    changes.iter().map(|change| json(&change.value)).sum()
}

fn chunk(chunk: &Chunk) -> usize {
    match chunk {
        Chunk::TextDelta { text, .. } | Chunk::ReasoningDelta { text, .. } => text.len(),
        Chunk::ToolInputDelta { delta, .. } => delta.len(),
        Chunk::TextEnd { provider_metadata, .. }
        | Chunk::ReasoningEnd { provider_metadata, .. }
        | Chunk::FinishStep { provider_metadata, .. } => metadata(provider_metadata.as_ref()),
        Chunk::ToolCall { input, malformed, provider_metadata, .. } => {
            json(input) + text(malformed.as_ref()) + metadata(provider_metadata.as_ref())
        }
        Chunk::ToolResult { output, details, .. } => json(output) + details.as_ref().map_or(0, json),
        Chunk::ToolError { error, .. } => error.message.len(),
        Chunk::Source { url, title, .. } => url.len() + text(title.as_ref()),
        Chunk::File { url, .. } => url.len(),
        Chunk::Error { error } => error.len(),
        Chunk::Start { .. }
        | Chunk::StartStep
        | Chunk::TextStart { .. }
        | Chunk::ReasoningStart { .. }
        | Chunk::ToolInputStart { .. }
        | Chunk::ToolInputEnd { .. }
        | Chunk::ToolApprovalRequest { .. }
        | Chunk::Finish { .. }
        | Chunk::Abort => 0,
    }
}

fn chat(event: &ChatEvent) -> usize {
    match event {
        ChatEvent::TurnFinish { error, .. } => text(error.as_ref()),
        ChatEvent::RecoveryFailed { error, .. } => error.len(),
        _ => 0,
    }
}

fn transcript(event: &TranscriptEvent) -> usize {
    match event {
        TranscriptEvent::UserMessage { message: one } | TranscriptEvent::MessageUpdated { message: one } => {
            message(one)
        }
        TranscriptEvent::Arrived { messages } => messages.iter().map(message).sum(),
    }
}

fn message(message: &UiMessage) -> usize {
    let UiMessage { parts, metadata, .. } = message;
    parts.iter().map(part).sum::<usize>() + metadata.as_ref().map_or(0, json)
}

fn part(part: &UiPart) -> usize {
    PART + match part {
        UiPart::Text { text, provider_metadata, .. } | UiPart::Reasoning { text, provider_metadata, .. } => {
            text.len() + metadata(provider_metadata.as_ref())
        }
        UiPart::StepStart => 0,
        UiPart::Tool(tool) => {
            json(&tool.input)
                + state(&tool.state)
                + metadata(tool.call_provider_metadata.as_ref())
                + object(&tool.other)
        }
        UiPart::Other(fields) => object(fields),
    }
}

fn state(state: &ToolState) -> usize {
    match state {
        ToolState::OutputAvailable(output) => json(output),
        ToolState::OutputError(error) => error.len(),
        _ => 0,
    }
}

fn metadata(metadata: Option<&ProviderMetadata>) -> usize {
    metadata.map_or(0, object)
}

fn json(value: &Json) -> usize {
    VALUE
        + match value {
            Json::String(text) => text.len(),
            Json::Array(list) => list.iter().map(json).sum(),
            Json::Object(fields) => object(fields),
            Json::Null | Json::Bool(_) | Json::Number(_) => 0,
        }
}

fn object(fields: &JsonObject) -> usize {
    fields.iter().map(|(key, value)| VALUE + key.len() + json(value)).sum()
}

fn text(text: Option<&String>) -> usize {
    text.map_or(0, String::len)
}
