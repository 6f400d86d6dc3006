//! The ways into a turn, and what turns of one session do to each other.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lathe::agent::{AgentBuilder, ChatRequest, Concurrency, EntryError, QueueMode, SessionEvent, Skipped};
use lathe::hooks::{ChatResponseContext, HookResult, Hooks, ToolCallContext, TurnContext};
use lathe::turn::{
    ModelCall, Part, Role, ToolDecision, ToolError, Trigger, TurnConfig, TurnStatus, UiMessage,
};
use lathe::{Session, TurnResult, TurnStream};
use lathe_tests::house::{House, call, says};
use lathe_tests::tool::FnTool;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// A model that takes its time for the first answer.
fn slow_then(rest: &[&str]) -> Value {
    let rest = rest.iter().map(|text| says(text));
    Value::Array([json!({"holdMs": 1000, "text": ["slow"]})].into_iter().chain(rest).collect())
}

/// What the user says in a request.
fn asked(request: &ModelCall) -> Vec<String> {
    let users = request.messages.iter().filter(|message| message.role == Role::User);
    let texts = users.flat_map(|message| &message.content).filter_map(|part| match part {
        Part::Text { text, .. } => Some(text.clone()),
        _ => None,
    });
    texts.collect()
}

async fn send(session: &Session, text: &str) -> TurnStream {
    session.send(text).await.unwrap()
}

/// Three messages, the last two while the first is answered; how their turns ended, and what the model was asked.
async fn overlap(policy: Concurrency) -> (Vec<TurnResult>, Vec<Vec<String>>, Vec<String>) {
    let house = House::new(&slow_then(&["fast"]), |agent| agent.concurrency(policy)).await;
    let session = house.session().await;
    let mut turns = Vec::new();
    for text in ["one", "two", "three"] {
        turns.push(send(&session, text).await);
    }
    let mut results = Vec::new();
    for turn in turns {
        results.push(turn.finish().await);
    }
    (results, house.requests().iter().map(asked).collect(), house.transcript().await)
}

fn statuses(results: &[TurnResult]) -> Vec<(TurnStatus, Option<Skipped>)> {
    results.iter().map(|result| (result.status, result.skipped)).collect()
}

const DONE: (TurnStatus, Option<Skipped>) = (TurnStatus::Completed, None);

fn skipped(why: Skipped) -> (TurnStatus, Option<Skipped>) {
    (TurnStatus::Skipped, Some(why))
}

#[tokio::test]
async fn queue_gives_every_message_its_turn_in_order() {
    let (results, requests, transcript) = overlap(Concurrency::Queue).await;
    assert_eq!(statuses(&results), [DONE, DONE, DONE]);
    assert_eq!(requests.len(), 3);
    let users = ["user: one", "user: two", "user: three"];
    assert_eq!(transcript[..3], users, "a message is stored when it comes, not when its turn does");
    assert_eq!(transcript[3..], ["assistant: slow", "assistant: fast", "assistant: fast"]);
}

#[tokio::test]
async fn latest_answers_the_newest_of_those_that_wait() {
    let (results, requests, transcript) = overlap(Concurrency::Latest).await;
    assert_eq!(statuses(&results), [DONE, skipped(Skipped::Superseded), DONE]);
    assert_eq!(requests.len(), 2);
    assert_eq!(transcript.len(), 5, "{transcript:?}");
}

#[tokio::test]
async fn merge_shows_those_passed_over_and_the_newest_as_one() {
    let script = json!([{"holdMs": 1000, "streamError": "gone"}, {"text": ["both"]}]);
    let house = House::new(&script, |agent| agent.concurrency(Concurrency::Merge)).await;
    let session = house.session().await;
    let turns = [send(&session, "one").await, send(&session, "two").await, send(&session, "three").await];
    let mut results = Vec::new();
    for turn in turns {
        results.push(turn.finish().await);
    }
    assert_eq!(statuses(&results)[1..], [skipped(Skipped::Superseded), DONE]);
    let request = &house.requests()[1];
    assert_eq!(request.messages.len(), 1, "{:?}", request.messages);
    assert_eq!(asked(request), ["one", "two", "three"]);
    assert_eq!(house.transcript().await.len(), 4, "stored they stay as they came");
}

