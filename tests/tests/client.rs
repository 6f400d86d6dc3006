//! Tools that a client runs, and calls that a person must approve; `behaviour_…` are numbered as in `think.md` §8.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use lathe::Session;
use lathe::agent::{AnswerError, ChatRequest, SessionEvent, Watcher};
use lathe::hooks::{HookResult, Hooks, ToolCallContext, ToolResultContext, TurnContext};
use lathe::turn::{
    ToolDecision, ToolDefinition, ToolError, ToolOverride, ToolState, Trigger, TurnConfig, TurnStatus,
    UiMessage,
};
use lathe_tests::house::{House, call, says, watch};
use lathe_tests::tool::FnTool;
use parking_lot::Mutex;
use serde_json::{Value, json};

fn ask_color() -> Vec<ToolDefinition> {
    let tool =
        json!({"name": "askColor", "description": "asks", "inputSchema": {"type": "object"}, "client": true});
    vec![serde_json::from_value(tool).unwrap()]
}

fn paint() -> ChatRequest {
    ChatRequest { client_tools: Some(ask_color()), ..ChatRequest::from("paint") }
}

/// The two calls of one answer.
fn two_calls() -> Value {
    json!({"toolCalls": [
        {"id": "c0", "name": "askColor", "input": {"q": "wall?"}},
        {"id": "c1", "name": "askColor", "input": {"q": "door?"}},
    ]})
}

/// Waits for the end of the next turn.
async fn next_end(watcher: &mut Watcher) -> TurnStatus {
    loop {
        if let SessionEvent::TurnEnded { status, .. } = watcher.next().await.unwrap() {
            return status;
        }
    }
}

/// Whether no turn ends for a while, many times what a continuation waits for.
async fn nothing_ends(watcher: &mut Watcher) -> bool {
    tokio::time::timeout(Duration::from_millis(500), next_end(watcher)).await.is_err()
}

async fn states(session: &Session) -> Vec<ToolState> {
    let messages = session.messages().await.unwrap();
    messages.iter().flat_map(UiMessage::tools).map(|tool| tool.state.clone()).collect()
}

#[tokio::test]
async fn a_client_tool_ends_the_turn_and_its_result_continues_it() {
    let house = House::plain(&json!([call("c0", "askColor", &json!({"q": "?"})), says("Blue.")])).await;
    let session = house.session().await;
    let mut watcher = session.watch();
    let result = session.send(paint()).await.unwrap().finish().await;
    assert_eq!((result.status, result.steps), (TurnStatus::Completed, 1));
    assert_eq!(states(&session).await, [ToolState::InputAvailable]);
    assert_eq!(next_end(&mut watcher).await, TurnStatus::Completed);
    session.tool_result("c0", Ok(json!("blue")), true).await.unwrap();
    assert_eq!(next_end(&mut watcher).await, TurnStatus::Completed);
    assert_eq!(states(&session).await, [ToolState::OutputAvailable(json!("blue"))]);
    assert_eq!(house.transcript().await, ["user: paint", "assistant: ", "assistant: Blue."]);
    let offered: Vec<&str> = house.model.requests()[1].tools.iter().map(|_| "askColor").collect();
    assert_eq!(offered, ["askColor"], "the client's tools hold for the continuation");
}

#[tokio::test]
async fn behaviour_25_two_calls_continue_once_and_only_when_both_are_answered() {
    let house = House::plain(&json!([two_calls(), says("Done.")])).await;
    let session = house.session().await;
    drop(session.send(paint()).await.unwrap().finish().await);
    let mut watcher = session.watch();
    session.tool_result("c0", Ok(json!("blue")), true).await.unwrap();
    assert!(nothing_ends(&mut watcher).await);
    session.tool_result("c1", Ok(json!("red")), true).await.unwrap();
    assert_eq!(next_end(&mut watcher).await, TurnStatus::Completed);
    assert!(nothing_ends(&mut watcher).await);
    assert_eq!(house.requests().len(), 2);
}

#[tokio::test]
async fn results_that_come_at_once_are_all_kept() {
    let house = House::plain(&json!([two_calls(), says("Done.")])).await;
    let session = house.session().await;
    drop(session.send(paint()).await.unwrap().finish().await);
    let mut watcher = session.watch();
    let (a, b) = tokio::join!(
        session.tool_result("c0", Ok(json!("blue")), true),
        session.tool_result("c1", Ok(json!("red")), true)
    );
    a.unwrap();
    b.unwrap();
    assert_eq!(next_end(&mut watcher).await, TurnStatus::Completed);
    let answered = [ToolState::OutputAvailable(json!("blue")), ToolState::OutputAvailable(json!("red"))];
    assert_eq!(states(&session).await, answered);
    assert_eq!(house.requests().len(), 2);
}

