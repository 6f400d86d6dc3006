//! Behaviours that users of Think rely on, by their numbers in `think.md` §8; 25 to 28 stand in `client.rs`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lathe::agent::{AgentBuilder, ChatRequest, Concurrency, SessionEvent, Skipped};
use lathe::extensions::{ExtensionSettings, Limits, LoadReason, Loaded, Loader};
use lathe::hooks::{HookResult, Hooks, StepContext, ToolCallContext, ToolResultContext, TurnContext};
use lathe::turn::{
    CallOutcome, StepConfig, ToolDecision, ToolDefinition, ToolOverride, ToolState, TurnConfig, TurnStatus,
    UiMessage,
};
use lathe::{Session, TurnEvent};
use lathe_tests::guests::guest;
use lathe_tests::house::{House, call, says, watch};
use lathe_tests::probe::Template;
use lathe_tests::tool::FnTool;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// Loads extensions that do as these plans say, in their order. The limits are for one that hangs.
async fn extensions(folder: &Path, plans: &[Value], limits: Limits) -> Loaded {
    let template = Template::read(&guest("probe")).unwrap();
    let mut settings = std::collections::BTreeMap::new();
    for (number, plan) in plans.iter().enumerate() {
        template.write(plan, &folder.join(format!("{number}.wasm"))).unwrap();
        let name = plan["name"].as_str().unwrap().to_owned();
        let limits = if name == "hangs" { limits.clone() } else { Limits::default() };
        settings.insert(name, ExtensionSettings { limits, ..Default::default() });
    }
    Loader::new().unwrap().settings(settings).load_dir(folder).await.unwrap()
}

fn before_turn(name: &str, config: &Value) -> Value {
    json!({"name": name, "hooks": {"beforeTurn": {"return": config}}})
}

fn adder() -> Value {
    json!({"name": "math", "tools": {"add": {"echo": true, "description": "adds"}}})
}

async fn with_extensions(script: &Value, plans: &[Value]) -> (tempfile::TempDir, House) {
    let folder = tempfile::tempdir().unwrap();
    let loaded = extensions(folder.path(), plans, Limits::default()).await;
    assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
    let house = House::new(script, |agent| agent.extensions(loaded.extensions)).await;
    (folder, house)
}

/// The result of the only tool call of a turn.
fn state(message: Option<&UiMessage>) -> ToolState {
    message.unwrap().tools().next().unwrap().state.clone()
}

#[tokio::test]
async fn behaviour_01_an_extensions_tool_is_offered_with_its_prefix_and_answers() {
    let script = json!([call("c", "math_add", &json!({"a": 1})), says("done")]);
    let (_folder, house) = with_extensions(&script, &[adder()]).await;
    let result = house.send("go").await;
    assert_eq!(state(result.message.as_ref()), ToolState::OutputAvailable(json!({"a": 1})));
}

#[tokio::test]
async fn behaviour_02_a_second_extension_of_one_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let loaded = extensions(folder.path(), &[adder(), adder()], Limits::default()).await;
    assert_eq!((loaded.extensions.len(), loaded.errors.len()), (1, 1));
    assert!(matches!(loaded.errors[0].reason, LoadReason::NameClash { .. }), "{}", loaded.errors[0]);
    std::fs::remove_file(folder.path().join("0.wasm")).unwrap();
    let again = Loader::new().unwrap().load_dir(folder.path()).await.unwrap();
    assert_eq!((again.extensions.len(), again.errors.len()), (1, 0), "with the first one gone it loads");
}

#[tokio::test]
async fn behaviour_03_a_tool_of_an_extension_that_is_gone_fails_and_is_not_offered() {
    let script = json!([call("c", "math_add", &json!({})), says("done")]);
    let house = House::plain(&script).await;
    let result = house.send("go").await;
    assert!(
        matches!(state(result.message.as_ref()), ToolState::OutputError(text) if text.contains("no tool"))
    );
    assert!(house.requests()[0].tools.is_empty());
}