#[tokio::test]
async fn drop_refuses_and_stores_nothing() {
    let (results, requests, transcript) = overlap(Concurrency::Drop).await;
    assert_eq!(statuses(&results), [DONE, skipped(Skipped::Dropped), skipped(Skipped::Dropped)]);
    assert_eq!((requests.len(), transcript.len()), (1, 2));
}

#[tokio::test]
async fn of_two_messages_at_once_one_finds_the_session_busy() {
    let house = House::new(&slow_then(&[]), |agent| agent.concurrency(Concurrency::Drop)).await;
    let session = house.session().await;
    let (first, second) = tokio::join!(send(&session, "one"), send(&session, "two"));
    assert_eq!(second.finish().await.skipped, Some(Skipped::Dropped));
    assert_eq!(first.finish().await.status, TurnStatus::Completed);
    assert_eq!(house.transcript().await, ["user: one", "assistant: slow"]);
}

#[tokio::test]
async fn debounce_waits_for_a_pause() {
    let (results, requests, transcript) = overlap(Concurrency::Debounce(Duration::from_millis(400))).await;
    assert_eq!(statuses(&results), [DONE, skipped(Skipped::Superseded), DONE]);
    assert_eq!(requests.len(), 2);
    assert_eq!(transcript.len(), 5);
}

#[tokio::test]
async fn after_a_turn_the_next_one_does_not_overlap() {
    let house = House::new(&json!([says("a")]), |agent| agent.concurrency(Concurrency::Drop)).await;
    for _ in 0..20 {
        assert_eq!(house.send("again").await.status, TurnStatus::Completed);
    }
}

#[tokio::test]
async fn a_reset_keeps_what_waits_from_beginning_and_lets_the_running_turn_end() {
    let house = House::plain(&slow_then(&["never"])).await;
    let session = house.session().await;
    let (first, second) = (send(&session, "one").await, send(&session, "two").await);
    tokio::time::sleep(Duration::from_millis(50)).await;
    session.reset();
    assert_eq!(first.finish().await.status, TurnStatus::Completed);
    assert_eq!(second.finish().await.skipped, Some(Skipped::Reset));
    assert_eq!(house.requests().len(), 1);
    assert_eq!(house.send("three").await.status, TurnStatus::Completed, "a reset is not the end");
}

#[tokio::test]
async fn stop_cancels_the_running_turn_too() {
    let house = House::plain(&json!([{"text": ["half", {"holdMs": 60_000}]}])).await;
    let session = house.session().await;
    let (mut first, second) = (send(&session, "one").await, send(&session, "two").await);
    while !matches!(&first.next().await, Some(event) if json!(event)["type"] == "text-delta") {}
    session.stop();
    assert_eq!(first.finish().await.status, TurnStatus::Aborted);
    assert_eq!(second.finish().await.skipped, Some(Skipped::Reset));
    assert_eq!(house.transcript().await, ["user: one", "user: two", "assistant: half"]);
}

#[tokio::test]
async fn a_waiting_turn_can_be_cancelled_by_its_id() {
    let house = House::plain(&slow_then(&["never"])).await;
    let session = house.session().await;
    let first = send(&session, "one").await;
    let second = send(&session, "two").await;
    assert!(session.cancel(second.request_id()) && !session.cancel("nobody"));
    assert_eq!(second.finish().await.status, TurnStatus::Aborted);
    assert_eq!(first.finish().await.status, TurnStatus::Completed);
    assert_eq!(house.requests().len(), 1);
}

#[tokio::test]
async fn save_messages_makes_them_when_the_turn_is_due() {
    let house = House::plain(&slow_then(&["two"])).await;
    let session = house.session().await;
    let first = send(&session, "one").await;
    let result = session
        .save_messages(|messages| vec![UiMessage::user("u", format!("after {}", messages.len()))])
        .await
        .unwrap();
    assert_eq!((result.status, &*result.text), (TurnStatus::Completed, "two"));
    drop(first.finish().await);
    assert_eq!(house.transcript().await[2], "user: after 2");
}