#[tokio::test]
async fn behaviour_28_a_failed_sibling_without_go_on_completes_an_armed_batch_and_starts_none_alone() {
    let house = House::plain(&json!([two_calls(), says("Done.")])).await;
    let session = house.session().await;
    drop(session.send(paint()).await.unwrap().finish().await);
    let mut watcher = session.watch();
    session.tool_result("c0", Err(ToolError::failed("the user left")), false).await.unwrap();
    assert!(nothing_ends(&mut watcher).await);
    session.tool_result("c1", Ok(json!("red")), true).await.unwrap();
    assert_eq!(next_end(&mut watcher).await, TurnStatus::Completed);
    assert_eq!(states(&session).await[0], ToolState::OutputError("the user left".into()));

    let house = House::plain(&json!([two_calls(), says("Done.")])).await;
    let session = house.session().await;
    drop(session.send(paint()).await.unwrap().finish().await);
    let mut watcher = session.watch();
    session.tool_result("c1", Ok(json!("red")), true).await.unwrap();
    session.tool_result("c0", Err(ToolError::failed("the user left")), false).await.unwrap();
    assert_eq!(next_end(&mut watcher).await, TurnStatus::Completed);
}

#[tokio::test]
async fn behaviour_26_a_result_that_comes_before_the_answer_is_stored_is_kept() {
    // The slow tool of the same step keeps the turn open while the client is quicker.
    let slow = FnTool::new("slow", |_, _| async {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        Ok(json!("done").into())
    });
    let script = json!([
        {"toolCalls": [{"id": "c0", "name": "askColor", "input": {}}, {"id": "c1", "name": "slow", "input": {}}]},
        says("Blue."),
    ]);
    let house = House::new(&script, |agent| agent.tool(slow.arc())).await;
    let session = house.session().await;
    let turn = session.send(paint()).await.unwrap();
    let mut watcher = session.watch();
    tokio::time::sleep(Duration::from_millis(100)).await;
    session.tool_result("c0", Ok(json!("blue")), true).await.unwrap();
    drop(turn.finish().await);
    assert_eq!(states(&session).await[0], ToolState::OutputAvailable(json!("blue")));
    assert_eq!(next_end(&mut watcher).await, TurnStatus::Completed);
    assert_eq!(next_end(&mut watcher).await, TurnStatus::Completed, "and the turn goes on after it");
    assert_eq!(house.requests().len(), 2);
}

#[tokio::test]
async fn an_answer_that_nobody_waits_for_is_an_error_and_changes_nothing() {
    let house = House::plain(&json!([call("c0", "askColor", &json!({})), says("x")])).await;
    let session = house.session().await;
    drop(session.send(paint()).await.unwrap().finish().await);
    let unknown = session.tool_result("c9", Ok(json!(1)), true).await;
    assert!(matches!(unknown, Err(AnswerError::NotWaiting(id)) if id == "c9"));
    assert!(
        session.approve("c0", true, None, true).await.is_err(),
        "it waits for a result, not for an approval"
    );
    session.tool_result("c0", Ok(json!(1)), false).await.unwrap();
    assert!(session.tool_result("c0", Ok(json!(2)), false).await.is_err());
    assert_eq!(states(&session).await, [ToolState::OutputAvailable(json!(1))]);
}

#[tokio::test]
async fn a_client_cannot_put_its_tool_in_the_place_of_the_agents() {
    let own = FnTool::answers("askColor", json!("the agent's own"));
    let house =
        House::new(&json!([call("c0", "askColor", &json!({})), says("x")]), |agent| agent.tool(own.arc()))
            .await;
    drop(house.session().await.send(paint()).await.unwrap().finish().await);
    assert_eq!(states(&house.session().await).await, [ToolState::OutputAvailable(json!("the agent's own"))]);
}

/// A house whose tool `pay` needs approval, and counts its runs.
async fn shop(hooks: Arc<dyn Hooks>) -> (House, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let pay = FnTool::new("pay", move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Ok(json!("paid").into()))
    });
    let script = json!([call("c0", "pay", &json!({"amount": 5})), says("Paid."), says("Later.")]);
    let house =
        House::new(&script, |agent| agent.tool(pay.with(|tool| tool.needs_approval = true)).hooks(hooks))
            .await;
    (house, runs)
}

/// Notes which tool hooks are called, and decides as told.
#[derive(Default)]
struct Gate {
    seen: Mutex<Vec<String>>,
    block: bool,
}