#[tokio::test]
async fn behaviour_04_extensions_come_back_after_a_restart_and_removed_ones_do_not() {
    let folder = tempfile::tempdir().unwrap();
    extensions(folder.path(), &[adder(), before_turn("other", &json!({}))], Limits::default()).await;
    let names = async || -> Vec<String> {
        let loaded = Loader::new().unwrap().load_dir(folder.path()).await.unwrap();
        loaded.extensions.iter().map(|extension| extension.manifest.name.clone()).collect()
    };
    assert_eq!(names().await, ["math", "other"]);
    assert_eq!(names().await, ["math", "other"]);
    std::fs::remove_file(folder.path().join("0.wasm")).unwrap();
    assert_eq!(names().await, ["other"]);
}

#[tokio::test]
async fn behaviour_05_without_the_permission_there_is_no_network() {
    let settings = [lathe_tests::house::settings("rogue", &json!({"do": "network"}))].into();
    let loaded = lathe_tests::house::load(&["rogue"], settings).await;
    let script = json!([call("c", "rogue_act", &json!({})), says("done")]);
    let house = House::new(&script, |agent| agent.extensions(loaded)).await;
    let result = house.send("go").await;
    let ToolState::OutputAvailable(output) = state(result.message.as_ref()) else {
        panic!("{:?}", result.message)
    };
    assert!(output.to_string().contains("connected: 0 of"), "{output}");
}

#[tokio::test]
async fn behaviour_06_a_file_that_is_no_extension_is_a_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.wasm"), wat::parse_str("(component)").unwrap()).unwrap();
    let loaded = Loader::new().unwrap().load_dir(folder.path()).await.unwrap();
    assert!(loaded.extensions.is_empty());
    assert!(loaded.errors[0].to_string().contains("x.wasm"), "{}", loaded.errors[0]);
}

#[tokio::test]
async fn behaviour_07_an_extension_is_called_for_the_hooks_of_its_manifest_alone() {
    let (_folder, house) = with_extensions(&json!([says("hi")]), &[before_turn("one", &json!({}))]).await;
    let (events, _) = watch(house.session().await.send("go").await.unwrap()).await;
    let hooks: Vec<Value> = events
        .iter()
        .filter_map(|event| if let TurnEvent::HookCall(call) = event { Some(json!(call.hook)) } else { None })
        .collect();
    assert_eq!(hooks, ["beforeTurn"]);
}

#[tokio::test]
async fn behaviour_08_the_last_extension_wins_and_headers_are_merged() {
    let plans = [
        before_turn("one", &json!({"temperature": 0.1, "headers": {"x-a": "1", "x-b": "1"}})),
        before_turn("two", &json!({"temperature": 0.9, "headers": {"x-b": "2"}})),
    ];
    let (_folder, house) = with_extensions(&json!([says("hi")]), &plans).await;
    drop(house.send("go").await);
    let settings = &house.requests()[0].settings;
    assert_eq!(settings.temperature, Some(0.9));
    assert_eq!(json!(settings.headers), json!({"x-a": "1", "x-b": "2"}));
}

#[tokio::test]
async fn behaviour_09_extensions_that_throw_or_hang_are_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let plans = [
        json!({"name": "throws", "hooks": {"beforeTurn": {"throw": "kaput"}}}),
        json!({"name": "hangs", "hooks": {"beforeTurn": {"hangMs": 60_000}}}),
        before_turn("third", &json!({"temperature": 0.3})),
    ];
    let limits = Limits { hook_timeout_ms: 200, ..Limits::default() };
    let loaded = extensions(folder.path(), &plans, limits).await;
    let house = House::new(&json!([says("hi")]), |agent| agent.extensions(loaded.extensions)).await;
    let (events, result) = watch(house.session().await.send("go").await.unwrap()).await;
    assert_eq!(result.status, TurnStatus::Completed);
    assert_eq!(house.requests()[0].settings.temperature, Some(0.3));
    let failures: Vec<Value> = events
        .iter()
        .filter_map(
            |event| if let TurnEvent::HookCall(call) = event { Some(json!(call.failure)) } else { None },
        )
        .collect();
    assert_eq!(failures.len(), 3);
    assert!(failures[0].is_string() && failures[1].is_string() && failures[2].is_null(), "{failures:?}");
}

/// Notes every tool call, and decides as told.
#[derive(Default)]
struct Watcher {
    decision: Mutex<Option<Result<ToolDecision, String>>>,
    seen: Mutex<Vec<(CallOutcome, bool, Value)>>,
}

#[async_trait]
impl Hooks for Watcher {
    async fn before_tool_call(&self, _: &ToolCallContext<'_>) -> HookResult<Option<ToolDecision>> {
        Ok(self.decision.lock().clone().transpose()?)
    }

