//! Between the host's words and the contract's.

use super::bindings::exports::lathe::extension::hooks as wit;
use super::bindings::lathe::extension::types as shared;
use super::grant::Grant;
use super::json::parse;
use super::size::{Size, texts};
use crate::hooks::{
    ChatErrorSnapshot, ChatResponseSnapshot, ChunkSnapshot, Failure, StepFinishSnapshot, StepSnapshot,
    ToolCallSnapshot, ToolResultSnapshot, TurnPatch, TurnSnapshot,
};
use crate::turn::{
    CallOutcome, CallSettings, ChatStage, Chunk, ConfigField, ErrorClass, FinishReason, Json, JsonObject,
    ModelMessage, StepConfig, ToolChoice, ToolDecision, ToolOutput, ToolOverride, Trigger, TurnConfig,
    TurnStatus, Usage,
};

impl From<TurnSnapshot> for wit::TurnSnapshot {
    fn from(from: TurnSnapshot) -> Self {
        Self {
            system: from.system,
            tool_names: from.tool_names,
            message_count: from.message_count,
            max_steps: from.max_steps,
            continuation: from.continuation,
            body: from.body.map(|body| body.to_string()),
            model_id: from.model_id,
            request_id: from.request_id,
            trigger: match from.trigger {
                Trigger::WsChat => wit::Trigger::WsChat,
                Trigger::Rpc => wit::Trigger::Rpc,
                Trigger::Programmatic => wit::Trigger::Programmatic,
                Trigger::Submission => wit::Trigger::Submission,
                Trigger::Scheduled => wit::Trigger::Scheduled,
                Trigger::AgentTool => wit::Trigger::AgentTool,
                Trigger::AutoContinuation => wit::Trigger::AutoContinuation,
                Trigger::RecoveryContinue => wit::Trigger::RecoveryContinue,
                Trigger::RecoveryRetry => wit::Trigger::RecoveryRetry,
            },
        }
    }
}

impl Size for wit::TurnSnapshot {
    fn size(&self) -> usize {
        self.system.len() + texts(&self.tool_names) + self.body.as_ref().map_or(0, String::len)
    }
}

impl From<&StepSnapshot> for wit::StepSnapshot {
    fn from(from: &StepSnapshot) -> Self {
        Self {
            request_id: from.request_id.clone(),
            step_number: from.step_number,
            system: from.system.clone(),
            tool_names: from.tool_names.clone(),
            message_count: from.message_count,
            model_id: from.model_id.clone(),
            total_usage: from.total_usage.into(),
        }
    }
}

impl Size for wit::StepSnapshot {
    fn size(&self) -> usize {
        self.system.len() + texts(&self.tool_names)
    }
}

impl From<&ToolCallSnapshot> for wit::ToolCallSnapshot {
    fn from(from: &ToolCallSnapshot) -> Self {
        Self {
            tool_call_id: from.tool_call_id.clone(),
            tool_name: from.tool_name.clone(),
            input: from.input.to_string(),
            step_number: from.step_number,
            dynamic: from.dynamic,
        }
    }
}

impl Size for wit::ToolCallSnapshot {
    fn size(&self) -> usize {
        self.input.len()
    }
}

impl From<&ToolResultSnapshot> for wit::ToolResultSnapshot {
    fn from(from: &ToolResultSnapshot) -> Self {
        Self {
            tool_call_id: from.tool_call_id.clone(),
            tool_name: from.tool_name.clone(),
            input: from.input.to_string(),
            step_number: from.step_number,
            duration_ms: from.duration_ms,
            outcome: match from.outcome {
                CallOutcome::Executed => wit::ToolOutcome::Executed,
                CallOutcome::Failed => wit::ToolOutcome::Failed,
                CallOutcome::Blocked => wit::ToolOutcome::Blocked,
                CallOutcome::Substituted => wit::ToolOutcome::Substituted,
                CallOutcome::Invalid => wit::ToolOutcome::Invalid,
                CallOutcome::Cancelled => wit::ToolOutcome::Cancelled,
            },
            result: match &from.output {
                ToolOutput::Output(value) => Ok(value.to_string()),
                ToolOutput::Error(error) => {
                    Err(shared::ErrorInfo { name: error.name.clone(), message: error.message.clone() })
                }
            },
            dynamic: from.dynamic,
        }
    }
}

impl Size for wit::ToolResultSnapshot {
    fn size(&self) -> usize {
        let result = self.result.as_ref().map_or_else(|error| error.message.len(), String::len);
        self.input.len() + result
    }
}

