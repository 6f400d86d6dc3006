//! What Think promises of interrupted turns and of submissions, by the numbers of its behaviours.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lathe::agent::{AgentBuilder, ChatRequest, SubmitOptions};
use lathe::hooks::{HookResult, Hooks, StepContext};
use lathe::recovery::ContextOverflow;
use lathe::session::{Compaction, CompactionError, Compactor};
use lathe::store::Store;
use lathe::turn::{
    ErrorClass, Replay, StepConfig, SubmissionStatus, ToolDefinition, ToolError, ToolPart, ToolState,
    TurnStatus, UiMessage, partial_parts,
};
use lathe::{Session, TurnEvent};
use lathe_tests::house::{call, says, watch};
use lathe_tests::tool::FnTool;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::rows::{number, sessions, sql};
use super::witness::Witness;
use super::{PATIENCE, agent};

/// Runs a turn in a runtime of its own and ends that when `there` is told of: what ran in it runs no further.
fn dies(
    folder: &Path,
    script: Value,
    there: Arc<Notify>,
    build: impl FnOnce(AgentBuilder) -> AgentBuilder + Send + 'static,
) {
    let folder = folder.to_owned();
    let life = std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let _turn = runtime.block_on(async {
            let (_, _, agent) = agent(&folder, &script, build).await;
            let turn = agent.session("work").await.unwrap().send("do it").await.unwrap();
            there.notified().await;
            turn
        });
        runtime.shutdown_timeout(Duration::from_secs(5));
    });
    life.join().unwrap();
}

/// Takes the turn of `work` up; its last message once it is at rest.
async fn taken_up(session: &Session) -> UiMessage {
    if let Some(turn) = session.recovery() {
        assert_eq!(turn.finish().await.status, TurnStatus::Completed);
    }
    assert!(session.wait_until_stable(PATIENCE).await);
    session.messages().await.unwrap().pop().unwrap()
}

/// A tool that notes each of its runs with its key, and hangs in its first one.
fn charge(
    replay: Replay,
    runs: &Arc<Mutex<Vec<String>>>,
    there: &Arc<Notify>,
) -> Arc<dyn lathe::tools::Tool> {
    let (runs, there) = (runs.clone(), there.clone());
    let run = move |_, call: lathe::tools::CallContext| {
        let (runs, there) = (runs.clone(), there.clone());
        async move {
            let first = {
                let mut runs = runs.lock();
                runs.push(call.idempotency_key());
                runs.len() == 1
            };
            if first {
                there.notify_one();
                std::future::pending::<()>().await;
            }
            Ok(json!("charged").into())
        }
    };
    FnTool::new("charge", run).with(|tool| tool.replay = replay)
}

/// Tells when a step begins that is not the first one.
struct SecondStep(Arc<Notify>);

#[async_trait]
impl Hooks for SecondStep {
    async fn before_step(&self, step: &StepContext<'_>) -> HookResult<Option<StepConfig>> {
        if step.step_number > 0 {
            self.0.notify_one();
            std::future::pending::<()>().await;
        }
        Ok(None)
    }
}

#[tokio::test]
async fn behaviour_33_what_a_stream_has_shown_is_what_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let fails = FnTool::new("fails", |_, _| std::future::ready(Err(ToolError::failed("no")))).arc();
    let script = json!([
        {"reasoning": ["let me ", "see"], "text": ["I ", "look"], "toolCalls": [
            {"id": "a", "name": "look", "input": {"at": 1}}, {"id": "b", "name": "fails", "input": {}},
            {"id": "c", "name": "nobody", "input": {}}, {"id": "d", "name": "look", "input": "{"}]},
        says("done")
    ]);
    let look = FnTool::answers("look", json!({"seen": [1, 2]})).arc();
    let (_, _, agent) = agent(folder.path(), &script, |agent| agent.tool(look).tool(fails)).await;
    let session = agent.session("work").await.unwrap();
    let (events, result) = watch(session.send("look").await.unwrap()).await;
    let chunks = events.iter().filter_map(|event| match event {
        TurnEvent::Chunk(chunk) => Some(chunk),
        _ => None,
    });
    let shown = partial_parts(chunks);
    let stored = result.message.unwrap();
    assert_eq!(json!(shown), json!(stored.parts));
    assert!(stored.parts.len() > 6, "{:?}", stored.parts);
}

