//! Traces of turns, as a collector gets them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use lathe::agent::AgentBuilder;
use lathe::extensions::ExtensionSettings;
use lathe::hooks::{HookResult, Hooks, TurnContext};
use lathe::telemetry::Exporter;
use lathe::turn::{Telemetry, TurnConfig};
use lathe_tests::binary::Folder;
use lathe_tests::collector::{Collector, Sent};
use lathe_tests::house::{House, call, load, says, settings};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::AnyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::{Value, json};
use tracing_subscriber::layer::SubscriberExt;

/// What a user says, a model and a tool: none of it is for everybody.
const PROMPT: &str = "my password is hunter2";
const ANSWER: &str = "the answer is forty-two";

/// Sets what a provider is asked with.
struct Warm;

#[async_trait]
impl Hooks for Warm {
    async fn before_turn(&self, _: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
        let mut config: TurnConfig = serde_json::from_value(json!({"temperature": 0.5, "topK": 3}))?;
        config.telemetry = Some(Telemetry { function_id: Some("triage".into()), ..Telemetry::default() });
        Ok(Some(config))
    }
}

/// The spans of a trace.
struct Trace {
    spans: Vec<Span>,
    bytes: Vec<u8>,
}

impl Trace {
    fn of(collector: &Collector) -> Self {
        let (mut spans, mut bytes) = (Vec::new(), Vec::new());
        for Sent { line, body } in collector.sent() {
            assert_eq!(line, "POST /v1/traces HTTP/1.1");
            let request = ExportTraceServiceRequest::decode(&*body).unwrap();
            let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
            spans.extend(scopes.flat_map(|scope| scope.spans));
            bytes.extend(body);
        }
        Self { spans, bytes }
    }

    fn span(&self, name: &str) -> &Span {
        let named: Vec<&Span> = self.spans.iter().filter(|span| span.name == name).collect();
        let names: Vec<&str> = self.spans.iter().map(|span| &*span.name).collect();
        assert!(!named.is_empty(), "no {name} in {names:?}");
        named[0]
    }

    /// The name of the span that it stands in.
    fn parent(&self, name: &str) -> &str {
        let id = &self.span(name).parent_span_id;
        self.spans.iter().find(|span| span.span_id == *id).map_or("", |span| &span.name)
    }

    fn says(&self, text: &str) -> bool {
        self.bytes.windows(text.len()).any(|window| window == text.as_bytes())
    }
}

fn attributes(span: &Span) -> HashMap<String, Value> {
    span.attributes.iter().map(|pair| (pair.key.clone(), plain(pair.value.as_ref()))).collect()
}

fn plain(value: Option<&AnyValue>) -> Value {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Any::StringValue(text)) => json!(text),
        Some(Any::BoolValue(is)) => json!(is),
        Some(Any::IntValue(number)) => json!(number),
        Some(Any::DoubleValue(number)) => json!(number),
        Some(Any::ArrayValue(list)) => list.values.iter().map(|value| plain(Some(value))).collect(),
        other => json!(format!("{other:?}")),
    }
}

/// One turn, traced.
async fn traced(script: &Value, build: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Trace {
    let collector = Collector::start();
    let exporter = Exporter::new(&collector.url()).unwrap();
    let subscriber = tracing_subscriber::registry().with(exporter.layer());
    let listening = tracing::subscriber::set_default(subscriber);
    let house = House::new(script, |agent| build(agent.name("desk"))).await;
    drop(house.send(PROMPT).await);
    drop(listening);
    tokio::task::spawn_blocking(|| exporter.close().unwrap()).await.unwrap();
    Trace::of(&collector)
}

/// A turn with a tool of an extension, and another extension that has a hook.
async fn usual(content: bool) -> Trace {
    let rules = settings("house-rules", &json!({"rules": ["Be kind."]}));
    let extensions = load(&["house-rules", "calc"], [rules].into()).await;
    let script = json!([call("c1", "calc_evaluate", &json!({"expression": "6000 * 7"})), says(ANSWER)]);
    traced(&script, |agent| agent.hooks(Arc::new(Warm)).extensions(extensions).trace_content(content)).await
}

#[tokio::test]
async fn a_turn_is_a_tree_of_spans_by_the_conventions() {
    let trace = usual(false).await;
    for (name, parent) in [
        ("invoke_agent desk", ""),
        ("chat test", "invoke_agent desk"),
        ("execute_tool calc_evaluate", "invoke_agent desk"),
        ("beforeTurn house-rules", "invoke_agent desk"),
    ] {
        assert_eq!(trace.parent(name), parent, "{name}");
        assert_eq!(trace.span(name).trace_id, trace.span("invoke_agent desk").trace_id, "{name}");
    }
    for (name, expected) in [
        (
            "invoke_agent desk",
            json!({
                "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk",
                "gen_ai.conversation.id": "s", "gen_ai.usage.input_tokens": 20,
                "gen_ai.usage.output_tokens": 10, "lathe.steps": 2, "lathe.status": "completed",
                "lathe.trigger": "programmatic", "lathe.function_id": "triage",
            }),
        ),
        (
            "chat test",
            json!({
                "gen_ai.operation.name": "chat", "gen_ai.provider.name": "scripted",
                "gen_ai.request.model": "test", "gen_ai.request.temperature": 0.5,
                "gen_ai.request.top_k": 3, "gen_ai.usage.input_tokens": 10,
                "gen_ai.usage.output_tokens": 5, "lathe.attempt": 1,
            }),
        ),
        (
            "execute_tool calc_evaluate",
            json!({
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "calc_evaluate",
                "gen_ai.tool.call.id": "c1", "gen_ai.tool.type": "function", "lathe.extension": "calc",
            }),
        ),
        (
            "beforeTurn house-rules",
            json!({"lathe.extension": "house-rules", "lathe.hook": "beforeTurn", "lathe.denied": 0}),
        ),
    ] {
        let got = attributes(trace.span(name));
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(got.get(key), Some(value), "{key} of {name} in {got:?}");
        }
        assert!(!got.contains_key("error.type"), "{name}: {got:?}");
    }
    let chats = trace.spans.iter().filter(|span| span.name == "chat test").map(attributes);
    let reasons: Vec<Value> = chats.map(|chat| chat["gen_ai.response.finish_reasons"].clone()).collect();
    assert_eq!(reasons, [json!(["tool-calls"]), json!(["stop"])]);
    assert!(attributes(trace.span("beforeTurn house-rules"))["lathe.fuel"].as_i64() > Some(0));
    assert!(attributes(trace.span("execute_tool calc_evaluate"))["lathe.fuel"].as_i64() > Some(0));
}