impl From<&StepFinishSnapshot> for wit::StepFinishSnapshot {
    fn from(from: &StepFinishSnapshot) -> Self {
        Self {
            step_number: from.step_number,
            finish_reason: match from.finish_reason {
                FinishReason::Stop => shared::FinishReason::Stop,
                FinishReason::Length => shared::FinishReason::Length,
                FinishReason::ContentFilter => shared::FinishReason::ContentFilter,
                FinishReason::ToolCalls => shared::FinishReason::ToolCalls,
                FinishReason::Error => shared::FinishReason::Error,
                FinishReason::Other => shared::FinishReason::Other,
            },
            text: from.text.clone(),
            reasoning_text: from.reasoning_text.clone(),
            tool_call_count: from.tool_call_count,
            tool_result_count: from.tool_result_count,
            usage: from.usage.into(),
            provider_metadata: from
                .provider_metadata
                .clone()
                .map(|metadata| Json::Object(metadata).to_string()),
        }
    }
}

impl Size for wit::StepFinishSnapshot {
    fn size(&self) -> usize {
        self.text.len() + self.reasoning_text.len() + self.provider_metadata.as_ref().map_or(0, String::len)
    }
}

impl From<&ChunkSnapshot> for wit::Chunk {
    fn from(ChunkSnapshot(chunk): &ChunkSnapshot) -> Self {
        Self {
            type_: match chunk {
                Chunk::Start { .. } => wit::ChunkType::Start,
                Chunk::StartStep => wit::ChunkType::StartStep,
                Chunk::TextStart { .. } => wit::ChunkType::TextStart,
                Chunk::TextDelta { .. } => wit::ChunkType::TextDelta,
                Chunk::TextEnd { .. } => wit::ChunkType::TextEnd,
                Chunk::ReasoningStart { .. } => wit::ChunkType::ReasoningStart,
                Chunk::ReasoningDelta { .. } => wit::ChunkType::ReasoningDelta,
                Chunk::ReasoningEnd { .. } => wit::ChunkType::ReasoningEnd,
                Chunk::ToolInputStart { .. } => wit::ChunkType::ToolInputStart,
                Chunk::ToolInputDelta { .. } => wit::ChunkType::ToolInputDelta,
                Chunk::ToolInputEnd { .. } => wit::ChunkType::ToolInputEnd,
                Chunk::ToolCall { .. } => wit::ChunkType::ToolCall,
                Chunk::ToolResult { .. } => wit::ChunkType::ToolResult,
                Chunk::ToolError { .. } => wit::ChunkType::ToolError,
                Chunk::ToolApprovalRequest { .. } => wit::ChunkType::ToolApprovalRequest,
                Chunk::Source { .. } => wit::ChunkType::Source,
                Chunk::File { .. } => wit::ChunkType::File,
                Chunk::FinishStep { .. } => wit::ChunkType::FinishStep,
                Chunk::Finish { .. } => wit::ChunkType::Finish,
                Chunk::Abort => wit::ChunkType::Abort,
                Chunk::Error { .. } => wit::ChunkType::Error,
            },
            text: chunk.text().map(str::to_owned),
            tool_name: chunk.tool_name().map(str::to_owned),
            tool_call_id: chunk.tool_call_id().map(str::to_owned),
        }
    }
}

impl Size for [wit::Chunk] {
    fn size(&self) -> usize {
        self.iter().map(|chunk| chunk.text.as_ref().map_or(0, String::len) + 64).sum()
    }
}

impl From<&ChatResponseSnapshot> for wit::ChatResponseSnapshot {
    fn from(from: &ChatResponseSnapshot) -> Self {
        Self {
            request_id: from.request_id.clone(),
            continuation: from.continuation,
            status: match from.status {
                TurnStatus::Completed => wit::TurnStatus::Completed,
                TurnStatus::Error => wit::TurnStatus::Error,
                TurnStatus::Aborted | TurnStatus::Skipped | TurnStatus::Interrupted => {
                    wit::TurnStatus::Aborted
                }
            },
            error: from.error.clone(),
            text: from.text.clone(),
            step_count: from.step_count,
            total_usage: from.total_usage.into(),
        }
    }
}

impl Size for wit::ChatResponseSnapshot {
    fn size(&self) -> usize {
        self.text.len() + self.error.as_ref().map_or(0, String::len)
    }
}

