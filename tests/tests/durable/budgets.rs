//! How often, how long and with how much work a turn is taken up; and what is said when that is over.
//!
//! Where time is paused nothing waits by the clock of the test: the database's thread does not know of it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use lathe::agent::AgentBuilder;
use lathe::model::{LanguageModel, ModelCall, ModelError, ModelErrorKind, ModelEvent, ModelStream};
use lathe::recovery::ChatRecovery;
use lathe::turn::{ExhaustedReason, FinishReason, Part, TurnStatus, Usage};
use lathe_tests::house::says;
use serde_json::{Value, json};

use super::rows::{CHUNKS, interrupted, number, record, sessions, sql};
use super::witness::{Mood, Witness};
use super::{PATIENCE, agent};

const GIVEN_UP: &str = "It is given up.";

fn budget() -> ChatRecovery {
    ChatRecovery { max_attempts: 3, terminal_message: GIVEN_UP.into(), ..Default::default() }
}

fn with(witness: &Witness, budget: ChatRecovery) -> impl FnOnce(AgentBuilder) -> AgentBuilder {
    let hooks = Arc::new(witness.clone());
    move |agent| {
        let agent = agent.hooks(hooks).chat_recovery(Some(budget));
        agent.chat_stream_stall_timeout(Duration::from_secs(60))
    }
}

/// Nothing is left of a turn that is over.
fn nothing_is_left(folder: &std::path::Path) {
    for table in ["turns", "turn_chunks", "incidents"] {
        assert_eq!(number(folder, &format!("SELECT count(*) FROM {table}")), 0, "{table}");
    }
}

/// A turn whose model answers as the script says; how often it was asked, and how the turn ended.
async fn failing(script: Value, witness: &Witness, budget: ChatRecovery) -> (usize, lathe::TurnResult) {
    let folder = tempfile::tempdir().unwrap();
    let (store, model, agent) = agent(folder.path(), &script, with(witness, budget)).await;
    let session = agent.session("work").await.unwrap();
    let result = session.send("hi").await.unwrap().finish().await;
    drop((session, agent));
    store.close().await;
    nothing_is_left(folder.path());
    (model.requests().len(), result)
}

