//! An extension that means no good costs its own budget and nothing else.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use lathe::extensions::{ExtensionSettings, Limits, Loader};
use lathe::hooks::{Hook, HookCall, ToolCost};
use lathe::model::{Script, ScriptedModel};
use lathe::store::SqliteStore;
use lathe::turn::TurnStatus;
use lathe::{Agent, TurnEvent};
use lathe_tests::guests::guest;
use serde_json::{Value, json};

struct Seen {
    /// The calls of the extension's hooks.
    calls: Vec<HookCall>,
    /// Of its `before-turn`.
    failure: Option<&'static str>,
    error: String,
    /// Of its tool call.
    cost: ToolCost,
    /// What the model read as the result of the extension's tool.
    tool: String,
    /// The system prompt of the first request.
    system: String,
}

/// A turn with the rogue and, after it, `house-rules`; the model calls the rogue's tool.
async fn turn(deed: &str, limits: Limits) -> Seen {
    let folder = tempfile::tempdir().unwrap();
    let settings = |settings: Value, limits| ExtensionSettings {
        settings: settings.as_object().unwrap().clone(),
        limits,
        ..Default::default()
    };
    let loader = Loader::new().unwrap().cache(std::env::temp_dir().join("lathe-tests-cache")).settings(
        [
            ("rogue".to_owned(), settings(json!({"do": deed}), limits)),
            ("house-rules".to_owned(), settings(json!({"rules": ["Be kind."]}), Limits::default())),
        ]
        .into(),
    );
    let loaded = loader.load_files(vec![guest("rogue"), guest("house-rules")]).await;
    assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
    let store = Arc::new(SqliteStore::open(&folder.path().join("lathe.db")).await.unwrap());
    let script = json!([{"toolCalls": [{"id": "c", "name": "rogue_act", "input": {}}]}, {"text": ["done"]}]);
    let model = Arc::new(ScriptedModel::new("scripted:test", Script::parse(&script.to_string()).unwrap()));
    let agent = Agent::builder(store)
        .model(model.clone())
        .system("SYS")
        .extensions(loaded.extensions)
        .build()
        .unwrap();
    let mut turn = agent.session("s").await.unwrap().send("go").await.unwrap();
    let (mut calls, mut cost) = (Vec::new(), None);
    while let Some(event) = turn.next().await {
        match event {
            TurnEvent::HookCall(call) if call.extension == "rogue" => calls.push(call),
            TurnEvent::ToolCost(call) => cost = Some(call),
            _ => {}
        }
    }
    assert_eq!(calls[0].hook, Hook::BeforeTurn);
    let (failure, error) = (calls[0].failure, calls[0].error.clone().unwrap_or_default());
    let result = turn.finish().await;
    assert_eq!(
        (result.status, &*result.text),
        (TurnStatus::Completed, "done"),
        "the turn ends as it would without it"
    );
    let requests = model.requests();
    let system = requests[0].system.clone().unwrap();
    assert!(system.contains("Be kind."), "the next extension still runs: {system}");
    let output = serde_json::to_value(&requests[1].messages).unwrap()[2]["content"][0]["output"].clone();
    let tool = output["value"].as_str().map_or_else(|| output["value"].to_string(), str::to_owned);
    Seen { calls, failure, error, cost: cost.unwrap(), tool, system }
}

/// Small enough that a test is quick, large enough for an honest guest.
fn small() -> Limits {
    Limits {
        fuel_per_call: 20_000_000,
        hook_timeout_ms: 1_000,
        tool_timeout_ms: 1_000,
        memory_bytes: 8 << 20,
        // Each call of a turn is to be made, whatever became of the one before it.
        strikes: 0,
        ..Limits::default()
    }
}

#[tokio::test]
async fn an_honest_guest_is_not_disturbed() {
    let seen = turn("", small()).await;
    assert_eq!((seen.failure, &*seen.tool), (None, "well-behaved"));
    assert!(seen.system.starts_with("SYS+rogue"), "{}", seen.system);
}