#[tokio::test]
async fn behaviour_35_a_tool_whose_result_was_there_does_not_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let runs = Arc::new(Mutex::new(0));
    let there = Arc::new(Notify::new());
    let tool = |runs: &Arc<Mutex<u32>>| {
        let runs = runs.clone();
        FnTool::new("charge", move |_, _| {
            *runs.lock() += 1;
            std::future::ready(Ok(json!("charged").into()))
        })
        .with(|tool| tool.replay = Replay::Safe)
    };
    let (mine, hooks) = (tool(&runs), Arc::new(SecondStep(there.clone())));
    let script = json!([call("c", "charge", &json!({})), says("never")]);
    dies(folder.path(), script, there, move |agent| agent.tool(mine).hooks(hooks));
    let (_, model, agent) =
        agent(folder.path(), &json!([says("done")]), |agent| agent.tool(tool(&runs))).await;
    let last = taken_up(&agent.session("work").await.unwrap()).await;
    assert_eq!(last.tools().next().unwrap().state, ToolState::OutputAvailable(json!("charged")));
    assert_eq!((last.text(), *runs.lock(), model.requests().len()), ("done".into(), 1, 1));
    let asked = json!(model.requests()[0].messages).to_string();
    assert!(asked.contains("charged"), "{asked}");
}

#[tokio::test]
async fn a_tool_that_ran_runs_again_only_if_that_is_safe_and_with_the_same_key() {
    for (replay, expected) in [(Replay::Safe, 2), (Replay::Never, 1)] {
        let folder = tempfile::tempdir().unwrap();
        let (runs, there) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Notify::new()));
        let script = json!([call("c", "charge", &json!({})), says("never")]);
        let tool = charge(replay, &runs, &there);
        dies(folder.path(), script, there.clone(), move |agent| agent.tool(tool));
        let tool = charge(replay, &runs, &there);
        let (_, _, agent) = agent(folder.path(), &json!([says("done")]), |agent| agent.tool(tool)).await;
        let last = taken_up(&agent.session("work").await.unwrap()).await;
        let keys = runs.lock().clone();
        assert_eq!(keys.len(), expected, "{keys:?}");
        assert!(keys.iter().all(|key| *key == keys[0]) && keys[0].starts_with("work/"), "{keys:?}");
        let state = &last.tools().next().unwrap().state;
        if replay == Replay::Safe {
            assert_eq!(*state, ToolState::OutputAvailable(json!("charged")));
        } else {
            let ToolState::OutputError(error) = state else { panic!("{state:?}") };
            assert!(error.contains("interrupted"), "{error}");
        }
        assert_eq!(last.text(), "done");
    }
}

#[tokio::test]
async fn behaviour_38_a_key_is_one_submission_and_one_turn_however_often_it_comes() {
    let folder = tempfile::tempdir().unwrap();
    let witness = Witness::default();
    let hooks = Arc::new(witness.clone());
    let (_, model, agent) = agent(folder.path(), &json!([says("done")]), |agent| agent.hooks(hooks)).await;
    let session = agent.session("work").await.unwrap();
    let submit = async |text: &str| {
        let options = SubmitOptions { idempotency_key: Some("key".into()), ..Default::default() };
        session.submit_messages(vec![UiMessage::user(text, text)], options).await.unwrap()
    };
    let receipts = futures::future::join_all(["1", "2", "3", "4", "5", "6", "7", "8"].map(submit)).await;
    assert_eq!(receipts.iter().filter(|receipt| receipt.accepted).count(), 1);
    let id = &*receipts[0].submission.submission_id;
    assert!(receipts.iter().all(|receipt| receipt.submission.submission_id == id));
    assert_eq!(ended(&session, id).await, SubmissionStatus::Completed);
    let again = submit("9").await;
    assert_eq!((again.accepted, again.submission.status), (false, SubmissionStatus::Completed));
    assert!(session.wait_until_stable(PATIENCE).await);
    assert_eq!((model.requests().len(), session.messages().await.unwrap().len()), (1, 2));
    let told: Vec<String> = ["pending", "running", "completed"].map(|status| format!("{id} {status}")).into();
    while witness.statuses.lock().len() < told.len() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(*witness.statuses.lock(), told);
}

