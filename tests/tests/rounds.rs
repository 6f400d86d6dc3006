//! The loop of the Go library, point by point: `or-agent.md` §1.3 (`loop_…`) and §1.4 (`batch_…`), in Lathe's words.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lathe::agent::{AgentBuilder, QueueMode};
use lathe::tools::{Tool, ToolAnswer};
use lathe::turn::{ModelMessage, StepUpdate, ToolError, ToolOutput, ToolOverride, TurnStatus};
use lathe::{TurnEvent, TurnResult};
use lathe_tests::house::{House, call, says};
use lathe_tests::recorder::Recorder;
use lathe_tests::tool::FnTool;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// An agent with a recorder, whose tools answer their names.
async fn recorded(
    script: Value,
    recorder: Recorder,
    build: impl FnOnce(AgentBuilder) -> AgentBuilder,
) -> (House, Arc<Mutex<Vec<String>>>) {
    let seen = recorder.seen.clone();
    let house = House::new(&script, |agent| {
        let agent = build(agent).hooks(Arc::new(recorder));
        agent
            .tool(answers("a"))
            .tool(answers("b"))
            .tool(FnTool::answers("alone", json!("alone")).with(|tool| tool.sequential = true))
    })
    .await;
    (house, seen)
}

fn answers(name: &'static str) -> Arc<dyn Tool> {
    FnTool::answers(name, json!(name)).arc()
}

fn calls(calls: &[(&str, &str)]) -> Value {
    let calls = calls.iter().map(|(id, name)| json!({"id": id, "name": name, "input": {}}));
    json!({"toolCalls": calls.collect::<Vec<_>>()})
}

/// Only what begins with one of these words.
fn only(seen: &Mutex<Vec<String>>, words: &[&str]) -> Vec<String> {
    let wanted = |what: &&String| words.iter().any(|word| what.starts_with(word));
    seen.lock().iter().filter(wanted).cloned().collect()
}

#[tokio::test]
async fn loop_1_the_prompt_is_part_of_what_the_turn_adds() {
    let (house, seen) = recorded(json!([says("hi"), says("ho")]), Recorder::default(), |agent| agent).await;
    drop(house.send("one").await);
    drop(house.send("two").await);
    assert_eq!(only(&seen, &["stop?"]), ["stop? ua ua", "stop? uaua ua"]);
}

#[tokio::test]
async fn loop_2_steering_is_asked_for_once_before_the_first_request() {
    let (house, seen) = recorded(json!([says("hi"), says("ho")]), Recorder::default(), |agent| agent).await;
    let session = house.session().await;
    session.steer("also");
    session.steer("and");
    drop(house.send("one").await);
    assert_eq!(only(&seen, &["transform"]), ["transform uu", "transform uuau"]);
}

#[tokio::test]
async fn loop_3_1_and_3_7_a_step_starts_before_its_answer_and_ends_after_its_results() {
    let (house, seen) =
        recorded(json!([calls(&[("c", "a")]), says("hi")]), Recorder::default(), |agent| agent).await;
    drop(house.send("one").await);
    assert_eq!(
        only(&seen, &["start-step", "tool-", "finish-step", "prepare"]),
        [
            "start-step",
            "tool-call c",
            "tool-result c",
            "finish-step",
            "prepare uat uat",
            "start-step",
            "finish-step",
            "prepare uata uata"
        ]
    );
}

#[tokio::test]
async fn loop_3_2_what_was_taken_up_is_in_the_context_and_in_what_the_turn_adds() {
    let steerer = FnTool::new("steerer", |_, call| async move {
        call.progress(json!("steering"));
        tokio::time::sleep(Duration::from_millis(150)).await;
        Ok(json!(1).into())
    });
    let script = json!([call("c", "steerer", &json!({})), says("noted")]);
    let (house, seen) = recorded(script, Recorder::default(), |agent| agent.tool(steerer.arc())).await;
    let session = house.session().await;
    let mut turn = session.send("go").await.unwrap();
    while !matches!(turn.next().await, Some(event) if json!(event)["preliminary"] == true) {}
    session.steer("also this");
    drop(turn.finish().await);
    assert_eq!(
        only(&seen, &["transform", "stop?"]),
        ["transform u", "stop? uat uat", "transform uatu", "stop? uatua uatua"]
    );
    assert_eq!(house.transcript().await, ["user: go", "assistant: ", "user: also this", "assistant: noted"]);
}