    async fn after_tool_call(&self, call: &ToolResultContext<'_>) -> HookResult<Option<ToolOverride>> {
        let record = call.record;
        assert!(record.duration_ms >= 0.0);
        self.seen.lock().push((record.outcome, record.success(), json!(record.output)));
        Ok(None)
    }
}

/// A turn that calls `act` once; what the hooks saw of it, whether it ran, and what the model read.
async fn decided(
    decision: Option<Result<ToolDecision, String>>,
    fails: bool,
) -> (Vec<(CallOutcome, bool, Value)>, usize, Value) {
    let runs = Arc::new(Mutex::new(0));
    let counted = runs.clone();
    let act = FnTool::new("act", move |_, _| {
        *counted.lock() += 1;
        let failed = lathe::turn::ToolError::failed("disk full");
        std::future::ready(if fails { Err(failed) } else { Ok(json!("acted").into()) })
    });
    let watcher = Arc::new(Watcher { decision: Mutex::new(decision), ..Watcher::default() });
    let script = json!([call("c", "act", &json!({})), says("done")]);
    let house = House::new(&script, |agent| agent.tool(act.arc()).hooks(watcher.clone())).await;
    assert_eq!(house.send("go").await.status, TurnStatus::Completed);
    let read = json!(house.requests()[1].messages[2])["content"][0]["output"]["value"].clone();
    let (seen, runs) = (watcher.seen.lock().clone(), *runs.lock());
    (seen, runs, read)
}

#[tokio::test]
async fn behaviour_10_an_observer_learns_of_success_and_failure() {
    let (seen, runs, _) = decided(None, false).await;
    assert_eq!((runs, seen[0].0, seen[0].1), (1, CallOutcome::Executed, true));
    assert_eq!(seen[0].2, json!({"output": "acted"}));
    let (seen, _, read) = decided(None, true).await;
    assert_eq!((seen[0].0, seen[0].1), (CallOutcome::Failed, false));
    assert_eq!(read, "disk full");
}

#[tokio::test]
async fn behaviour_11_a_blocked_call_does_not_run_and_the_model_reads_the_reason() {
    let block = ToolDecision::Block { reason: Some("read-only".into()) };
    let (seen, runs, read) = decided(Some(Ok(block)), false).await;
    assert_eq!((runs, read), (0, json!("read-only")));
    assert_eq!((seen[0].0, seen[0].1), (CallOutcome::Blocked, true));
}

#[tokio::test]
async fn behaviour_12_a_substitute_is_used_in_place_of_a_run() {
    let (seen, runs, read) =
        decided(Some(Ok(ToolDecision::Substitute { output: json!("cached") })), false).await;
    assert_eq!((runs, read), (0, json!("cached")));
    assert_eq!(seen[0].0, CallOutcome::Substituted);
}

#[tokio::test]
async fn behaviour_13_a_before_hook_that_throws_fails_the_call_and_not_the_turn() {
    let (seen, runs, read) = decided(Some(Err("hook broke".into())), false).await;
    assert_eq!((runs, read), (0, json!("hook broke")));
    assert_eq!((seen[0].0, seen[0].1), (CallOutcome::Failed, false));
}

