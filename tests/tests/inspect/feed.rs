use std::sync::Arc;

use async_trait::async_trait;
use lathe::hooks::{HookResult, Hooks, TurnContext};
use lathe::server::Limits;
use lathe::turn::TurnConfig;
use lathe_tests::house::{House, call, load, says};
use serde_json::{Value, json};

use crate::serve;
use crate::web::{Inspector, chat, get};

fn kinds(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(_, event)| event["type"].as_str().unwrap()).collect()
}

fn ids(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(id, _)| &**id).collect()
}

/// The parts of turns of that type.
fn parts(events: &[(String, Value)], kind: &str) -> Vec<Value> {
    events.iter().map(|(_, event)| event["event"].clone()).filter(|part| part["type"] == kind).collect()
}

#[tokio::test]
async fn what_was_is_told_then_what_happens_and_nothing_twice() {
    let script = json!([says("one"), call("c1", "meter_report", &json!({})), says("two"), says("three")]);
    let extensions = load(&["meter"], Default::default()).await;
    let house = House::new(&script, |agent| agent.extensions(extensions)).await;
    let address = serve(&house, |server| server).await;
    let mut first = Inspector::new(&address, "s", None).await;
    assert_eq!(first.remembered().await, []);
    chat(&address, "s", "u1", "hi").await;
    let one = first.turn().await;
    assert_eq!((kinds(&one)[0], kinds(&one)[one.len() - 1]), ("turn-started", "turn-ended"));
    assert_eq!(one[0].1["trigger"], "ws-chat");
    let hook = &parts(&one, "hook-call")[0];
    assert_eq!((&hook["extension"], &hook["hook"]), (&json!("meter"), &json!("beforeTurn")), "{hook}");
    assert!(parts(&one, "finish-step").len() == 1 && parts(&one, "text-delta").is_empty(), "{one:?}");
    let times: Vec<i64> = one.iter().map(|(_, event)| event["at"].as_i64().unwrap()).collect();
    assert!(times[0] > 1_700_000_000_000 && times.is_sorted(), "{times:?}");

    let mut second = Inspector::new(&address, "s", None).await;
    assert_eq!(second.remembered().await, one);
    chat(&address, "s", "u2", "and?").await;
    let two = second.turn().await;
    assert_eq!(parts(&two, "tool-call")[0]["toolName"], "meter_report");
    assert_eq!(first.turn().await, two);

    // Somebody comes back who has seen the first turn and a bit of the second.
    let mut back = Inspector::new(&address, "s", Some(&two[3].0)).await;
    assert_eq!(back.remembered().await, two[4..]);
    chat(&address, "s", "u3", "and then?").await;
    assert_eq!(parts(&back.turn().await, "start").len(), 1);
    let mut of_another_server = Inspector::new(&address, "s", Some("0123456789abcdef-2")).await;
    assert_eq!(ids(&of_another_server.remembered().await)[..one.len()], ids(&one));
    let mut of_another_session = Inspector::new(&address, "t", Some(&two[3].0)).await;
    assert_eq!(of_another_session.remembered().await, []);
}

#[tokio::test]
async fn the_latest_turns_are_remembered() {
    let house = House::plain(&Value::from(vec![says("hello"); 20])).await;
    let address = serve(&house, |server| server).await;
    let mut watching = Inspector::new(&address, "s", None).await;
    assert_eq!(watching.remembered().await, []);
    let mut turns = Vec::new();
    for number in 0..18 {
        chat(&address, "s", &format!("u{number}"), "hi").await;
        turns.push(watching.turn().await);
    }
    let remembered = Inspector::new(&address, "s", None).await.remembered().await;
    assert_eq!(remembered, turns[2..].concat());
}

#[tokio::test]
async fn an_inspector_that_does_not_read_is_let_go_of_and_the_chat_goes_on() {
    // A megabyte a turn: more than what the system takes for who does not read.
    let script = Value::from(vec![says("done"); 16]);
    let house = House::new(&script, |agent| agent.hooks(Arc::new(Says("x".repeat(1 << 20))))).await;
    let limits = Limits { queued_bytes: 3 << 20, connections: 3, ..Limits::default() };
    let address = serve(&house, |server| server.limits(limits)).await;
    let mut slow = Inspector::new(&address, "s", None).await;
    assert_eq!(slow.remembered().await, []);
    for number in 0..16 {
        assert!(chat(&address, "s", &format!("u{number}"), "go on").await.contains("done"));
    }
    let mut turns = 0;
    while let Some((_, event)) = slow.next().await {
        turns += usize::from(event["type"] == "turn-ended");
    }
    assert!(turns < 16, "it has not been told all");
    let mut next = Inspector::new(&address, "s", None).await;
    assert!(!next.remembered().await.is_empty(), "its place is free");
}

/// Adds to the system prompt.
struct Says(String);

#[async_trait]
impl Hooks for Says {
    async fn before_turn(&self, turn: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
        let system = format!("{}{}", turn.system, self.0);
        Ok(Some(TurnConfig { system: Some(system), ..TurnConfig::default() }))
    }
}

#[tokio::test]
async fn what_built_in_hooks_set_is_told_too() {
    let house =
        House::new(&json!([says("ok")]), |agent| agent.hooks(Arc::new(Says(" Be brief.".into())))).await;
    let address = serve(&house, |server| server).await;
    let mut watching = Inspector::new(&address, "s", None).await;
    assert_eq!(watching.remembered().await, []);
    chat(&address, "s", "u", "hi").await;
    let change = json!({
        "type": "config-change",
        "hook": "beforeTurn",
        "by": "built-in",
        "changes": [{"field": "system", "value": "SYS Be brief."}],
    });
    assert_eq!(parts(&watching.turn().await, "config-change"), [change]);
}

#[tokio::test]
async fn inspectors_have_places_as_others() {
    let house = House::plain(&json!([says("hello")])).await;
    let limits = Limits { connections: 1, ..Limits::default() };
    let address = serve(&house, |server| server.limits(limits)).await;
    let mut only = Inspector::new(&address, "s", None).await;
    assert_eq!(only.remembered().await, []);
    assert_eq!(get(&address, "/api/sessions/s/events").await.status, 503);
    assert_eq!(get(&address, "/api/sessions").await.status, 200, "lists need no place");
}
