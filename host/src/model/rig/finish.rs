//! The end of an answer: why, in whose words, and what it cost.

use rig_core::completion::{CompletionResponse, FinishReason as Ended, Usage as Counted};

use super::super::ModelEvent;
use super::super::registry::ProviderKind;
use super::metadata::Keeper;
use crate::turn::{FinishReason, Json, JsonObject, Usage};

/// The last event of an answer.
pub(super) fn finish(
    kind: ProviderKind,
    keeper: &Keeper,
    response: &CompletionResponse,
    calls: bool,
) -> ModelEvent {
    let ended = response.finish_reason();
    let raw = raw_reason(kind, &response.raw).or_else(|| match &ended {
        Some(Ended::Other(reason)) => Some(reason.clone()),
        _ => None,
    });
    let mut told = JsonObject::new();
    if let Some(tokens) = response.usage.cache_creation_input_tokens.filter(|tokens| *tokens > 0) {
        told.insert("cacheCreationInputTokens".into(), tokens.into());
    }
    if let Some(error) = &response.error {
        // Why it refused, in its own words.
        told.insert("error".into(), error.clone().into());
    }
    let reason = match ended {
        Some(Ended::Stop) if calls => FinishReason::ToolCalls,
        Some(Ended::Stop) => FinishReason::Stop,
        Some(Ended::Length) => FinishReason::Length,
        Some(Ended::ToolCalls) => FinishReason::ToolCalls,
        Some(Ended::ContentFilter) => FinishReason::ContentFilter,
        Some(Ended::Other(reason)) if is_failure(&reason) => FinishReason::Error,
        _ => FinishReason::Other,
    };
    let provider_metadata = keeper.under_key(told);
    ModelEvent::Finish { reason, raw_reason: raw, usage: usage(&response.usage), provider_metadata }
}

/// A server's own `error`, and what Gemini calls a call that it could not write.
fn is_failure(reason: &str) -> bool {
    matches!(reason, "error" | "failed" | "cancelled") || reason.starts_with("MALFORMED")
}

fn raw_reason(kind: ProviderKind, raw: &Json) -> Option<String> {
    let places: &[&str] = match kind {
        ProviderKind::Openai => &["/choices/0/finish_reason"],
        ProviderKind::OpenaiResponses => &["/incomplete_details/reason", "/status"],
        ProviderKind::Anthropic => &["/stop_reason"],
        ProviderKind::Gemini => &["/candidates/0/finishReason"],
    };
    places.iter().find_map(|place| raw.pointer(place).and_then(Json::as_str)).map(str::to_owned)
}

fn usage(counted: &Counted) -> Usage {
    let (input, output) = (counted.input_tokens, counted.output_tokens);
    Usage {
        input_tokens: input,
        output_tokens: output,
        total_tokens: counted.total_tokens.or_else(|| Some(input?.saturating_add(output?))),
        reasoning_tokens: counted.reasoning_tokens,
        cached_input_tokens: counted.cached_input_tokens,
    }
}