#[tokio::test]
async fn loop_3_3_a_transformed_context_is_for_one_request_alone() {
    let recorder = Recorder { keep_last: Some(1), ..Recorder::default() };
    let (house, seen) = recorded(json!([says("a"), says("b")]), recorder, |agent| agent).await;
    drop(house.send("one").await);
    drop(house.send("two").await);
    assert_eq!(house.requests()[1].messages.len(), 1);
    assert_eq!(only(&seen, &["transform"]), ["transform u", "transform uau"]);
    assert_eq!(house.transcript().await.len(), 4);
}

#[tokio::test]
async fn loop_3_4_a_stream_without_its_end_is_an_error() {
    let (house, _) = recorded(json!([{"text": ["par"], "noFinish": true}]), Recorder::default(), |agent| {
        agent.chat_recovery(None)
    })
    .await;
    let result = house.send("one").await;
    assert_eq!((result.status, &*result.text), (TurnStatus::Error, "par"), "what had come is kept");
}

#[tokio::test]
async fn loop_3_5_after_an_error_no_hook_runs_and_no_queue_is_asked() {
    let script = json!([{"text": ["par"], "streamError": "overloaded"}]);
    let (house, seen) = recorded(script, Recorder::default(), |agent| agent).await;
    let session = house.session().await;
    session.follow_up("then");
    assert_eq!(house.send("one").await.error.as_deref(), Some("overloaded"));
    assert_eq!(only(&seen, &["prepare", "stop?"]), Vec::<String>::new());
    assert_eq!(session.waiting(), 1);
}

#[tokio::test]
async fn loop_3_6_results_stand_in_source_order_and_the_loop_goes_on() {
    let slow = FnTool::new("slow", |_, _| async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok(json!("slow").into())
    });
    let script = json!([calls(&[("c0", "slow"), ("c1", "a")]), says("done")]);
    let (house, _) = recorded(script, Recorder::default(), |agent| agent.tool(slow.arc())).await;
    drop(house.send("one").await);
    let results = json!(house.requests()[1].messages[2]);
    let ids: Vec<&Value> =
        results["content"].as_array().unwrap().iter().map(|part| &part["toolCallId"]).collect();
    assert_eq!(ids, ["c0", "c1"]);
}

#[tokio::test]
async fn loop_3_8_prepare_next_step_changes_the_rest_of_the_turn_and_runs_after_the_last_step_too() {
    let update = StepUpdate {
        system: Some("NEW".into()),
        reasoning_effort: Some("high".into()),
        ..StepUpdate::default()
    };
    let recorder = Recorder { update: Mutex::new(Some(update)), ..Recorder::default() };
    let script = json!([calls(&[("c", "a")]), calls(&[("d", "a")]), says("done"), says("again")]);
    let (house, seen) = recorded(script, recorder, |agent| agent).await;
    drop(house.send("one").await);
    drop(house.send("two").await);
    let asked: Vec<(Option<String>, Option<String>)> = house
        .requests()
        .iter()
        .map(|request| (request.system.clone(), request.settings.reasoning_effort.clone()))
        .collect();
    let (old, new) = ((Some("SYS".into()), None), (Some("NEW".into()), Some("high".into())));
    assert_eq!(asked, [old.clone(), new.clone(), new, old], "the next turn begins as ever");
    assert_eq!(only(&seen, &["prepare"]).len(), 4);
}

#[tokio::test]
async fn loop_3_9_the_stop_hook_sees_the_replaced_context_and_leaves_the_queues_alone() {
    let update = StepUpdate {
        messages: Some(vec![ModelMessage::text(lathe::turn::Role::User, "short")]),
        ..StepUpdate::default()
    };
    let recorder = Recorder { update: Mutex::new(Some(update)), stop: true, ..Recorder::default() };
    let (house, seen) = recorded(json!([calls(&[("c", "a")])]), recorder, |agent| agent).await;
    let session = house.session().await;
    session.follow_up("then");
    assert_eq!(house.send("one").await.status, TurnStatus::Completed);
    assert_eq!(only(&seen, &["prepare", "stop?"]), ["prepare uat uat", "stop? u uat"]);
    assert_eq!((session.waiting(), house.requests().len()), (1, 1));
}