async fn ended(session: &Session, id: &str) -> SubmissionStatus {
    let ended = async {
        loop {
            let status = session.inspect_submission(id).await.unwrap().unwrap().status;
            if status.is_terminal() {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, ended).await.unwrap()
}

#[tokio::test]
async fn behaviour_39_a_submission_that_ran_at_the_crash_runs_only_if_nothing_of_it_is_there() {
    for (applied, expected) in [(0, SubmissionStatus::Completed), (1, SubmissionStatus::Error)] {
        let folder = tempfile::tempdir().unwrap();
        sessions(folder.path()).await;
        let messages = json!([UiMessage::user("s", "submitted")]);
        sql(
            folder.path(),
            &format!(
                "INSERT INTO submissions (session_id, submission_id, request_id, messages, status, applied) \
                 SELECT id, 'one', 'one', '{messages}', 'running', {applied} FROM sessions WHERE name = 'work'"
            ),
        );
        let (_, model, agent) = agent(folder.path(), &json!([says("done")]), |agent| agent).await;
        let [session] = &agent.recover().await.unwrap()[..] else { panic!("it is to be taken up") };
        assert_eq!(ended(session, "one").await, expected);
        let error = session.inspect_submission("one").await.unwrap().unwrap().error;
        assert_eq!(error.is_some_and(|error| error.contains("not run again")), applied == 1);
        assert!(session.wait_until_stable(PATIENCE).await);
        assert_eq!(model.requests().len(), 1 - applied);
        assert_eq!(session.messages().await.unwrap().len(), 3 + 2 * (1 - applied));
    }
}

/// An answer with two calls that nobody has answered.
fn dangling() -> UiMessage {
    serde_json::from_value(json!({"id": "d", "role": "assistant", "parts": [
        {"type": "tool-look", "toolCallId": "c", "state": "input-available", "input": "{\"a\": 1}"},
        {"type": "tool-look", "toolCallId": "e", "state": "input-streaming", "input": "{"}]}))
    .unwrap()
}

#[tokio::test]
async fn behaviour_40_a_call_without_a_result_gets_one_before_the_next_request() {
    for repaired in [None, Some(json!("it was seen"))] {
        let folder = tempfile::tempdir().unwrap();
        let hooks = Arc::new(Witness { repaired: repaired.clone(), ..Default::default() });
        let (store, model, agent) =
            agent(folder.path(), &json!([says("done")]), |agent| agent.hooks(hooks)).await;
        store.put("work", &UiMessage::user("q", "look"), None).await.unwrap();
        store.put("work", &dangling(), None).await.unwrap();
        let session = agent.session("work").await.unwrap();
        let (events, result) = watch(session.send("and?").await.unwrap()).await;
        assert_eq!(result.status, TurnStatus::Completed);
        assert!(events.iter().any(|event| json!(event)["type"] == "message-updated"), "{events:?}");
        let stored = session.messages().await.unwrap()[1].clone();
        let inputs: Vec<&Value> = stored.tools().map(|tool| &tool.input).collect();
        assert_eq!(inputs, [&json!({"a": 1}), &json!({})]);
        for tool in stored.tools() {
            match (&tool.state, &repaired) {
                (ToolState::OutputError(error), None) => assert!(error.contains("interrupted"), "{error}"),
                (ToolState::OutputAvailable(output), Some(repaired)) => assert_eq!(output, repaired),
                (state, _) => panic!("{state:?}"),
            }
        }
        let request = json!(model.requests()[0].messages);
        let count = |kind: &str| request.to_string().matches(&format!("\"type\":\"{kind}\"")).count();
        assert_eq!((count("tool-call"), count("tool-result")), (2, 2), "{request}");
    }
}

/// Has no idea of tools.
struct Clumsy;

#[async_trait]
impl Hooks for Clumsy {
    #[allow(clippy::panic, reason = "that is what is tried")]
    fn repair_interrupted_tool_part(&self, part: &ToolPart) -> Option<ToolPart> {
        panic!("what is {}?", part.tool_name)
    }
}

#[tokio::test]
async fn a_repair_that_panics_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _, agent) =
        agent(folder.path(), &json!([says("done")]), |agent| agent.hooks(Arc::new(Clumsy))).await;
    store.put("work", &UiMessage::user("q", "look"), None).await.unwrap();
    store.put("work", &dangling(), None).await.unwrap();
    let session = agent.session("work").await.unwrap();
    let result = session.send("and?").await.unwrap().finish().await;
    assert_eq!((result.status, &*result.text), (TurnStatus::Completed, "done"), "{:?}", result.error);
    let stored = session.messages().await.unwrap()[1].clone();
    assert!(stored.tools().all(|tool| matches!(tool.state, ToolState::OutputError(_))), "{stored:?}");
}

