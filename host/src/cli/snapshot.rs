//! What a hook is shown, out of the JSON that somebody has typed.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::problem::Problem;
use crate::hooks::{
    ChatErrorSnapshot, ChatResponseSnapshot, ChunkSnapshot, Hook, Observation, StepFinishSnapshot,
    StepSnapshot, ToolCallSnapshot, ToolResultSnapshot, TurnSnapshot,
};
use crate::turn::{
    CallOutcome, ChatStage, Chunk, FinishReason, Json, JsonObject, ToolOutput, Trigger, TurnStatus, Usage,
};

/// The hooks, in the order of a turn.
pub(super) const HOOKS: [Hook; 8] = [
    Hook::BeforeTurn,
    Hook::BeforeStep,
    Hook::BeforeToolCall,
    Hook::AfterToolCall,
    Hook::OnStepFinish,
    Hook::OnChunk,
    Hook::OnChatResponse,
    Hook::OnChatError,
];

/// What a hook is shown.
#[derive(Clone)]
pub(super) enum Shown {
    Turn(TurnSnapshot),
    Step(Arc<StepSnapshot>),
    ToolCall(Arc<ToolCallSnapshot>),
    ToolResult(Arc<ToolResultSnapshot>),
    /// One, or several of the stream at once.
    Observations(Hook, Vec<Observation>),
}

impl Shown {
    /// The fields that `input` has, and defaults for the others.
    pub(super) fn read(hook: Hook, input: Json) -> Result<Self, Problem> {
        let of = |observation| Self::Observations(hook, vec![observation]);
        Ok(match hook {
            Hook::BeforeTurn => Self::Turn(overlay(turn(), input)?),
            Hook::BeforeStep => Self::Step(Arc::new(overlay(step(), input)?)),
            Hook::BeforeToolCall => Self::ToolCall(Arc::new(overlay(tool_call(), input)?)),
            Hook::AfterToolCall => Self::ToolResult(Arc::new(overlay(tool_result(), input)?)),
            Hook::OnStepFinish => of(Observation::StepFinish(Arc::new(overlay(step_finish(), input)?))),
            Hook::OnChatResponse => of(Observation::ChatResponse(Arc::new(overlay(chat_response(), input)?))),
            Hook::OnChatError => of(Observation::ChatError(Arc::new(overlay(chat_error(), input)?))),
            Hook::OnChunk => Self::Observations(hook, chunks(input)?),
        })
    }

    pub(super) fn hook(&self) -> Hook {
        match self {
            Self::Turn(_) => Hook::BeforeTurn,
            Self::Step(_) => Hook::BeforeStep,
            Self::ToolCall(_) => Hook::BeforeToolCall,
            Self::ToolResult(_) => Hook::AfterToolCall,
            Self::Observations(hook, _) => *hook,
        }
    }
}

/// Puts the fields of `input` in the place of those of `base`.
fn overlay<T: Serialize + DeserializeOwned>(base: T, input: Json) -> Result<T, Problem> {
    let Json::Object(input) = input else { return Err(Problem::new("a snapshot is a JSON object")) };
    let mut fields = match serde_json::to_value(base) {
        Ok(Json::Object(fields)) => fields,
        _ => JsonObject::new(),
    };
    fields.extend(input);
    serde_json::from_value(Json::Object(fields))
        .map_err(|error| Problem::new(format!("the snapshot is not usable: {error}")))
}