/// Two messages that come while the model answers; how often it was asked.
async fn two_steered(mode: QueueMode) -> (usize, Vec<String>) {
    let script = json!([{"text": ["a", {"holdMs": 1000}]}, says("b"), says("c")]);
    let (house, _) = recorded(script, Recorder::default(), |agent| agent.steering(mode)).await;
    let session = house.session().await;
    let mut turn = session.send("go").await.unwrap();
    while !matches!(turn.next().await, Some(event) if json!(event)["type"] == "text-delta") {}
    session.steer("first");
    session.steer("second");
    drop(turn.finish().await);
    (house.requests().len(), house.transcript().await)
}

#[tokio::test]
async fn loop_3_10_steering_is_taken_up_after_each_step_one_at_a_time_or_all() {
    let (requests, transcript) = two_steered(QueueMode::OneAtATime).await;
    assert_eq!(requests, 3);
    assert_eq!(
        transcript,
        ["user: go", "assistant: a", "user: first", "assistant: b", "user: second", "assistant: c"]
    );
    let (requests, transcript) = two_steered(QueueMode::All).await;
    assert_eq!(requests, 2);
    assert_eq!(transcript, ["user: go", "assistant: a", "user: first", "user: second", "assistant: b"]);
}

#[tokio::test]
async fn loop_4_follow_ups_are_taken_up_when_the_turn_would_end() {
    let script = json!([calls(&[("c", "a")]), says("done"), says("that too")]);
    let (house, seen) = recorded(script, Recorder::default(), |agent| agent).await;
    let session = house.session().await;
    session.follow_up("then this");
    let result = house.send("go").await;
    assert_eq!((&*result.text, result.steps), ("that too", 3));
    assert_eq!(only(&seen, &["transform"]), ["transform u", "transform uat", "transform uatau"]);
    assert_eq!(
        house.transcript().await,
        ["user: go", "assistant: done", "user: then this", "assistant: that too"]
    );
}

/// The most runs at once of a tool called `times` times in one step, beside the other calls.
async fn at_once(beside: &[(&str, &str)], build: impl FnOnce(AgentBuilder) -> AgentBuilder) -> usize {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (now, max) = (running.clone(), most.clone());
    let slow = FnTool::new("slow", move |_, _| {
        let (now, max) = (now.clone(), max.clone());
        async move {
            let count = now.fetch_add(1, Ordering::SeqCst) + 1;
            max.fetch_max(count, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(50)).await;
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(json!(1).into())
        }
    });
    let all: Vec<(&str, &str)> = [("c0", "slow"), ("c1", "slow")].iter().chain(beside).copied().collect();
    let script = json!([calls(&all), says("done")]);
    let (house, _) = recorded(script, Recorder::default(), |agent| build(agent).tool(slow.arc())).await;
    drop(house.send("go").await);
    most.load(Ordering::SeqCst)
}

#[tokio::test]
async fn batch_1_calls_run_at_once_unless_one_of_them_must_be_alone() {
    assert_eq!(at_once(&[], |agent| agent).await, 2);
    assert_eq!(at_once(&[("c2", "nowhere")], |agent| agent).await, 2, "an unknown tool forces nothing");
    assert_eq!(at_once(&[("c2", "alone")], |agent| agent).await, 1);
    assert_eq!(at_once(&[], AgentBuilder::sequential_tools).await, 1);
}

#[tokio::test]
async fn batch_2_hooks_stand_in_source_order_around_all_runs() {
    let script = json!([calls(&[("c0", "a"), ("c1", "b")]), says("done")]);
    let (house, seen) = recorded(script, Recorder::default(), |agent| agent).await;
    drop(house.send("go").await);
    assert_eq!(
        only(&seen, &["before", "after", "tool-result"]),
        [
            "before c0 {} ua",
            "before c1 {} ua",
            "after c0 executed ua",
            "tool-result c0",
            "after c1 executed ua",
            "tool-result c1"
        ]
    );
}