/// The pauses between the attempts, in whole seconds.
fn pauses(witness: &Witness) -> Vec<u64> {
    witness.begun.lock().windows(2).map(|pair| (pair[1] - pair[0]).as_secs()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_fails_is_asked_so_often_and_ever_later() {
    let witness = Witness { transient: true, ..Default::default() };
    let budget = ChatRecovery { max_attempts: 7, ..budget() };
    let (asked, result) = failing(json!([{"error": "no capacity"}]), &witness, budget).await;
    assert_eq!((asked, result.status, result.error.as_deref()), (8, TurnStatus::Error, Some(GIVEN_UP)));
    assert_eq!(pauses(&witness), [1, 2, 4, 8, 16, 30, 30]);
    let told = (ExhaustedReason::MaxAttemptsExceeded, 1, String::new(), GIVEN_UP.to_owned());
    assert_eq!(*witness.given_up.lock(), [told]);
    assert_eq!((witness.asked.lock().len(), *witness.kept.lock()), (7, 7), "not asked of the first one");
    assert!(witness.asked.lock().iter().all(|(_, _, stash)| *stash == Some(json!({"for": "later"}))));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_stalls_is_left_so_often() {
    let stalls = json!([{"text": ["a ", {"holdMs": 3_600_000}, "never"]}]);
    let witness = Witness::default();
    let (asked, result) = failing(stalls, &witness, budget()).await;
    assert_eq!((asked, result.status, result.error.as_deref()), (4, TurnStatus::Error, Some(GIVEN_UP)));
    assert_eq!(result.message.unwrap().text(), "a a a a ", "what came is kept");
    assert_eq!(pauses(&witness), [61, 62, 64]);
    let told = (ExhaustedReason::MaxAttemptsExceeded, 1, "a a a a ".to_owned(), GIVEN_UP.to_owned());
    assert_eq!(*witness.given_up.lock(), [told]);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_comes_back_has_the_turn_completed() {
    let script = json!([{"error": "no"}, {"text": ["half"], "noFinish": true}, says(" and whole")]);
    let witness = Witness { transient: true, ..Default::default() };
    let (asked, result) = failing(script, &witness, budget()).await;
    assert_eq!((asked, result.status), (3, TurnStatus::Completed));
    assert_eq!(result.message.unwrap().text(), "half and whole");
    assert!(witness.given_up.lock().is_empty());
}

#[tokio::test(start_paused = true)]
async fn hooks_end_it_and_what_they_fail_with_does_not_matter() {
    use Mood::{Fails, No, Panics, Yes};
    for (recovery, keep, exhausted, expected, asked) in [
        (Yes, No, Yes, Some(ExhaustedReason::RecoveryAborted), 2),
        (Yes, Fails, Fails, Some(ExhaustedReason::MaxAttemptsExceeded), 4),
        (Yes, Panics, Panics, Some(ExhaustedReason::MaxAttemptsExceeded), 4),
        (Fails, Yes, Fails, Some(ExhaustedReason::RecoveryError), 1),
        (Panics, Yes, Yes, Some(ExhaustedReason::RecoveryError), 1),
        // Not wanted is not given up.
        (No, Yes, Yes, None, 1),
    ] {
        let witness = Witness { recovery, keep, exhausted, transient: true, ..Default::default() };
        let (requests, result) = failing(json!([{"error": "no capacity"}]), &witness, budget()).await;
        let reasons: Vec<ExhaustedReason> = witness.given_up.lock().iter().map(|told| told.0).collect();
        assert_eq!((requests, reasons), (asked, expected.into_iter().collect()));
        assert_eq!(result.status, TurnStatus::Error);
        assert_eq!(result.error.as_deref() == Some(GIVEN_UP), expected.is_some(), "{:?}", result.error);
    }
}

/// A turn that died with these counts in its incident: why it is given up, if it is.
async fn died(
    incident: &Value,
    work: u64,
    chunks: &str,
    budget: ChatRecovery,
) -> (Option<ExhaustedReason>, String) {
    let folder = tempfile::tempdir().unwrap();
    sessions(folder.path()).await;
    interrupted(folder.path(), &record(&json!({"stash": "kept"})), chunks);
    // Counted from now: `ago` is the time of the last progress and of the last attempt.
    let now = number(folder.path(), "SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)");
    let at = |name: &str| json!(now - incident[name].as_i64().unwrap());
    let count = |name: &str| incident.get(name).cloned().unwrap_or(json!(0));
    let row = json!({"id": "i", "attempt": count("attempt"), "interrupted": count("interrupted"), "failures": 0,
        "work": count("work"), "progressAt": at("silentMs"), "attemptAt": at("triedMs")});
    sql(
        folder.path(),
        &format!(
            "INSERT INTO incidents SELECT id, 'r', '{row}' FROM sessions WHERE name = 'work'; \
             UPDATE turns SET work = {work}"
        ),
    );
    let witness = Witness::default();
    let (store, _, agent) = agent(folder.path(), &json!([says(" and whole")]), with(&witness, budget)).await;
    let session = agent.session("work").await.unwrap();
    let result = session.recovery().unwrap().finish().await;
    let last = session.messages().await.unwrap().pop().unwrap().text();
    drop((session, agent));
    store.close().await;
    nothing_is_left(folder.path());
    let given_up = witness.given_up.lock().first().cloned();
    assert_eq!(result.error.as_deref(), given_up.as_ref().map(|_| GIVEN_UP));
    if given_up.is_none() {
        assert_eq!(witness.asked.lock()[0].2, Some(json!("kept")), "the stash outlives the process");
    }
    (given_up.map(|told| told.0), last)
}

#[tokio::test]
async fn behaviour_36_crashes_without_progress_end_a_turn_and_those_with_progress_do_not() {
    let incident = json!({"attempt": 3, "interrupted": 3, "silentMs": 120_000, "triedMs": 60_000});
    let budget = ChatRecovery { max_interrupted_attempts: 10, ..budget() };
    assert_eq!(
        died(&incident, 0, "{\"type\": \"start\", \"messageId\": \"m\"}", budget.clone()).await,
        (Some(ExhaustedReason::MaxAttemptsExceeded), "another question".into())
    );
    assert_eq!(died(&incident, 0, CHUNKS, budget.clone()).await, (None, "half and whole".into()));
    // Half a minute has to pass between two that count.
    let soon = json!({"attempt": 3, "interrupted": 3, "silentMs": 120_000, "triedMs": 1_000});
    assert_eq!(
        died(&soon, 0, "{\"type\": \"start\", \"messageId\": \"m\"}", budget).await,
        (None, " and whole".into())
    );
}

#[tokio::test]
async fn behaviour_36_so_many_deaths_end_a_turn_whatever_they_brought() {
    for (deaths, expected) in [(3, None), (4, Some(ExhaustedReason::InterruptedAttemptsExceeded))] {
        let incident = json!({"attempt": 1, "interrupted": deaths, "silentMs": 0, "triedMs": 0});
        assert_eq!(died(&incident, 0, CHUNKS, budget()).await.0, expected);
    }
}

#[tokio::test]
async fn behaviour_37_work_is_finite_whatever_it_brings() {
    let budget = ChatRecovery { max_recovery_work: 100, ..budget() };
    for (work, expected) in [(10, None), (11, Some(ExhaustedReason::WorkBudgetExceeded))] {
        let incident = json!({"attempt": 1, "interrupted": 1, "work": 90, "silentMs": 0, "triedMs": 0});
        let (reason, last) = died(&incident, work, CHUNKS, budget.clone()).await;
        assert_eq!(reason, expected);
        assert!(last.starts_with("half"), "what came is kept: {last}");
    }
}

#[tokio::test]
async fn silence_ends_a_turn() {
    for (silent, expected) in [(200_000, None), (400_000, Some(ExhaustedReason::NoProgressTimeout))] {
        let incident = json!({"attempt": 1, "interrupted": 1, "silentMs": silent, "triedMs": silent});
        let chunks = "{\"type\": \"start\", \"messageId\": \"m\"}";
        assert_eq!(died(&incident, 0, chunks, budget()).await.0, expected);
    }
}

/// Answers garbage, and breaks off, where it is asked for it.
#[derive(Debug)]
struct Garbler;

#[async_trait]
impl LanguageModel for Garbler {
    fn id(&self) -> &str {
        "test:garbler"
    }

    async fn stream(&self, request: ModelCall) -> Result<ModelStream, ModelError> {
        let asks = |word: &str| {
            let parts = request.messages.iter().flat_map(|message| &message.content);
            parts.into_iter().any(|part| matches!(part, Part::Text { text, .. } if text.contains(word)))
        };
        if asks("nonsense") {
            return Err(ModelError::new(ModelErrorKind::InvalidResponse, "it is no answer at all"));
        }
        let delta = if asks("garbage") { "\u{fffd}\0%&" } else { "fine" };
        let mut events = vec![
            ModelEvent::TextStart { id: "0".into() },
            ModelEvent::TextDelta { id: "0".into(), delta: delta.into() },
        ];
        if !asks("garbage") {
            events.push(ModelEvent::Finish {
                reason: FinishReason::Stop,
                raw_reason: None,
                usage: Usage::default(),
                provider_metadata: None,
            });
        }
        Ok(futures::stream::iter(events.into_iter().map(Ok)).boxed())
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_answers_garbage_is_asked_so_often_and_holds_up_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let witness = Witness::default();
    let garbled = with(&witness, budget());
    let (_, _, agent) =
        agent(folder.path(), &json!([{}]), |agent| garbled(agent).model(Arc::new(Garbler))).await;
    let (work, home) = (agent.session("work").await.unwrap(), agent.session("home").await.unwrap());
    let mut turn = work.send("garbage please").await.unwrap();
    let mut tries = 0;
    while let Some(event) = turn.next().await {
        if json!(event)["type"] == "chat:recovery:scheduled" {
            tries += 1;
            let result = home.send("how are you?").await.unwrap().finish().await;
            assert_eq!((result.status, &*result.text), (TurnStatus::Completed, "fine"));
        }
    }
    let result = turn.finish().await;
    assert_eq!((tries, result.error.as_deref()), (3, Some(GIVEN_UP)));
    let result = home.send("nonsense please").await.unwrap().finish().await;
    assert_eq!((result.status, result.error.as_deref()), (TurnStatus::Error, Some("it is no answer at all")));
    assert_eq!(
        work.send("and now?").await.unwrap().finish().await.status,
        TurnStatus::Error,
        "it is still asked"
    );
}

#[tokio::test]
async fn a_turn_whose_wait_is_cancelled_ends_there() {
    let folder = tempfile::tempdir().unwrap();
    let witness = Witness { transient: true, ..Default::default() };
    let (_, model, agent) = agent(folder.path(), &json!([{"error": "no"}]), with(&witness, budget())).await;
    let session = agent.session("work").await.unwrap();
    let mut turn = session.send("hi").await.unwrap();
    while let Some(event) = turn.next().await {
        if json!(event)["type"] == "chat:recovery:scheduled" {
            assert!(session.cancel(turn.request_id()));
        }
    }
    assert_eq!(turn.finish().await.status, TurnStatus::Aborted);
    assert!(session.wait_until_stable(PATIENCE).await);
    assert_eq!(model.requests().len(), 1);
    nothing_is_left(folder.path());
}