impl From<&ChatErrorSnapshot> for wit::ChatErrorSnapshot {
    fn from(from: &ChatErrorSnapshot) -> Self {
        Self {
            request_id: from.request_id.clone(),
            stage: match from.stage {
                ChatStage::Parse => wit::ErrorStage::Parse,
                ChatStage::Persist => wit::ErrorStage::Persist,
                ChatStage::Turn => wit::ErrorStage::Turn,
                ChatStage::Stream => wit::ErrorStage::Stream,
                ChatStage::Recovery => wit::ErrorStage::Recovery,
                ChatStage::Transcript => wit::ErrorStage::Transcript,
            },
            message: from.message.clone(),
            classification: from.classification.map(|class| match class {
                ErrorClass::ContextOverflow => wit::ErrorClassification::ContextOverflow,
                ErrorClass::RateLimit => wit::ErrorClassification::RateLimit,
                ErrorClass::Transient => wit::ErrorClassification::Transient,
                ErrorClass::Fatal => wit::ErrorClassification::Fatal,
                ErrorClass::Unknown => wit::ErrorClassification::Unknown,
            }),
            messages_persisted: from.messages_persisted,
        }
    }
}

impl Size for wit::ChatErrorSnapshot {
    fn size(&self) -> usize {
        self.message.len()
    }
}

impl From<Usage> for shared::Usage {
    fn from(from: Usage) -> Self {
        Self {
            input_tokens: from.input_tokens,
            output_tokens: from.output_tokens,
            total_tokens: from.total_tokens,
            reasoning_tokens: from.reasoning_tokens,
            cached_input_tokens: from.cached_input_tokens,
        }
    }
}

/// Reads what an extension wants changed. What cannot be read, or is out of range, or is not its to change, is left
/// out and named; the rest counts.
pub(super) fn patch(from: wit::TurnConfig, grant: &Grant, depth: usize) -> TurnPatch {
    let mut dropped = Vec::new();
    let mut reset = Vec::new();
    for name in from.reset {
        match ConfigField::from_name(&name) {
            Some(field) => reset.push(field),
            None => dropped.push(format!("reset: there is no field \"{name}\"")),
        }
    }
    let model = model(from.model, grant, &mut dropped);
    let mut headers = JsonObject::new();
    for (name, value) in from.headers {
        if header_is_valid(&name, &value) {
            headers.insert(name, Json::String(value));
        } else {
            dropped.push(format!("headers: \"{name}\" is not a valid header"));
        }
    }
    let mut config = TurnConfig {
        model,
        instructions: None,
        system: from.system,
        messages: read(from.messages, "messages", depth, &mut dropped),
        active_tools: from.active_tools,
        tool_choice: from.tool_choice.map(ToolChoice::from),
        max_steps: from.max_steps,
        send_reasoning: from.send_reasoning,
        max_retries: from.max_retries,
        timeout_ms: from.timeout_ms,
        // Not for extensions (`think.md` §3.6).
        tools: None,
        stop_when: None,
        chat_stream_stall_timeout_ms: None,
        telemetry: None,
        settings: CallSettings {
            max_output_tokens: from.max_output_tokens,
            temperature: from.temperature,
            top_p: from.top_p,
            top_k: from.top_k,
            presence_penalty: from.presence_penalty,
            frequency_penalty: from.frequency_penalty,
            stop_sequences: from.stop_sequences,
            seed: from.seed,
            reasoning_effort: None,
            output: None,
            headers,
            provider_options: read(from.provider_options, "providerOptions", depth, &mut dropped)
                .unwrap_or_default(),
        },
    };
    for (field, reason) in config.drop_invalid() {
        let name = serde_json::to_value(field).unwrap_or_default();
        dropped.push(format!("{}: {reason}", name.as_str().unwrap_or_default()));
    }
    TurnPatch { config, reset, dropped }
}

fn model(from: Option<String>, grant: &Grant, dropped: &mut Vec<String>) -> Option<String> {
    if from.is_some() && !grant.model {
        dropped.push("model: the permission `model` is not granted".to_owned());
        return None;
    }
    from
}

impl From<shared::ToolChoice> for ToolChoice {
    fn from(from: shared::ToolChoice) -> Self {
        match from {
            shared::ToolChoice::Auto => Self::Auto,
            shared::ToolChoice::None => Self::None,
            shared::ToolChoice::Required => Self::Required,
            shared::ToolChoice::Tool(tool_name) => Self::Tool { tool_name },
        }
    }
}