#[tokio::test]
async fn without_messages_there_is_no_turn() {
    let house = House::plain(&json!([says("never")])).await;
    let session = house.session().await;
    assert_eq!(session.run_turn(Vec::new()).await.unwrap().skipped, Some(Skipped::Empty));
    let stream = session.stream_turn(Vec::new()).unwrap();
    assert_eq!(stream.finish().await.skipped, Some(Skipped::Empty));
    let continued = session.continue_last_turn(None).unwrap().finish().await;
    assert_eq!(continued.skipped, Some(Skipped::Empty));
    assert_eq!(session.regenerate(None).unwrap().finish().await.skipped, Some(Skipped::Empty));
    assert_eq!(house.requests().len(), 0);
}

/// Notes what `before_turn` and `on_chat_response` are shown.
#[derive(Default)]
struct Notes {
    turns: Mutex<Vec<(Trigger, bool, Option<Value>)>>,
    responses: Mutex<usize>,
}

#[async_trait]
impl Hooks for Notes {
    async fn before_turn(&self, turn: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
        self.turns.lock().push((turn.trigger, turn.continuation, turn.body.cloned()));
        Ok(None)
    }

    async fn on_chat_response(&self, _: &ChatResponseContext<'_>) -> HookResult {
        *self.responses.lock() += 1;
        Ok(())
    }
}

#[tokio::test]
async fn every_way_in_tells_before_turn_what_it_is() {
    let notes = Arc::new(Notes::default());
    let house = House::new(&json!([says("a")]), |agent| agent.hooks(notes.clone())).await;
    let session = house.session().await;
    drop(send(&session, "one").await.finish().await);
    session.run_turn(vec![UiMessage::user("u2", "two")]).await.unwrap();
    drop(session.stream_turn(vec![UiMessage::user("u3", "three")]).unwrap().finish().await);
    drop(session.continue_last_turn(None).unwrap().finish().await);
    drop(session.regenerate(None).unwrap().finish().await);
    let shown: Vec<(Trigger, bool)> = notes.turns.lock().iter().map(|turn| (turn.0, turn.1)).collect();
    let (programmatic, rpc) = (Trigger::Programmatic, Trigger::Rpc);
    assert_eq!(
        shown,
        [
            (programmatic, false),
            (programmatic, false),
            (rpc, false),
            (programmatic, true),
            (programmatic, false)
        ]
    );
    assert_eq!(*notes.responses.lock(), 5);
}

#[tokio::test]
async fn a_body_holds_until_the_next_request() {
    let notes = Arc::new(Notes::default());
    let house = House::new(&json!([says("a")]), |agent| agent.hooks(notes.clone())).await;
    let session = house.session().await;
    let request = ChatRequest { body: Some(json!({"file": "a.rs"})), ..ChatRequest::from("one") };
    drop(session.send(request).await.unwrap().finish().await);
    drop(session.continue_last_turn(None).unwrap().finish().await);
    drop(session.continue_last_turn(Some(json!({"file": "b.rs"}))).unwrap().finish().await);
    drop(send(&session, "two").await.finish().await);
    let bodies: Vec<Option<Value>> = notes.turns.lock().iter().map(|turn| turn.2.clone()).collect();
    let (a, b) = (json!({"file": "a.rs"}), json!({"file": "b.rs"}));
    assert_eq!(bodies, [Some(a.clone()), Some(a), Some(b), None]);
}

#[tokio::test]
async fn a_continuation_is_a_new_message_and_asks_the_model_to_go_on() {
    let house = House::plain(&json!([says("first"), says("more")])).await;
    drop(house.send("one").await);
    let result = house.session().await.continue_last_turn(None).unwrap().finish().await;
    assert_eq!(result.text, "more");
    assert_eq!(house.transcript().await, ["user: one", "assistant: first", "assistant: more"]);
    assert_eq!(asked(&house.requests()[1]).len(), 2, "what asks it to go on is for the model alone");
}

#[tokio::test]
async fn regenerate_makes_a_sibling_and_loses_nothing() {
    let house = House::plain(&json!([says("first"), says("second"), says("third")])).await;
    drop(house.send("one").await);
    let session = house.session().await;
    let first = session.messages().await.unwrap();
    let result = session.regenerate(None).unwrap().finish().await;
    assert_eq!(result.text, "second");
    assert_eq!(house.transcript().await, ["user: one", "assistant: second"]);
    assert_eq!(house.requests()[1].messages.len(), 1, "the model is not shown its first answer");
    drop(house.send("and?").await);
    assert_eq!(house.transcript().await.len(), 4);
    // The old branch is still there: an answer to it goes on from it.
    session.add_messages(&[UiMessage::user("back", "back")], Some(&first[1].id)).await.unwrap();
    assert_eq!(house.transcript().await, ["user: one", "assistant: first", "user: back"]);
}

