//! What models, tools, hooks and users get wrong: each has a defined outcome.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use async_trait::async_trait;
use lathe::agent::Skipped;
use lathe::hooks::{ChatErrorContext, HookResult, Hooks, NextStepContext, StepContext, TurnContext};
use lathe::turn::{
    ChatStage, ErrorClass, ModelMessage, Role, StepConfig, StepUpdate, ToolState, TurnConfig, TurnStatus,
    UiMessage, UiRole,
};
use lathe_tests::house::{House, call, says};
use lathe_tests::tool::FnTool;
use parking_lot::Mutex;
use serde_json::{Value, json};

fn echo() -> Arc<dyn lathe::tools::Tool> {
    FnTool::new("echo", |input, _| std::future::ready(Ok(input.into()))).arc()
}

/// What became of the calls of a turn whose model makes these calls first.
async fn calls(calls: Value) -> Vec<ToolState> {
    let script = json!([{"toolCalls": calls}, says("done")]);
    let house = House::new(&script, |agent| agent.tool(echo())).await;
    let result = house.send("go").await;
    assert_eq!((result.status, &*result.text), (TurnStatus::Completed, "done"), "{:?}", result.error);
    result.message.iter().flat_map(UiMessage::tools).map(|tool| tool.state.clone()).collect()
}

fn error(state: &ToolState) -> &str {
    if let ToolState::OutputError(text) = state { text } else { "not an error" }
}

#[tokio::test]
async fn one_id_for_two_calls_gives_each_its_own_result() {
    let states = calls(json!([
        {"id": "c", "name": "echo", "input": {"n": 1}},
        {"id": "c", "name": "echo", "input": {"n": 2}},
    ]))
    .await;
    let expected = [ToolState::OutputAvailable(json!({"n": 1})), ToolState::OutputAvailable(json!({"n": 2}))];
    assert_eq!(states, expected);
}

#[tokio::test]
async fn an_input_that_is_no_json_object_is_told_to_the_model() {
    let deep = "[".repeat(10_000);
    let states = calls(json!([
        {"id": "a", "name": "echo", "input": "{\"n\": "},
        {"id": "b", "name": "echo", "input": [1, 2]},
        {"id": "c", "name": "echo", "input": deep},
        {"id": "d", "name": "echo", "input": format!("{}{}", "{\"a\":".repeat(10_000), "1")},
    ]))
    .await;
    assert!(error(&states[0]).contains("not JSON"), "{states:?}");
    assert!(error(&states[1]).contains("must be a JSON object"), "{states:?}");
    assert!(error(&states[2]).contains("recursion limit"), "{}", error(&states[2]));
    assert!(error(&states[3]).contains("recursion limit"), "{}", error(&states[3]));
}

#[tokio::test]
async fn an_empty_answer_is_an_answer() {
    let house = House::plain(&json!([{}])).await;
    let result = house.send("go").await;
    assert_eq!((result.status, &*result.text, result.steps), (TurnStatus::Completed, "", 1));
    assert_eq!(house.send("and now?").await.status, TurnStatus::Completed);
    let roles: Vec<Role> = house.requests()[1].messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::User], "the model is not shown an empty message");
}

#[tokio::test]
async fn an_output_of_50_mb_is_refused_and_the_model_is_told() {
    let large = FnTool::new("large", |_, _| std::future::ready(Ok(json!("x".repeat(50 << 20)).into())));
    let script = json!([call("c", "large", &json!({})), says("done")]);
    let house = House::new(&script, |agent| agent.tool(large.arc())).await;
    let result = house.send("go").await;
    assert_eq!((result.status, &*result.text), (TurnStatus::Completed, "done"));
    let message = result.message.unwrap();
    let state = &message.tools().next().unwrap().state;
    assert!(error(state).contains("larger than 4194304 bytes"), "{}", error(state));
}