#[tokio::test]
async fn batch_3_alone_means_one_call_from_start_to_end_before_the_next() {
    let script = json!([calls(&[("c0", "a"), ("c1", "alone")]), says("done")]);
    let (house, seen) = recorded(script, Recorder::default(), |agent| agent).await;
    drop(house.send("go").await);
    let words: Vec<String> =
        only(&seen, &["before", "after"]).iter().map(|what| what[..9].trim().to_owned()).collect();
    assert_eq!(words, ["before c0", "after c0", "before c1", "after c1"]);
}

/// A turn cancelled while its first call runs, of two that must be alone.
async fn cancelled(first: Arc<dyn Tool>) -> (TurnResult, Vec<String>) {
    let name = first.definition().name.clone();
    let script = json!([calls(&[("c0", &name), ("c1", "alone")]), says("never")]);
    let (house, seen) = recorded(script, Recorder::default(), |agent| agent.tool(first)).await;
    let mut turn = house.session().await.send("go").await.unwrap();
    while !matches!(turn.next().await, Some(TurnEvent::Chunk(chunk)) if json!(chunk)["preliminary"] == true) {
    }
    turn.cancel();
    let result = turn.finish().await;
    assert_eq!(house.requests().len(), 1);
    let seen = seen.lock().clone();
    (result, seen)
}

#[tokio::test]
async fn batch_3_a_cancelled_turn_answers_every_call_and_ends_its_step() {
    let polite = FnTool::new("polite", |_, call| async move {
        call.progress(json!("running"));
        call.cancelled.cancelled().await;
        Err(ToolError::failed("cancelled"))
    });
    let (result, seen) = cancelled(polite.arc()).await;
    assert_eq!(result.status, TurnStatus::Aborted);
    let settled =
        |message: &lathe::turn::UiMessage| message.tools().filter(|tool| tool.state.is_settled()).count();
    assert_eq!(result.message.as_ref().map(settled), Some(2));
    let ends: Vec<&String> =
        seen.iter().filter(|what| what.starts_with("after") || what.starts_with("stop?")).collect();
    assert_eq!(ends, ["after c0 failed ua", "after c1 cancelled ua", "stop? uat uat"]);
}

#[tokio::test]
async fn batch_4_calls_that_do_not_run_are_answered_and_never_end_the_turn() {
    let change = ToolOverride { terminate: Some(true), ..ToolOverride::default() };
    for (calls, recorder) in [
        (calls(&[("c", "nowhere")]), Recorder::default()),
        (calls(&[("c", "a")]), Recorder { block: Some("a"), ..Recorder::default() }),
        (json!({"toolCalls": [{"id": "c", "name": "a", "input": [1]}]}), Recorder::default()),
    ] {
        let script = json!([calls, says("done")]);
        let (house, seen) = recorded(script, recorder, |agent| agent).await;
        assert_eq!(house.send("go").await.steps, 2);
        assert_eq!(only(&seen, &["after"]).len(), 1, "the after-hook is told, with the outcome");
    }
    let script = json!([calls(&[("c", "a")]), says("never")]);
    let (house, _) =
        recorded(script, Recorder { change: Some(change), ..Recorder::default() }, |agent| agent).await;
    assert_eq!(house.send("go").await.steps, 1, "unless the hook says so");
}

#[tokio::test]
async fn batch_5_hooks_do_not_see_results_of_their_own_step() {
    let script = json!([calls(&[("c0", "alone"), ("c1", "alone")]), says("done")]);
    let (house, seen) = recorded(script, Recorder::default(), |agent| agent).await;
    drop(house.send("go").await);
    assert!(only(&seen, &["before", "after"]).iter().all(|what| what.ends_with(" ua")), "{seen:?}");
}

