//! Turns whose stream stalls, and what is said to the session meanwhile.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Duration;

use lathe::TurnEvent;
use lathe::agent::ChatEvent;
use lathe::turn::TurnStatus;
use lathe_tests::house::House;
use serde_json::json;

/// A model that falls silent in the middle of its first answer.
async fn house() -> House {
    let script = json!([
        {"text": ["one ", {"holdMs": 86_400_000}]},
        {"text": ["two"]},
        {"text": ["three"]},
    ]);
    House::new(&script, |agent| agent.chat_stream_stall_timeout(Duration::from_millis(50))).await
}

/// Reads a turn until it waits for its next attempt.
async fn scheduled(turn: &mut lathe::TurnStream) {
    while let Some(event) = turn.next().await {
        if matches!(event, TurnEvent::Chat(ChatEvent::RecoveryScheduled(_))) {
            return;
        }
    }
    panic!("it was never taken up");
}

#[tokio::test]
async fn a_message_that_comes_before_the_next_attempt_has_its_turn_after_it() {
    let house = house().await;
    let session = house.session().await;
    let mut turn = session.send("a").await.unwrap();
    scheduled(&mut turn).await;
    let next = session.send("b").await.unwrap();
    let (result, next) = (turn.finish().await, next.finish().await);
    assert_eq!((result.status, &*result.text), (TurnStatus::Completed, "one two"));
    assert_eq!((next.status, &*next.text), (TurnStatus::Completed, "three"));
    let texts: Vec<String> =
        session.messages().await.unwrap().iter().map(lathe::turn::UiMessage::text).collect();
    assert_eq!(texts, ["a", "one two", "b", "three"]);
}

#[tokio::test]
async fn who_steers_meanwhile_is_heard_after_the_answer_is_whole() {
    let house = house().await;
    let session = house.session().await;
    let mut turn = session.send("a").await.unwrap();
    scheduled(&mut turn).await;
    session.steer("b");
    assert_eq!(turn.finish().await.status, TurnStatus::Completed);
    let texts: Vec<String> =
        session.messages().await.unwrap().iter().map(lathe::turn::UiMessage::text).collect();
    assert_eq!(texts, ["a", "one two", "b", "three"]);
}