/// Ends what the model is shown with the model's own words.
struct EndsWithAssistant(&'static str);

fn ending() -> Vec<ModelMessage> {
    vec![ModelMessage::text(Role::User, "q"), ModelMessage::text(Role::Assistant, "half an answer")]
}

#[async_trait]
impl Hooks for EndsWithAssistant {
    async fn before_turn(&self, _: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
        let messages = (self.0 == "before_turn").then(ending);
        Ok(Some(TurnConfig { messages, ..TurnConfig::default() }))
    }

    async fn before_step(&self, _: &StepContext<'_>) -> HookResult<Option<StepConfig>> {
        let messages = (self.0 == "before_step").then(ending);
        Ok(Some(StepConfig { messages, ..StepConfig::default() }))
    }

    async fn transform_context(&self, _: &[ModelMessage]) -> HookResult<Option<Vec<ModelMessage>>> {
        Ok((self.0 == "transform_context").then(ending))
    }

    async fn prepare_next_step(&self, _: &NextStepContext<'_>) -> HookResult<Option<StepUpdate>> {
        let messages = (self.0 == "prepare_next_step").then(ending);
        Ok(Some(StepUpdate { messages, ..StepUpdate::default() }))
    }
}

/// As in Think.
const CONTINUE: &str =
    "Continue your previous response from exactly where it left off. Do not repeat any of it.";

#[tokio::test]
async fn messages_that_end_with_the_models_words_are_continued() {
    for hook in ["before_turn", "before_step", "transform_context", "prepare_next_step"] {
        let script = json!([call("c", "echo", &json!({})), says("done")]);
        let hooks = Arc::new(EndsWithAssistant(hook));
        let house = House::new(&script, |agent| agent.tool(echo()).hooks(hooks)).await;
        assert_eq!(house.send("go").await.status, TurnStatus::Completed);
        for request in house.requests() {
            assert_ne!(request.messages.last().unwrap().role, Role::Assistant, "{hook}");
        }
        let continued = |message: &ModelMessage| json!(message)["content"][0]["text"] == CONTINUE;
        let requests = house.requests();
        assert!(requests.iter().any(|request| request.messages.iter().any(continued)), "{hook}");
    }
}

#[tokio::test]
async fn a_message_without_content_starts_no_turn() {
    let house = House::plain(&json!([says("never")])).await;
    let empty = UiMessage { id: "u".into(), role: UiRole::User, parts: Vec::new(), metadata: None };
    let result = house.session().await.send(empty).await.unwrap().finish().await;
    assert_eq!(result.skipped, Some(Skipped::Empty));
    assert_eq!((house.requests().len(), house.transcript().await.len()), (0, 0));
}

/// Leaves the model nothing to read.
struct Nothing;

#[async_trait]
impl Hooks for Nothing {
    async fn transform_context(&self, _: &[ModelMessage]) -> HookResult<Option<Vec<ModelMessage>>> {
        Ok(Some(Vec::new()))
    }
}

#[tokio::test]
async fn a_request_without_messages_is_not_made() {
    let house = House::new(&json!([says("never")]), |agent| agent.hooks(Arc::new(Nothing))).await;
    let result = house.send("go").await;
    assert_eq!(result.status, TurnStatus::Error);
    assert!(result.error.unwrap().contains("no messages"));
    assert_eq!(house.requests().len(), 0);
}

#[tokio::test]
async fn a_stream_that_never_ends_can_be_cancelled() {
    let house = House::plain(&json!([{"text": ["half", {"holdMs": 86_400_000}]}])).await;
    let mut turn = house.session().await.send("go").await.unwrap();
    while !matches!(turn.next().await, Some(event) if json!(event)["type"] == "text-delta") {}
    turn.cancel();
    let result = turn.finish().await;
    assert_eq!((result.status, &*result.text), (TurnStatus::Aborted, "half"));
}

#[tokio::test]
async fn a_stream_that_stalls_ends_with_an_error_if_so_asked() {
    let pause = std::time::Duration::from_millis(100);
    let script = json!([{"text": ["half", {"holdMs": 86_400_000}]}]);
    let house = House::new(&script, |agent| agent.chat_recovery(None).chat_stream_stall_timeout(pause)).await;
    let result = house.send("go").await;
    assert_eq!((result.status, &*result.text), (TurnStatus::Error, "half"));
    assert!(result.error.unwrap().contains("100 ms"));
}

#[tokio::test]
async fn a_tool_that_does_not_listen_is_left_behind() {
    let deaf = FnTool::new("deaf", |_, _| std::future::pending());
    let script = json!([call("c", "deaf", &json!({})), says("never")]);
    let house = House::new(&script, |agent| agent.tool(deaf.arc())).await;
    let mut turn = house.session().await.send("go").await.unwrap();
    while !matches!(turn.next().await, Some(event) if json!(event)["type"] == "tool-call") {}
    turn.cancel();
    let result = turn.finish().await;
    assert_eq!((result.status, result.steps), (TurnStatus::Aborted, 1));
    let message = result.message.unwrap();
    assert!(message.tools().next().unwrap().state.is_settled(), "every call has a result");
}

/// Fails before the stream, and says what is shown of it.
#[derive(Default)]
struct Fails(Mutex<Option<(Option<ErrorClass>, ChatStage, bool)>>);

#[async_trait]
impl Hooks for Fails {
    async fn before_turn(&self, _: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
        Err("429, slow down".into())
    }

    fn classify_chat_error(&self, error: &ChatErrorContext<'_>) -> Option<ErrorClass> {
        error.message.contains("429").then_some(ErrorClass::RateLimit)
    }

    fn on_chat_error(&self, error: &ChatErrorContext<'_>) -> String {
        *self.0.lock() = Some((error.classification, error.stage, error.messages_persisted));
        "Please wait a moment.".into()
    }
}

#[tokio::test]
async fn a_failure_before_the_stream_is_classified_told_and_put_in_words() {
    let hooks = Arc::new(Fails::default());
    let house = House::new(&json!([says("never")]), |agent| agent.hooks(hooks.clone())).await;
    let result = house.send("go").await;
    assert_eq!(result.error.as_deref(), Some("Please wait a moment."));
    assert_eq!(*hooks.0.lock(), Some((Some(ErrorClass::RateLimit), ChatStage::Turn, true)));
}