#[tokio::test]
async fn what_is_said_is_in_a_trace_only_if_that_is_asked_for() {
    let said = [PROMPT, ANSWER, "6000 * 7", "SYS", "Be kind."];
    let without = usual(false).await;
    let with = usual(true).await;
    for text in said {
        assert!(!without.says(text) && with.says(text), "{text}");
    }
    let tool = attributes(with.span("execute_tool calc_evaluate"));
    assert_eq!(tool["gen_ai.tool.call.arguments"], "{\"expression\":\"6000 * 7\"}");
    assert!(tool["gen_ai.tool.call.result"].as_str().unwrap().contains("42000"), "{tool:?}");
    let chat = attributes(with.span("chat test"));
    let asked: Value = serde_json::from_str(chat["gen_ai.input.messages"].as_str().unwrap()).unwrap();
    assert_eq!(asked[0]["parts"][0], json!({"type": "text", "content": PROMPT}));
}

#[tokio::test]
async fn failures_have_a_type_and_no_text() {
    let deed = json!({"do": "panic"}).as_object().unwrap().clone();
    let rogue = ExtensionSettings { settings: deed, ..Default::default() };
    let extensions = load(&["rogue"], [("rogue".to_owned(), rogue)].into()).await;
    let script = json!([call("c1", "rogue_act", &json!({})), {"error": "hunter2 is no password"}]);
    let trace = traced(&script, |agent| agent.extensions(extensions).chat_recovery(None)).await;
    for (name, kind) in [
        ("beforeTurn rogue", "trap"),
        ("execute_tool rogue_act", "ExtensionError"),
        ("invoke_agent desk", "_OTHER"),
    ] {
        let span = trace.span(name);
        assert_eq!(attributes(span).get("error.type"), Some(&json!(kind)), "{name}");
        assert_eq!(span.status.as_ref().unwrap().code, 2, "{name}");
    }
    let chats = trace.spans.iter().filter(|span| span.name == "chat test").map(attributes);
    let kinds: Vec<Option<Value>> = chats.map(|chat| chat.get("error.type").cloned()).collect();
    assert_eq!(kinds, [None, Some(json!("other"))]);
    assert!(!trace.says("hunter2"), "an error's text may hold anything");
}

#[tokio::test]
async fn the_binary_sends_all_before_it_ends() {
    let collector = Collector::start();
    let folder = Folder::new().with(&["calc"]);
    let config = format!("[telemetry]\notlp = \"{}\"\ncontent = true", collector.url());
    folder.write("lathe.toml", config);
    let ran = folder.lathe(&["run", "What is 21 * 2?"]);
    assert!(ran.code == Some(0) && !ran.err.contains("traces"), "{ran:?}");
    let trace = Trace::of(&collector);
    assert_eq!(trace.parent("execute_tool calc_evaluate"), "invoke_agent lathe");
    assert_eq!(trace.parent("chat demo"), "invoke_agent lathe");
    assert!(trace.says("What is 21 * 2?") && trace.says("service.name"));

    let ran = folder.lathe(&["run", "--otlp", "http://127.0.0.1:9", "Hello"]);
    assert_eq!(ran.code, Some(0), "a collector that is not there holds nothing up: {ran:?}");
    assert!(ran.err.contains("traces were not sent") || ran.err.contains("xport"), "{ran:?}");
    let ran = folder.lathe(&["run", "--otlp", "nowhere", "Hello"]);
    assert!(ran.code == Some(2) && ran.err.contains("traces cannot be sent to nowhere"), "{ran:?}");
}