#[async_trait]
impl Hooks for Gate {
    async fn before_turn(&self, turn: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
        self.seen.lock().push(format!("turn {} {}", turn.continuation, turn.messages.len()));
        if turn.continuation {
            assert_eq!(turn.trigger, Trigger::AutoContinuation);
        }
        Ok(None)
    }

    async fn before_tool_call(&self, call: &ToolCallContext<'_>) -> HookResult<Option<ToolDecision>> {
        self.seen.lock().push(format!("before {}", call.input));
        Ok(self.block.then_some(ToolDecision::Block { reason: Some("not today".into()) }))
    }

    async fn after_tool_call(&self, call: &ToolResultContext<'_>) -> HookResult<Option<ToolOverride>> {
        self.seen.lock().push(format!("after {}", call.record.success()));
        Ok(None)
    }
}

#[tokio::test]
async fn behaviour_27_an_approved_call_runs_once_at_the_start_of_the_continuation() {
    let gate = Arc::new(Gate::default());
    let (house, runs) = shop(gate.clone()).await;
    let session = house.session().await;
    let (events, result) = watch(session.send("pay 5").await.unwrap()).await;
    assert_eq!((result.status, runs.load(Ordering::Relaxed)), (TurnStatus::Completed, 0));
    let asked =
        events.iter().map(|event| json!(event)).find(|event| event["type"] == "tool-approval-request");
    assert_eq!(asked.unwrap()["toolCallId"], "c0");
    assert_eq!(states(&session).await, [ToolState::ApprovalRequested]);
    let mut watcher = session.watch();
    session.approve("c0", true, None, true).await.unwrap();
    assert_eq!(states(&session).await, [ToolState::ApprovalResponded]);
    assert_eq!(next_end(&mut watcher).await, TurnStatus::Completed);
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    assert_eq!(states(&session).await, [ToolState::OutputAvailable(json!("paid"))]);
    assert_eq!(house.transcript().await, ["user: pay 5", "assistant: ", "assistant: Paid."]);
    let expected = ["turn false 1", "before {\"amount\":5}", "after true", "turn true 3"];
    assert_eq!(*gate.seen.lock(), expected, "hooks see the call when it runs, and the turn sees its result");
    drop(house.send("again").await);
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn behaviour_27_a_refused_call_never_runs_and_the_model_is_told() {
    let (house, runs) = shop(Arc::new(Gate::default())).await;
    let session = house.session().await;
    drop(session.send("pay 5").await.unwrap().finish().await);
    let mut watcher = session.watch();
    session.approve("c0", false, Some("too much".into()), true).await.unwrap();
    assert_eq!(next_end(&mut watcher).await, TurnStatus::Completed);
    assert_eq!((runs.load(Ordering::Relaxed), states(&session).await), (0, vec![ToolState::OutputDenied]));
    let told = json!(house.requests()[1].messages[2]);
    assert!(told["content"][0]["output"]["value"].as_str().unwrap().contains("too much"), "{told}");
}

#[tokio::test]
async fn a_gate_still_decides_over_an_approved_call() {
    let (house, runs) = shop(Arc::new(Gate { block: true, ..Gate::default() })).await;
    let session = house.session().await;
    drop(session.send("pay 5").await.unwrap().finish().await);
    let mut watcher = session.watch();
    session.approve("c0", true, None, true).await.unwrap();
    assert_eq!(next_end(&mut watcher).await, TurnStatus::Completed);
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    assert_eq!(states(&session).await, [ToolState::OutputAvailable(json!("not today"))]);
}

#[tokio::test]
async fn approvals_wait_through_a_restart() {
    let (house, runs) = shop(Arc::new(Gate::default())).await;
    drop(house.send("pay 5").await);
    // Nobody holds the session: what follows knows only what is stored.
    let session = house.session().await;
    session.approve("c0", true, None, false).await.unwrap();
    drop(session);
    let session = house.session().await;
    let mut watcher = session.watch();
    assert!(nothing_ends(&mut watcher).await, "not asked to go on, it does not");
    assert_eq!(runs.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn an_approval_that_is_not_answered_fails_the_call_when_the_user_goes_on() {
    let (house, runs) = shop(Arc::new(Gate::default())).await;
    drop(house.send("pay 5").await);
    drop(house.send("forget it").await);
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    let roles: Vec<Value> = house.requests()[1].messages.iter().map(|message| json!(message.role)).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "user"]);
    let error = json!(house.requests()[1].messages[2].content[0]);
    assert_eq!(error["output"]["type"], "error-text", "{error}");
}