#[tokio::test]
async fn batch_6_the_call_is_shown_as_written_and_run_as_checked() {
    let ran = Arc::new(Mutex::new(Value::Null));
    let kept = ran.clone();
    let add = FnTool::new("add", move |input, call| {
        *kept.lock() = input;
        call.progress(json!("half"));
        let late = call.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            late.progress(json!("too late"));
        });
        std::future::ready(Ok(json!(3).into()))
    });
    let add = add
        .with(|tool| tool.input_schema = json!({"type": "object", "properties": {"n": {"type": "number"}}}));
    let script = json!([call("c", "add", &json!({"n": "3"})), {"holdMs": 150, "text": ["done"]}]);
    let (house, seen) = recorded(script, Recorder::default(), |agent| agent.tool(add)).await;
    let (events, _) = lathe_tests::house::watch(house.session().await.send("go").await.unwrap()).await;
    let chunks: Vec<Value> = events.iter().map(|event| json!(event)).collect();
    let shown = chunks.iter().find(|chunk| chunk["type"] == "tool-call").unwrap();
    assert_eq!((&shown["input"], &*ran.lock()), (&json!({"n": "3"}), &json!({"n": 3})));
    assert_eq!(only(&seen, &["before"]), ["before c {\"n\":3} ua"]);
    let progress: Vec<&Value> =
        chunks.iter().filter(|chunk| chunk["preliminary"] == true).map(|chunk| &chunk["output"]).collect();
    assert_eq!(progress, ["half"], "what comes after the result is dropped");
    assert_eq!(json!(house.requests()[1].messages[1])["content"][0]["input"], json!({"n": "3"}));
}

#[tokio::test]
async fn batch_7_a_turn_ends_early_only_if_every_result_asks_for_it_and_nobody_waits() {
    let end = || {
        let answer = ToolAnswer { output: json!("E"), details: None, terminate: true };
        FnTool::new("end", move |_, _| std::future::ready(Ok(answer.clone()))).arc()
    };
    for (calls, steps) in
        [(calls(&[("c0", "end"), ("c1", "end")]), 1), (calls(&[("c0", "end"), ("c1", "a")]), 2)]
    {
        let (house, seen) =
            recorded(json!([calls, says("done")]), Recorder::default(), |agent| agent.tool(end())).await;
        assert_eq!(house.send("go").await.steps, steps);
        assert_eq!(only(&seen, &["stop?"]).len(), steps, "the hooks run all the same");
    }
    let script = json!([calls(&[("c0", "end")]), says("and now this")]);
    let (house, _) = recorded(script, Recorder::default(), |agent| agent.tool(end())).await;
    house.session().await.follow_up("lost: nobody holds the session");
    let session = house.session().await;
    session.follow_up("then this");
    assert_eq!(house.send("go").await.text, "and now this");
}

#[tokio::test]
async fn batch_8_details_are_for_hooks_and_clients_and_a_hook_replaces_field_by_field() {
    let tool = || {
        let answer = ToolAnswer { output: json!("out"), details: Some(json!({"cost": 1})), terminate: false };
        FnTool::new("t", move |_, _| std::future::ready(Ok(answer.clone()))).arc()
    };
    for (change, output, details) in [
        (ToolOverride::default(), ToolOutput::Output(json!("out")), json!({"cost": 1})),
        (
            ToolOverride { output: Some(json!("new")), ..Default::default() },
            ToolOutput::Output(json!("new")),
            json!({"cost": 1}),
        ),
        (
            ToolOverride { details: Some(json!(2)), ..Default::default() },
            ToolOutput::Output(json!("out")),
            json!(2),
        ),
        (
            ToolOverride { is_error: Some(true), ..Default::default() },
            ToolOutput::Error(ToolError::failed("out")),
            json!({"cost": 1}),
        ),
    ] {
        let recorder = Recorder { change: Some(change), ..Recorder::default() };
        let (house, _) =
            recorded(json!([call("c", "t", &json!({})), says("done")]), recorder, |agent| agent.tool(tool()))
                .await;
        let (events, _) = lathe_tests::house::watch(house.session().await.send("go").await.unwrap()).await;
        let chunks: Vec<Value> = events.iter().map(|event| json!(event)).collect();
        let shown = chunks
            .iter()
            .find(|chunk| chunk["type"] == "tool-result" || chunk["type"] == "tool-error")
            .unwrap();
        match output {
            ToolOutput::Output(output) => {
                assert_eq!((&shown["output"], &shown["details"]), (&output, &details));
            }
            ToolOutput::Error(error) => assert_eq!(shown["error"], json!(error)),
        }
        assert!(!json!(house.requests()[1]).to_string().contains("cost"), "the model never sees them");
    }
}