#[tokio::test]
async fn messages_added_without_a_turn_replace_by_id() {
    let house = House::plain(&json!([says("a")])).await;
    let session = house.session().await;
    session.add_messages(&[UiMessage::user("u", "one"), UiMessage::user("v", "two")], None).await.unwrap();
    session.add_messages(&[UiMessage::user("u", "ONE")], None).await.unwrap();
    assert_eq!(house.transcript().await, ["user: ONE", "user: two"]);
    assert!(session.add_messages(&[UiMessage::user("w", "x")], Some("nowhere")).await.is_err());
    assert_eq!(house.requests().len(), 0);
}

/// A house whose tool `inside` does what `run` does with the session that it is called in.
async fn inside<F: Future<Output = Result<Value, ToolError>> + Send + 'static>(
    run: impl Fn(Session) -> F + Send + Sync + 'static,
) -> (House, Arc<Mutex<Option<Session>>>) {
    let session: Arc<Mutex<Option<Session>>> = Arc::default();
    let known = session.clone();
    let run = Arc::new(run);
    let tool = FnTool::new("inside", move |_, _| {
        let (session, run) = (known.lock().clone().unwrap(), run.clone());
        async move { run(session).await.map(Into::into) }
    });
    let script = json!([call("c", "inside", &json!({})), says("done"), says("later")]);
    let house = House::new(&script, move |agent| agent.tool(tool.arc())).await;
    *session.lock() = Some(house.session().await);
    (house, session)
}

#[tokio::test]
async fn a_turn_that_would_wait_for_itself_is_an_error() {
    let (house, _) = inside(|session| async move {
        let errors = [
            session.send("me too").await.err(),
            session.run_turn(vec![UiMessage::user("u", "me too")]).await.err(),
            session.stream_turn(Vec::new()).err(),
            session.continue_last_turn(None).err(),
            session.regenerate(None).err(),
        ];
        let all =
            errors.iter().all(|error| matches!(error, Some(EntryError::InsideTurn(name)) if name == "s"));
        session.add_messages(&[UiMessage::user("added", "added")], None).await.unwrap();
        Ok(json!(all))
    })
    .await;
    let result = house.send("go").await;
    assert_eq!((result.status, &*result.text), (TurnStatus::Completed, "done"));
    let message = serde_json::to_value(result.message).unwrap();
    assert_eq!(message["parts"][1]["output"], true, "{message}");
    assert!(house.transcript().await.contains(&"user: added".to_owned()));
}

#[tokio::test]
async fn another_session_may_be_asked_from_inside_a_turn() {
    let agent: Arc<Mutex<Option<lathe::Agent>>> = Arc::default();
    let known = agent.clone();
    let tool = FnTool::new("inside", move |_, _| {
        let agent = known.lock().clone().unwrap();
        async move {
            let other = agent.session("other").await.unwrap();
            Ok(json!(other.send("sub-question").await.unwrap().finish().await.text).into())
        }
    });
    let script = json!([call("c", "inside", &json!({})), says("sub-answer"), says("done")]);
    let house = House::new(&script, |builder| builder.tool(tool.arc())).await;
    *agent.lock() = Some(house.agent.clone());
    let result = house.send("go").await;
    assert_eq!(json!(result.message)["parts"][1]["output"], "sub-answer");
}

/// Starts a turn of its own when one is over.
struct Again(Mutex<Option<Session>>, Mutex<usize>);

#[async_trait]
impl Hooks for Again {
    async fn on_chat_response(&self, _: &ChatResponseContext<'_>) -> HookResult {
        *self.1.lock() += 1;
        let session = self.0.lock().clone().unwrap();
        session.run_turn(vec![UiMessage::user("again", "again")]).await?;
        Ok(())
    }
}

#[tokio::test]
async fn when_the_hooks_hear_of_a_turns_end_the_session_is_free() {
    let hooks = Arc::new(Again(Mutex::default(), Mutex::default()));
    let house = House::new(&json!([says("a"), says("b")]), |agent| agent.hooks(hooks.clone())).await;
    *hooks.0.lock() = Some(house.session().await);
    drop(house.send("one").await);
    assert_eq!(house.transcript().await, ["user: one", "assistant: a", "user: again", "assistant: b"]);
    assert_eq!(*hooks.1.lock(), 1, "a turn started there does not tell them again");
}