/// Reads what an extension wants changed for a step, and says what was left out.
pub(super) fn step_config(from: wit::StepConfig, grant: &Grant, depth: usize) -> (StepConfig, Vec<String>) {
    let mut dropped = Vec::new();
    let messages: Option<Vec<ModelMessage>> = read(from.messages, "messages", depth, &mut dropped);
    let config = StepConfig {
        model: model(from.model, grant, &mut dropped),
        system: from.system,
        messages,
        active_tools: from.active_tools,
        tool_choice: from.tool_choice.map(ToolChoice::from),
    };
    (config, dropped)
}

/// Reads a gate's answer. What cannot be read is the gate's failure: it must not become a yes.
pub(super) fn decision(
    from: wit::ToolDecision,
    extension: &str,
    grant: &Grant,
    depth: usize,
) -> Result<ToolDecision, Failure> {
    let parse = |text: &str| parse(text, depth);
    Ok(match from {
        wit::ToolDecision::Allow(input) => {
            ToolDecision::Allow { input: input.as_deref().map(parse).transpose()? }
        }
        wit::ToolDecision::Block(reason) => {
            let reason = reason.filter(|_| grant.reasons);
            ToolDecision::Block {
                reason: Some(reason.unwrap_or_else(|| format!("Blocked by the extension \"{extension}\"."))),
            }
        }
        wit::ToolDecision::Substitute(output) => ToolDecision::Substitute { output: parse(&output)? },
    })
}

/// Reads what a gate wants changed of a result.
pub(super) fn tool_override(from: &wit::ToolOverride, depth: usize) -> Result<ToolOverride, Failure> {
    Ok(ToolOverride {
        output: from.output.as_deref().map(|text| parse(text, depth)).transpose()?,
        is_error: from.is_error,
        terminate: from.terminate,
        details: None,
    })
}

fn read<T: serde::de::DeserializeOwned>(
    text: Option<String>,
    field: &str,
    depth: usize,
    dropped: &mut Vec<String>,
) -> Option<T> {
    match parse(&text?, depth) {
        Ok(value) => Some(value),
        Err(failure) => {
            dropped.push(format!("{field}: {failure}"));
            None
        }
    }
}

/// A token for a name, printable text for a value (RFC 9110 §5.1, §5.5).
fn header_is_valid(name: &str, value: &str) -> bool {
    let token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    !name.is_empty() && name.chars().all(token) && value.chars().all(|c| c == '\t' || !c.is_control())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn empty() -> wit::TurnConfig {
        wit::TurnConfig {
            system: None,
            messages: None,
            active_tools: None,
            tool_choice: None,
            max_steps: None,
            send_reasoning: None,
            max_output_tokens: None,
            temperature: None,
            top_p: None,
            top_k: None,
            presence_penalty: None,
            frequency_penalty: None,
            stop_sequences: None,
            seed: None,
            max_retries: None,
            timeout_ms: None,
            headers: vec![],
            provider_options: None,
            model: None,
            reset: vec![],
        }
    }

    #[test]
    fn good_fields_count_and_bad_ones_are_named() {
        let patch = patch(
            wit::TurnConfig {
                system: Some("S".into()),
                max_steps: Some(0),
                temperature: Some(f64::NAN),
                top_k: Some(3),
                messages: Some("{".into()),
                provider_options: Some("[]".into()),
                headers: vec![
                    ("x-a".into(), "1".into()),
                    ("x\nb".into(), "2".into()),
                    ("x-c".into(), "a\r\nb".into()),
                ],
                model: Some("other".into()),
                reset: vec!["temperature".into(), "colour".into()],
                ..empty()
            },
            &Grant::default(),
            100,
        );
        assert_eq!(
            serde_json::to_value(&patch.config).unwrap(),
            json!({"system": "S", "topK": 3, "headers": {"x-a": "1"}})
        );
        assert_eq!(patch.reset, [ConfigField::Temperature]);
        let fields: Vec<&str> = patch.dropped.iter().filter_map(|text| text.split(':').next()).collect();
        assert_eq!(
            fields,
            [
                "reset",
                "model",
                "headers",
                "headers",
                "messages",
                "providerOptions",
                "maxSteps",
                "temperature"
            ]
        );
    }

    #[test]
    fn deep_json_is_refused_not_followed() {
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let patch = patch(wit::TurnConfig { messages: Some(deep), ..empty() }, &Grant::default(), 100);
        assert_eq!(patch.config, TurnConfig::default());
        assert_eq!(patch.dropped.len(), 1);
    }
}
