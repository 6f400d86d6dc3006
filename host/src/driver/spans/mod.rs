//! What a turn's trace says, in the words of OpenTelemetry's conventions for generative AI.
//!
//! Spans of the target `gen_ai` are made for traces alone: where nobody collects them, they cost a look at a number.
//! Texts of people, models and tools are in them only if the agent is told so.

mod content;

use serde::Serialize;
use tracing::Span;
use tracing::field::{Empty, display};

use crate::model::ModelError;
use crate::turn::{
    Answer, ErrorClass, Json, ModelCall, ToolError, ToolRun, TurnEnd, TurnStart, TurnStatus, Usage,
};

/// A turn: `invoke_agent NAME`.
pub(super) fn turn(agent: &str, session: &str, start: &TurnStart) -> Span {
    tracing::info_span!(
        target: "gen_ai",
        "invoke_agent",
        otel.name = format!("invoke_agent {agent}"),
        otel.status_code = Empty,
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = agent,
        gen_ai.conversation.id = session,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.reasoning.output_tokens = Empty,
        lathe.request_id = start.request_id,
        lathe.trigger = word(start.trigger),
        lathe.continuation = start.continuation,
        lathe.steps = Empty,
        lathe.status = Empty,
        lathe.function_id = Empty,
        lathe.metadata = Empty,
        "error.type" = Empty,
    )
}

/// Its end.
pub(super) fn turned(span: &Span, end: &TurnEnd, class: Option<ErrorClass>, usage: Usage, steps: usize) {
    if span.is_disabled() {
        return;
    }
    record_usage(span, &usage);
    span.record("lathe.steps", number(steps));
    span.record("lathe.status", word(end.status));
    if end.status == TurnStatus::Error {
        fail(span, &class.map_or_else(|| OTHER.into(), word));
    }
}

/// One model request: `chat MODEL`.
pub(super) fn chat(model: &str, call: &ModelCall, step: u32, attempt: u32, content: bool) -> Span {
    let (provider, name) = model.split_once(':').unwrap_or((model, model));
    let settings = &call.settings;
    let span = tracing::info_span!(
        target: "gen_ai",
        "chat",
        otel.name = format!("chat {name}"),
        otel.kind = "client",
        otel.status_code = Empty,
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = match provider {
            "openai-responses" => "openai",
            "gemini" => "gcp.gemini",
            other => other,
        },
        gen_ai.request.model = name,
        gen_ai.request.temperature = settings.temperature,
        gen_ai.request.top_p = settings.top_p,
        gen_ai.request.top_k = settings.top_k.map(i64::from),
        gen_ai.request.max_tokens = settings.max_output_tokens.map(i64::from),
        gen_ai.request.presence_penalty = settings.presence_penalty,
        gen_ai.request.frequency_penalty = settings.frequency_penalty,
        gen_ai.request.seed = settings.seed,
        gen_ai.response.id = Empty,
        gen_ai.response.model = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.reasoning.output_tokens = Empty,
        gen_ai.system_instructions = Empty,
        gen_ai.input.messages = Empty,
        gen_ai.output.messages = Empty,
        lathe.step = i64::from(step),
        lathe.attempt = i64::from(attempt),
        "error.type" = Empty,
    );
    if content && !span.is_disabled() {
        if let Some(system) = &call.system {
            span.record("gen_ai.system_instructions", display(content::system(system)));
        }
        span.record("gen_ai.input.messages", display(content::messages(&call.messages)));
    }
    span
}

/// What came of it, as far as it came.
pub(super) fn chatted(span: &Span, answer: &Answer, error: Option<&str>, content: bool) {
    if span.is_disabled() {
        return;
    }
    match error {
        Some(error) => fail(span, error),
        None => list(span, "gen_ai.response.finish_reasons", &word(answer.finish_reason)),
    }
    record_usage(span, &answer.usage);
    span.record("gen_ai.response.id", &answer.response_id);
    span.record("gen_ai.response.model", &answer.response_model);
    if content {
        span.record("gen_ai.output.messages", display(content::answer(answer)));
    }
}

/// The kind of a model's failure, in one word.
pub(super) fn kind(error: &ModelError) -> String {
    word(error.kind)
}

/// One call of a tool: `execute_tool NAME`.
pub(super) fn tool(run: &ToolRun, content: bool) -> Span {
    let span = tracing::info_span!(
        target: "gen_ai",
        "execute_tool",
        otel.name = format!("execute_tool {}", run.tool_name),
        otel.status_code = Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = run.tool_name,
        gen_ai.tool.call.id = run.tool_call_id,
        gen_ai.tool.type = "function",
        gen_ai.tool.call.arguments = Empty,
        gen_ai.tool.call.result = Empty,
        lathe.extension = Empty,
        lathe.fuel = Empty,
        lathe.memory_bytes = Empty,
        lathe.output_bytes = Empty,
        lathe.denied = Empty,
        "error.type" = Empty,
    );
    if content && !span.is_disabled() {
        span.record("gen_ai.tool.call.arguments", display(&run.input));
    }
    span
}

/// What it came to.
pub(super) fn ran(span: &Span, result: Result<&Json, &ToolError>, content: bool) {
    if span.is_disabled() {
        return;
    }
    if let Err(error) = result {
        fail(span, &error.name);
    }
    if content {
        match result {
            Ok(output) => span.record("gen_ai.tool.call.result", display(output)),
            Err(error) => span.record("gen_ai.tool.call.result", &*error.message),
        };
    }
}

/// For failures that nobody has classed, by the conventions.
pub(super) const OTHER: &str = "_OTHER";

fn fail(span: &Span, kind: &str) {
    span.record("error.type", kind);
    span.record("otel.status_code", "ERROR");
}

fn record_usage(span: &Span, usage: &Usage) {
    span.record("gen_ai.usage.input_tokens", usage.input_tokens.map(number));
    span.record("gen_ai.usage.output_tokens", usage.output_tokens.map(number));
    span.record("gen_ai.usage.cache_read.input_tokens", usage.cached_input_tokens.map(number));
    span.record("gen_ai.usage.reasoning.output_tokens", usage.reasoning_tokens.map(number));
}

/// OpenTelemetry has no numbers without a sign: they would become texts.
fn number(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// The word by which JSON knows it.
fn word(value: impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// A list of one text, which is none of the values that a span can have by itself.
#[cfg(feature = "otel")]
fn list(span: &Span, key: &'static str, text: &str) {
    use opentelemetry::{Array, StringValue, Value};
    use tracing_opentelemetry::OpenTelemetrySpanExt;

    span.set_attribute(key, Value::Array(Array::String(vec![StringValue::from(text.to_owned())])));
}

/// Without OpenTelemetry nobody could read it.
#[cfg(not(feature = "otel"))]
fn list(_: &Span, _: &'static str, _: &str) {}