#[tokio::test]
async fn what_a_call_takes_is_on_record() {
    let seen = turn("", small()).await;
    let ToolCost { extension, tool_name, tool_call_id, output_bytes, failure, .. } = &seen.cost;
    assert_eq!((&**extension, &**tool_name, &**tool_call_id), ("rogue", "rogue_act", "c"));
    assert_eq!((*output_bytes, *failure), ("\"well-behaved\"".len(), None));
    assert!(seen.calls[0].output_bytes >= "SYS+rogue".len(), "{:?}", seen.calls[0]);
    let shown = serde_json::to_value(&seen.cost).unwrap();
    for field in ["durationMs", "fuel", "memoryBytes", "outputBytes"] {
        assert!(shown[field].as_f64().unwrap() > 0.0, "{shown}");
    }
    let seen = turn("loop", small()).await;
    // And a thousand for each of the two bytes of its input.
    assert_eq!((seen.calls[0].failure, seen.cost.fuel), (Some("outOfFuel"), 20_002_000));
    let seen = turn("memory", small()).await;
    assert!((7 << 20..=8 << 20).contains(&seen.cost.memory_bytes), "{:?}", seen.cost);
}

#[tokio::test]
async fn each_deed_has_its_cause() {
    for (deed, kind, told) in [
        ("loop", "outOfFuel", "fuel"),
        ("panic", "trap", "on purpose"),
        ("exit", "trap", "exit"),
        ("memory", "outOfMemory", "memory"),
        ("recurse", "trap", "it trapped"),
        ("sleep", "deadline", "1000 ms"),
    ] {
        let seen = turn(deed, small()).await;
        assert_eq!(seen.failure, Some(kind), "{deed}: {}", seen.error);
        assert!(seen.error.contains(told), "{deed}: {}", seen.error);
        assert!(seen.tool.contains(told) && seen.tool.contains("rogue"), "{deed}: {}", seen.tool);
        assert!(!seen.system.contains("+rogue"), "{deed}");
        assert_eq!((seen.cost.failure, seen.cost.error.is_some()), (Some(kind), true), "{deed}");
        assert!(seen.cost.fuel > 0 && seen.cost.memory_bytes > 0, "{deed}: {:?}", seen.cost);
    }
}

#[tokio::test]
async fn an_error_of_its_own_is_no_fault() {
    let seen = turn("fail", small()).await;
    assert_eq!((seen.failure, &*seen.tool), (Some("guest"), "kaput"));
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_told_from_other_faults() {
    let limits = Limits { memory_bytes: 64 << 20, fuel_per_call: 2_000_000_000, ..small() };
    let seen = turn("output", limits).await;
    assert!(seen.tool.contains("larger than 4194304 bytes"), "{}", seen.tool);
}

#[tokio::test]
async fn a_busy_loop_is_stopped_by_the_clock_too() {
    let limits = Limits { fuel_per_call: u64::MAX, fuel_per_turn: u64::MAX, ..small() };
    let seen = turn("loop", limits).await;
    assert_eq!(seen.failure, Some("deadline"), "{}", seen.error);
}

#[tokio::test]
async fn a_turn_has_fuel_for_so_much_and_no_more() {
    // Enough for one and a half looping calls. The rogue also loops in each on-chunk.
    let seen = turn("loop", Limits { fuel_per_turn: 30_000_000, ..small() }).await;
    assert!(seen.calls.len() > 2, "{:?}", seen.calls);
    assert_eq!(seen.failure, Some("outOfFuel"));
    assert!(seen.calls[1..].iter().all(|call| call.failure == Some("turnFuel")), "{:?}", seen.calls);
    assert_eq!(seen.calls.iter().map(|call| call.fuel).sum::<u64>(), 30_000_000);
}

#[tokio::test]
async fn storage_has_a_quota() {
    let limits =
        Limits { memory_bytes: 64 << 20, output_bytes: 64 << 20, fuel_per_call: 2_000_000_000, ..small() };
    let seen = turn("storage", limits).await;
    assert!(seen.tool.contains("16777216 bytes"), "{}", seen.tool);
}

#[tokio::test]
async fn nothing_is_inherited_and_nothing_granted() {
    let seen = turn("denied", small()).await;
    assert!(seen.tool.contains("context-read") && seen.tool.contains("session-info"), "{}", seen.tool);
    let seen = turn("environment", small()).await;
    assert_eq!(seen.tool, "0 variables, 0 arguments, files: false");
    let seen = turn("network", small()).await;
    assert_eq!(seen.tool, "connected: 0 of 4");
}