fn follow_up_mode(agent: AgentBuilder) -> AgentBuilder {
    agent.follow_ups(QueueMode::All)
}

#[tokio::test]
async fn messages_that_wait_are_taken_up_by_the_next_turn_and_can_be_taken_back() {
    let house = House::new(&json!([says("a"), says("b"), says("c")]), follow_up_mode).await;
    let session = house.session().await;
    session.steer("first this");
    let withdrawn = session.steer("never mind");
    session.follow_up("then this");
    session.follow_up("and this");
    assert!(session.withdraw(&withdrawn) && !session.withdraw(&withdrawn));
    let result = house.send("one").await;
    assert_eq!((result.text.as_str(), session.waiting()), ("b", 0));
    assert_eq!(
        house.transcript().await,
        [
            "user: one",
            "user: first this",
            "assistant: a",
            "user: then this",
            "user: and this",
            "assistant: b"
        ]
    );
}

#[tokio::test]
async fn a_continuation_without_a_new_word_takes_a_follow_up() {
    let house = House::plain(&json!([says("a"), says("b")])).await;
    drop(house.send("one").await);
    let session = house.session().await;
    session.follow_up("and now?");
    drop(session.continue_last_turn(None).unwrap().finish().await);
    assert_eq!(house.transcript().await, ["user: one", "assistant: a", "user: and now?", "assistant: b"]);
}

#[tokio::test]
async fn whoever_watches_a_session_sees_turns_that_others_began() {
    let house = House::plain(&json!([says("a")])).await;
    let session = house.session().await;
    let mut watcher = session.watch();
    let result = house.send("one").await;
    let mut kinds = Vec::new();
    while let Some(event) = watcher.try_next() {
        if let SessionEvent::TurnEnded { request_id, .. } = &event {
            assert_eq!(*request_id, result.request_id);
        }
        let event = json!(event);
        kinds.push(event["event"]["type"].as_str().or(event["type"].as_str()).unwrap().to_owned());
    }
    assert_eq!(kinds.first().unwrap(), "turn-started");
    assert_eq!(kinds.last().unwrap(), "turn-ended");
    assert!(kinds.contains(&"text-delta".to_owned()), "{kinds:?}");
}

#[tokio::test]
async fn a_panic_in_a_hook_ends_its_turn_and_not_the_session() {
    struct Panics;
    #[async_trait]
    impl Hooks for Panics {
        async fn before_turn(&self, turn: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
            assert!(turn.messages.len() > 1, "on purpose");
            Ok(None)
        }
    }
    let house = House::new(&json!([says("a")]), |agent| agent.hooks(Arc::new(Panics))).await;
    let result = house.send("one").await;
    assert_eq!(result.status, TurnStatus::Error);
    assert!(result.error.unwrap().contains("on purpose"));
    assert_eq!(house.send("two").await.status, TurnStatus::Completed);
}

/// Waits in a hook until the turn is cancelled.
struct Waits(&'static str);

#[async_trait]
impl Hooks for Waits {
    async fn before_turn(&self, turn: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
        if self.0 == "before_turn" {
            turn.cancelled.cancelled().await;
        }
        Ok(None)
    }

    async fn before_tool_call(&self, call: &ToolCallContext<'_>) -> HookResult<Option<ToolDecision>> {
        if self.0 == "before_tool_call" {
            call.cancelled.cancelled().await;
        }
        Ok(None)
    }
}

#[tokio::test]
async fn hooks_hear_of_a_cancel() {
    for (hook, stored) in [("before_turn", 1), ("before_tool_call", 2)] {
        let script = json!([call("c", "act", &json!({})), says("never")]);
        let build = |agent: AgentBuilder| {
            agent.hooks(Arc::new(Waits(hook))).tool(FnTool::answers("act", json!("acted")).arc())
        };
        let house = House::new(&script, build).await;
        let turn = house.session().await.send("go").await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        turn.cancel();
        assert_eq!(turn.finish().await.status, TurnStatus::Aborted, "{hook}");
        assert_eq!(house.transcript().await.len(), stored, "{hook}");
    }
}