/// Does for each stage what its function says.
struct Stages {
    turn: fn(&TurnContext<'_>) -> TurnConfig,
    step: fn(&StepContext<'_>) -> StepConfig,
    shown: Mutex<Vec<(u32, usize)>>,
}

#[async_trait]
impl Hooks for Stages {
    async fn before_turn(&self, turn: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
        Ok(Some((self.turn)(turn)))
    }

    async fn before_step(&self, step: &StepContext<'_>) -> HookResult<Option<StepConfig>> {
        self.shown.lock().push((step.step_number, step.messages.len()));
        Ok(Some((self.step)(step)))
    }
}

async fn stages(
    turn: fn(&TurnContext<'_>) -> TurnConfig,
    step: fn(&StepContext<'_>) -> StepConfig,
) -> (House, Arc<Stages>) {
    let hooks = Arc::new(Stages { turn, step, shown: Mutex::default() });
    let script = json!([call("c", "act", &json!({})), says("done")]);
    let tool = |name| FnTool::answers(name, json!(1)).arc();
    let own = hooks.clone();
    let house = House::new(&script, |agent| agent.tool(tool("act")).tool(tool("other")).hooks(own)).await;
    drop(house.send("go").await);
    (house, hooks)
}

#[tokio::test]
async fn behaviour_14_active_tools_are_the_only_ones_on_offer() {
    let turn =
        |_: &TurnContext<'_>| TurnConfig { active_tools: Some(vec!["act".into()]), ..Default::default() };
    let (house, _) = stages(turn, |_| StepConfig::default()).await;
    assert_eq!(house.requests()[0].tools.len(), 1);
}

#[tokio::test]
async fn behaviour_15_before_step_sees_the_history_grow_and_may_change_the_system() {
    let step = |step: &StepContext<'_>| StepConfig {
        system: Some(format!("step {}", step.step_number)),
        ..StepConfig::default()
    };
    let (house, hooks) = stages(|_| TurnConfig::default(), step).await;
    assert_eq!(*hooks.shown.lock(), [(0, 1), (1, 3)]);
    let systems: Vec<String> = house.requests().iter().filter_map(|request| request.system.clone()).collect();
    assert_eq!(systems, ["step 0", "step 1"]);
}

/// Whether each turn was a continuation.
#[derive(Default)]
struct Continuations(Mutex<Vec<bool>>);

#[async_trait]
impl Hooks for Continuations {
    async fn before_turn(&self, turn: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
        self.0.lock().push(turn.continuation);
        Ok(None)
    }
}

#[tokio::test]
async fn behaviour_16_before_turn_fires_on_every_way_in_with_its_continuation_flag() {
    let hooks = Arc::new(Continuations::default());
    let script = json!([says("a"), says("b"), says("c"), call("c0", "ask", &json!({})), says("d")]);
    let house = House::new(&script, |agent| agent.hooks(hooks.clone())).await;
    let session = house.session().await;
    drop(house.send("send").await);
    session.run_turn(vec![UiMessage::user("u", "run")]).await.unwrap();
    drop(session.continue_last_turn(None).unwrap().finish().await);
    client_turn(&session).await;
    let mut watcher = session.watch();
    session.tool_result("c0", Ok(json!(1)), true).await.unwrap();
    ended(&mut watcher).await;
    assert_eq!(*hooks.0.lock(), [false, false, true, false, true]);
}

async fn client_turn(session: &Session) {
    let tool =
        json!({"name": "ask", "description": "asks", "inputSchema": {"type": "object"}, "client": true});
    let tools: Vec<ToolDefinition> = vec![serde_json::from_value(tool).unwrap()];
    let request = ChatRequest { client_tools: Some(tools), ..ChatRequest::from("ask") };
    drop(session.send(request).await.unwrap().finish().await);
}

async fn ended(watcher: &mut lathe::agent::Watcher) {
    while !matches!(watcher.next().await.unwrap(), SessionEvent::TurnEnded { .. }) {}
}

#[tokio::test]
async fn behaviour_17_turns_run_one_after_the_other_in_order() {
    let house = House::plain(&json!([{"holdMs": 100, "text": ["a"]}, says("b")])).await;
    let session = house.session().await;
    let (first, second) = (session.send("1").await.unwrap(), session.send("2").await.unwrap());
    assert_eq!(second.finish().await.text, "b");
    assert_eq!(first.finish().await.text, "a");
}

#[tokio::test]
async fn behaviour_18_a_blocking_entry_inside_a_turn_is_an_error_and_add_messages_works() {
    let known: Arc<Mutex<Option<Session>>> = Arc::default();
    let own = known.clone();
    let inside = FnTool::new("inside", move |_, _| {
        let session = own.lock().clone().unwrap();
        async move {
            let refused = session.run_turn(vec![UiMessage::user("u", "u")]).await.is_err();
            session.add_messages(&[UiMessage::user("added", "added")], None).await.unwrap();
            Ok(json!(refused).into())
        }
    });
    let script = json!([call("c", "inside", &json!({})), says("done")]);
    let house = House::new(&script, |agent| agent.tool(inside.arc())).await;
    *known.lock() = Some(house.session().await);
    assert_eq!(state(house.send("go").await.message.as_ref()), ToolState::OutputAvailable(json!(true)));
    assert!(house.transcript().await.contains(&"user: added".to_owned()));
}

#[tokio::test]
async fn behaviour_19_turns_that_wait_at_a_reset_never_run() {
    let house = House::plain(&json!([{"holdMs": 1000, "text": ["a"]}, says("never")])).await;
    let session = house.session().await;
    let first = session.send("1").await.unwrap();
    let second = session.stream_turn(vec![UiMessage::user("2", "2")]).unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    session.reset();
    assert_eq!(second.finish().await.skipped, Some(Skipped::Reset));
    assert_eq!(first.finish().await.status, TurnStatus::Completed);
    assert_eq!(house.transcript().await, ["user: 1", "assistant: a"]);
}

#[tokio::test]
async fn behaviour_20_max_steps_bounds_the_requests() {
    let script = json!([call("c", "act", &json!({}))]);
    let build = |agent: AgentBuilder| agent.max_steps(3).tool(FnTool::answers("act", json!(1)).arc());
    let house = House::new(&script, build).await;
    assert_eq!(house.send("go").await.status, TurnStatus::Completed);
    assert_eq!(house.requests().len(), 3);
}

#[tokio::test]
async fn behaviour_21_overlapping_messages_follow_the_policy() {
    let pause = Concurrency::Debounce(Duration::from_millis(100));
    for (policy, ran, stored) in [
        (Concurrency::Queue, [true, true, true], 3),
        (Concurrency::Latest, [true, false, true], 3),
        (Concurrency::Merge, [true, false, true], 3),
        (Concurrency::Drop, [true, false, false], 1),
        (pause, [true, false, true], 3),
    ] {
        let script = json!([{"holdMs": 1000, "text": ["a"]}, says("b")]);
        let house = House::new(&script, |agent| agent.concurrency(policy)).await;
        let session = house.session().await;
        let mut turns = Vec::new();
        for text in ["1", "2", "3"] {
            turns.push(session.send(text).await.unwrap());
        }
        let mut done = Vec::new();
        for turn in turns {
            done.push(turn.finish().await.status == TurnStatus::Completed);
        }
        assert_eq!(done, ran, "{policy:?}");
        let users = house.transcript().await.iter().filter(|message| message.starts_with("user")).count();
        assert_eq!(users, stored, "{policy:?}");
    }
}

#[tokio::test]
async fn behaviour_22_regenerate_makes_a_sibling() {
    let house = House::plain(&json!([says("first"), says("second")])).await;
    drop(house.send("hi").await);
    drop(house.session().await.regenerate(None).unwrap().finish().await);
    assert_eq!(house.transcript().await, ["user: hi", "assistant: second"]);
}

#[tokio::test]
async fn behaviour_23_a_clients_older_copy_does_not_undo_a_tools_output() {
    let script = json!([call("c", "act", &json!({})), says("done"), says("again")]);
    let house = House::new(&script, |agent| agent.tool(FnTool::answers("act", json!(42)).arc())).await;
    drop(house.send("one").await);
    let session = house.session().await;
    let mut copy = session.messages().await.unwrap();
    copy[1].tools_mut().for_each(|tool| tool.state = ToolState::InputAvailable);
    copy.push(UiMessage::user("two", "two"));
    let request = ChatRequest { messages: copy, ..ChatRequest::from("") };
    drop(session.send(request).await.unwrap().finish().await);
    let messages = session.messages().await.unwrap();
    assert_eq!(state(messages.get(1)), ToolState::OutputAvailable(json!(42)));
    assert_eq!(house.transcript().await, ["user: one", "assistant: done", "user: two", "assistant: again"]);
}

#[tokio::test]
async fn behaviour_24_a_custom_body_is_seen_and_cleared_by_the_next_request() {
    struct Bodies(Mutex<Vec<Option<Value>>>);
    #[async_trait]
    impl Hooks for Bodies {
        async fn before_turn(&self, turn: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
            self.0.lock().push(turn.body.cloned());
            Ok(None)
        }
    }
    let hooks = Arc::new(Bodies(Mutex::default()));
    let house = House::new(&json!([says("a")]), |agent| agent.hooks(hooks.clone())).await;
    let body = Some(json!({"selectedFile": "a.rs"}));
    let request = ChatRequest { body: body.clone(), ..ChatRequest::from("1") };
    drop(house.session().await.send(request).await.unwrap().finish().await);
    drop(house.send("2").await);
    assert_eq!(*hooks.0.lock(), [body, None]);
}