/// Chunks of the stream, as `lathe run --json` prints them; one may stand without a list.
fn chunks(input: Json) -> Result<Vec<Observation>, Problem> {
    let list = match input {
        Json::Array(list) => list,
        Json::Object(fields) if fields.is_empty() => {
            vec![serde_json::json!({"type": "text-delta", "id": "0", "text": "Hello"})]
        }
        one => vec![one],
    };
    let read = |chunk| -> Result<Observation, Problem> {
        let chunk: Chunk = serde_json::from_value(chunk).map_err(|error| {
            Problem::new(format!("the chunk is not usable: {error}"))
                .hint(r#"such as {"type": "text-delta", "id": "0", "text": "Hello"}, or a list of them"#)
        })?;
        Ok(Observation::Chunk(Arc::new(ChunkSnapshot(chunk))))
    };
    list.into_iter().map(read).collect()
}

fn turn() -> TurnSnapshot {
    TurnSnapshot {
        system: "You are a helpful assistant.".into(),
        tool_names: Vec::new(),
        message_count: 1,
        max_steps: 10,
        continuation: false,
        body: None,
        model_id: "demo".into(),
        request_id: "request-1".into(),
        trigger: Trigger::Programmatic,
    }
}

fn step() -> StepSnapshot {
    let TurnSnapshot { request_id, system, tool_names, message_count, model_id, .. } = turn();
    let total_usage = Usage::default();
    StepSnapshot { request_id, step_number: 0, system, tool_names, message_count, model_id, total_usage }
}

fn tool_call() -> ToolCallSnapshot {
    ToolCallSnapshot {
        tool_call_id: "call-1".into(),
        tool_name: "tool".into(),
        input: Json::Object(JsonObject::new()),
        step_number: 0,
        dynamic: false,
    }
}

fn tool_result() -> ToolResultSnapshot {
    let ToolCallSnapshot { tool_call_id, tool_name, input, step_number, dynamic } = tool_call();
    ToolResultSnapshot {
        tool_call_id,
        tool_name,
        input,
        step_number,
        duration_ms: 1.0,
        outcome: CallOutcome::Executed,
        output: ToolOutput::Output(Json::Null),
        dynamic,
    }
}

fn step_finish() -> StepFinishSnapshot {
    StepFinishSnapshot {
        step_number: 0,
        finish_reason: FinishReason::Stop,
        text: String::new(),
        reasoning_text: String::new(),
        tool_call_count: 0,
        tool_result_count: 0,
        usage: Usage::default(),
        provider_metadata: None,
    }
}

fn chat_response() -> ChatResponseSnapshot {
    ChatResponseSnapshot {
        request_id: "request-1".into(),
        continuation: false,
        status: TurnStatus::Completed,
        error: None,
        text: String::new(),
        step_count: 1,
        total_usage: Usage::default(),
    }
}

fn chat_error() -> ChatErrorSnapshot {
    ChatErrorSnapshot {
        request_id: Some("request-1".into()),
        stage: ChatStage::Turn,
        message: "something went wrong".into(),
        classification: None,
        messages_persisted: true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_hook_can_be_shown_something_without_a_word() {
        for hook in HOOKS {
            assert_eq!(Shown::read(hook, json!({})).unwrap().hook(), hook);
        }
    }

    #[test]
    fn what_is_typed_stands_and_the_rest_is_the_default() {
        let Shown::Turn(shown) = Shown::read(Hook::BeforeTurn, json!({"maxSteps": 3})).unwrap() else {
            panic!("another hook")
        };
        assert_eq!(shown, TurnSnapshot { max_steps: 3, ..turn() });
        for (input, said) in [
            (json!({"maxStep": 3}), "unknown field `maxStep`, expected one of `system`"),
            (json!({"maxSteps": "3"}), "invalid type: string"),
            (json!([]), "a snapshot is a JSON object"),
        ] {
            let error = Shown::read(Hook::BeforeTurn, input).err().unwrap();
            assert!(error.message().contains(said), "{error:?}");
        }
    }

    #[test]
    fn chunks_come_alone_or_in_lists() {
        let chunk = json!({"type": "start-step"});
        for (input, count) in [(chunk.clone(), 1), (json!([chunk, chunk]), 2), (json!({}), 1)] {
            let Shown::Observations(_, chunks) = Shown::read(Hook::OnChunk, input).unwrap() else {
                panic!("another hook")
            };
            assert_eq!(chunks.len(), count);
        }
        assert!(Shown::read(Hook::OnChunk, json!({"type": "word"})).is_err());
    }
}