/// Finds nothing to shorten.
struct Never;

#[async_trait]
impl Compactor for Never {
    async fn compact(&self, _messages: &[UiMessage]) -> Result<Option<Compaction>, CompactionError> {
        Ok(None)
    }
}

#[tokio::test]
async fn a_conversation_that_cannot_be_shortened_ends_visibly() {
    let folder = tempfile::tempdir().unwrap();
    let witness = Witness::default();
    let hooks = Arc::new(witness.clone());
    let text = "prompt is too long: 213462 tokens > 200000 maximum";
    let (_, model, agent) = agent(folder.path(), &json!([{"error": text}]), |agent| {
        let overflow = ContextOverflow { reactive: true, max_retries: 3, ..Default::default() };
        agent.hooks(hooks).compaction(Arc::new(Never)).context_overflow(overflow)
    })
    .await;
    let session = agent.session("work").await.unwrap();
    let (events, result) = watch(session.send("hi").await.unwrap()).await;
    assert_eq!((result.status, result.error.as_deref()), (TurnStatus::Error, Some(text)));
    assert_eq!(*witness.errors.lock(), [(Some(ErrorClass::ContextOverflow), text.to_owned())]);
    assert_eq!(model.requests().len(), 1, "it would be refused again");
    let compacted =
        events.iter().map(|event| json!(event)).find(|event| event["type"] == "chat:context:compacted");
    let compacted = compacted.unwrap();
    assert_eq!((&compacted["reason"], &compacted["shortened"]), (&json!("overflow"), &json!(false)));
}

#[tokio::test]
async fn a_session_that_waits_for_somebody_outside_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        json!([call("a", "ask", &json!({})), says("thanks"), call("b", "client", &json!({})), says("bye")]);
    let ask = FnTool::answers("ask", json!("asked")).with(|tool| tool.needs_approval = true);
    let (_, _, agent) = agent(folder.path(), &script, |agent| agent.tool(ask)).await;
    let session = agent.session("work").await.unwrap();
    assert!(!session.has_pending_interaction().await.unwrap());
    session.send("hi").await.unwrap().finish().await;
    assert!(session.has_pending_interaction().await.unwrap());
    assert!(session.wait_until_stable(PATIENCE).await, "nothing runs while it waits");
    session.approve("a", true, None, true).await.unwrap();
    assert!(!session.wait_until_stable(Duration::ZERO).await, "it goes on in a moment");
    assert!(session.wait_until_stable(PATIENCE).await);
    assert!(!session.has_pending_interaction().await.unwrap());
    let mut request = ChatRequest::from("do it yourself");
    let tool =
        ToolDefinition { name: "client".into(), ..FnTool::answers("x", json!(1)).arc().definition().clone() };
    request.client_tools = Some(vec![tool]);
    session.send(request).await.unwrap().finish().await;
    assert!(session.has_pending_interaction().await.unwrap());
    session.tool_result("b", Ok(json!("done")), true).await.unwrap();
    assert!(session.wait_until_stable(PATIENCE).await);
    assert!(!session.has_pending_interaction().await.unwrap());
    assert_eq!(number(folder.path(), "SELECT count(*) FROM turns"), 0);
}
