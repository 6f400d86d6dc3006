//! Whole turns through the public API, with real extensions and a real database.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use lathe::extensions::{ExtensionSettings, Loaded, Loader};
use lathe::hooks::Hook;
use lathe::model::{Script, ScriptedModel};
use lathe::store::{SqliteStore, Store};
use lathe::turn::{ConfigField, TurnStatus, UiMessage};
use lathe::{Agent, Session, TurnEvent, TurnResult};
use lathe_tests::guests::guest;
use serde_json::{Value, json};
use tempfile::TempDir;

struct House {
    folder: TempDir,
    store: Arc<SqliteStore>,
    model: Arc<ScriptedModel>,
    agent: Agent,
}

async fn load(loader: Loader, packages: &[&str]) -> Loaded {
    let loaded = loader.load_files(packages.iter().map(|package| guest(package)).collect()).await;
    assert!(loaded.errors.is_empty(), "{:?}", loaded.errors);
    loaded
}

async fn house(packages: &[&str], script: &Value) -> House {
    let folder = tempfile::tempdir().unwrap();
    let rules = ExtensionSettings {
        settings: json!({"rules": ["Be kind."], "maxSteps": 3}).as_object().unwrap().clone(),
        ..Default::default()
    };
    let loader = Loader::new()
        .unwrap()
        .cache(std::env::temp_dir().join("lathe-tests-cache"))
        .settings([("house-rules".to_owned(), rules)].into());
    let loaded = load(loader, packages).await;
    let store = Arc::new(SqliteStore::open(&folder.path().join("lathe.db")).await.unwrap());
    let model = Arc::new(ScriptedModel::new("scripted:test", Script::parse(&script.to_string()).unwrap()));
    let agent = Agent::builder(store.clone())
        .model(model.clone())
        .system("SYS")
        .extensions(loaded.extensions)
        .build()
        .unwrap();
    House { folder, store, model, agent }
}

async fn play(session: &Session, prompt: &str) -> (Vec<TurnEvent>, TurnResult) {
    let mut turn = session.send(prompt).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = turn.next().await {
        events.push(event);
    }
    (events, turn.finish().await)
}

fn all() -> [&'static str; 4] {
    ["calc", "clock", "house-rules", "meter"]
}

fn call(id: &str, tool: &str, input: &Value) -> Value {
    json!({"id": id, "name": tool, "input": input})
}

#[tokio::test]
async fn extensions_add_tools_change_the_turn_and_watch_it() {
    let script = json!([
        {"toolCalls": [call("c0", "calc_evaluate", &json!({"expression": "21 * 2"})), call("c1", "clock_now", &json!({"timeZone": "Asia/Tokyo"}))]},
        {"text": ["It is ", "42."]},
    ]);
    let house = house(&all(), &script).await;
    let session = house.agent.session("s").await.unwrap();
    let (events, result) = play(&session, "go").await;
    assert_eq!(
        (result.status, &*result.text, result.steps),
        (TurnStatus::Completed, "It is 42.", 2),
        "{result:?}"
    );

    let requests = house.model.requests();
    let system = requests[0].system.as_deref().unwrap();
    assert!(system.starts_with("SYS") && system.contains("Be kind."), "{system}");
    let offered: Vec<&str> = requests[0].tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(offered, ["calc_evaluate", "clock_now", "clock_add_duration", "meter_report"]);
    let results = serde_json::to_value(&requests[1].messages).unwrap();
    assert_eq!(results[2]["content"][0]["output"]["value"]["result"], "42");
    assert_eq!(results[2]["content"][1]["output"]["value"]["timeZone"], "Asia/Tokyo");

    let changed: Vec<(&str, ConfigField)> = events
        .iter()
        .filter_map(|event| if let TurnEvent::HookCall(call) = event { Some(call) } else { None })
        .flat_map(|call| call.changes.iter().map(|change| (&*call.extension, change.field)))
        .collect();
    assert_eq!(changed, [("house-rules", ConfigField::System), ("house-rules", ConfigField::MaxSteps)]);

    let mut watched: Vec<Hook> = events
        .iter()
        .filter_map(|event| if let TurnEvent::HookCall(call) = event { Some(call) } else { None })
        .filter(|call| call.extension == "meter" && call.failure.is_none())
        .map(|call| call.hook)
        .collect();
    watched.retain(|hook| *hook != Hook::OnChunk);
    assert_eq!(
        watched,
        [
            Hook::BeforeTurn,
            Hook::BeforeStep,
            Hook::BeforeToolCall,
            Hook::BeforeToolCall,
            Hook::AfterToolCall,
            Hook::AfterToolCall,
            Hook::OnStepFinish,
            Hook::BeforeStep,
            Hook::OnStepFinish,
            Hook::OnChatResponse
        ]
    );
}

#[tokio::test]
async fn what_an_extension_counts_is_there_in_the_next_turn_and_after_a_restart() {
    let report = json!([{"toolCalls": [call("c0", "meter_report", &json!({}))]}, {"text": ["ok"]}]);
    let house = house(&["meter"], &report).await;
    let session = house.agent.session("s").await.unwrap();
    let (_, first) = play(&session, "one").await;
    assert_eq!(first.status, TurnStatus::Completed);
    house.store.close().await;

    let store = Arc::new(SqliteStore::open(&house.folder.path().join("lathe.db")).await.unwrap());
    let loaded = load(Loader::new().unwrap(), &["meter"]).await;
    let model = Arc::new(ScriptedModel::new("scripted:test", Script::parse(&report.to_string()).unwrap()));
    let agent =
        Agent::builder(store.clone()).model(model.clone()).extensions(loaded.extensions).build().unwrap();
    let session = agent.session("s").await.unwrap();
    play(&session, "two").await;
    let request = serde_json::to_value(&model.requests()[1]).unwrap();
    let messages = request["messages"].as_array().unwrap();
    let report = &messages.last().unwrap()["content"][0]["output"]["value"];
    // Of the first turn, and the two steps' worth of the second that were known when the tool ran.
    assert_eq!(report["turns"], json!(1), "{report}");
    assert_eq!(report["steps"], json!(2), "{report}");
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant", "user", "assistant", "tool"]);
}

#[tokio::test]
async fn the_users_message_is_stored_before_the_model_is_asked() {
    let house = house(&[], &json!([{"error": "503 down"}])).await;
    let session = house.agent.session("s").await.unwrap();
    let (_, result) = play(&session, "remember me").await;
    assert_eq!((result.status, result.error.as_deref()), (TurnStatus::Error, Some("503 down")));
    let stored = house.store.messages("s").await.unwrap();
    assert_eq!(stored.iter().map(UiMessage::text).collect::<Vec<_>>(), ["remember me"]);
}

#[tokio::test]
async fn a_cancelled_turn_keeps_what_was_said() {
    let house = house(&[], &json!([{"text": ["half", {"holdMs": 3_600_000}, "never"]}])).await;
    let session = house.agent.session("s").await.unwrap();
    let mut turn = session.send("go").await.unwrap();
    while let Some(event) = turn.next().await {
        if serde_json::to_value(&event).unwrap()["text"] == "half" {
            turn.cancel();
        }
    }
    let result = turn.finish().await;
    assert_eq!((result.status, &*result.text), (TurnStatus::Aborted, "half"));
    let stored = serde_json::to_value(house.store.messages("s").await.unwrap()).unwrap();
    assert_eq!(stored[1]["parts"][1], json!({"type": "text", "text": "half", "state": "streaming"}));
}
