//! What it costs that turns survive: the journal of each turn, and taking one up. Prints a table of medians.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench that stops when something fails")]

mod unjournaled;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lathe::Agent;
use lathe::model::{LanguageModel, ModelCall, ModelError, ModelStream, Script, ScriptedModel};
use lathe::store::{Entry, SqliteStore, Store};
use lathe::turn::{TurnStatus, UiMessage, UiRole};
use lathe_tests::tool::FnTool;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use unjournaled::Unjournaled;

/// Messages in the one session, and sessions in the other database.
const MANY: usize = 10_000;

/// Turns of which the cost is taken, and recoveries.
const TURNS: usize = 100;
const SAMPLES: usize = 15;

/// A text of 200 deltas, and the parts of it with two tool calls between them.
fn text() -> Value {
    json!([{"text": vec!["some words "; 200]}])
}

fn calls() -> Value {
    let calls =
        ["a", "b"].map(|id| json!({"id": id, "name": "look", "input": {"at": "the weather in Oslo"}}));
    json!([{"text": vec!["some words "; 100], "toolCalls": calls}, {"text": vec!["some words "; 100]}])
}

/// Plays a script in every turn, and tells when it is asked.
#[derive(Debug)]
struct Model {
    script: Script,
    asked: mpsc::UnboundedSender<Instant>,
}

#[async_trait]
impl LanguageModel for Model {
    fn id(&self) -> &str {
        "bench:model"
    }

    async fn stream(&self, request: ModelCall) -> Result<ModelStream, ModelError> {
        let _ = self.asked.send(Instant::now());
        // The second step is the one whose request ends with results.
        let steps = usize::from(json!(request.messages.last())["role"] == "tool");
        let model = ScriptedModel::new("bench:step", self.script.clone());
        for _ in 0..steps {
            drop(model.stream(ModelCall::default()).await?);
        }
        model.stream(request).await
    }
}

fn agent(store: Arc<dyn Store>, script: &Value) -> (Agent, mpsc::UnboundedReceiver<Instant>) {
    let (asked, asks) = mpsc::unbounded_channel();
    let model = Model { script: Script::parse(&script.to_string()).unwrap(), asked };
    let look = FnTool::answers("look", json!({"seen": "rain ".repeat(40)})).arc();
    (Agent::builder(store).model(Arc::new(model)).tool(look).build().unwrap(), asks)
}

fn print(name: &str, mut taken: Vec<Duration>) {
    taken.sort_unstable();
    println!("{name:<56} {:>10.3} ms", taken[taken.len() / 2].as_secs_f64() * 1e3);
}

/// Turns of a session of their own each, one after the other.
async fn turns(name: &str, script: &Value, wrap: impl Fn(SqliteStore) -> Arc<dyn Store>) {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await;
    let (agent, _asks) = agent(wrap(store.clone()), script);
    let mut taken = Vec::new();
    for turn in 0..TURNS {
        let session = agent.session(&turn.to_string()).await.unwrap();
        let begun = Instant::now();
        let result = session.send("and the weather?").await.unwrap().finish().await;
        taken.push(begun.elapsed());
        assert_eq!(result.status, TurnStatus::Completed, "{:?}", result.error);
    }
    print(name, taken);
    drop(agent);
    store.close().await;
}

/// The bytes of a turn in the file and in what was written ahead of it, and the rows that are left.
async fn bytes(name: &str, script: &Value) {
    let folder = tempfile::tempdir().unwrap();
    // What is written ahead goes into the file when it is closed.
    open(folder.path()).await.close().await;
    let size = |name: &str| std::fs::metadata(folder.path().join(name)).map_or(0, |file| file.len());
    let empty = size("lathe.db");
    let store = open(folder.path()).await;
    let (agent, _asks) = agent(Arc::new(store.clone()), script);
    let session = agent.session("s").await.unwrap();
    let mut said = 0;
    for turn in 0..20_u64 {
        session.send("and the weather?").await.unwrap().finish().await;
        if turn == 19 {
            println!("{:<56} {:>10} bytes", format!("{name}: written ahead"), size("lathe.db-wal") / 20);
        }
    }
    for message in session.messages().await.unwrap() {
        said += json!(message).to_string().len();
    }
    drop((session, agent));
    store.close().await;
    println!("{:<56} {:>10} bytes", format!("{name}: in the file"), (size("lathe.db") - empty) / 20);
    println!("{:<56} {:>10} bytes", format!("{name}: its two messages as JSON"), said / 20);
    let file = rusqlite::Connection::open(folder.path().join("lathe.db")).unwrap();
    let rows = ["turns", "turn_chunks", "incidents"].map(|table| -> i64 {
        file.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    });
    println!("{:<56} {:>10?}", format!("{name}: rows left of turns, streams, incidents"), rows);
}

async fn open(folder: &Path) -> SqliteStore {
    SqliteStore::open(&folder.join("lathe.db")).await.unwrap()
}

fn entries(many: usize) -> Vec<Entry> {
    let text = "word and ".repeat(100);
    let entry = |number: usize| {
        let mut message = UiMessage::user(number.to_string(), format!("{text} n{number}"));
        message.role = if number % 2 == 1 { UiRole::Assistant } else { UiRole::User };
        let parent = number.checked_sub(1).map(|parent| parent.to_string());
        Entry::Message { parent, created_at: None, message }
    };
    (0..many).map(entry).collect()
}

/// A turn of a session that a process has left.
fn interrupt(folder: &Path, session: &str, number: usize) {
    let record = json!({"start": {"requestId": format!("r{number}"), "messageId": format!("m{number}"),
        "trigger": "programmatic", "continuation": false, "maxSteps": 3}, "rootRequestId": format!("r{number}")});
    let chunks = "{\"type\": \"start-step\"}\n{\"type\": \"text-start\", \"id\": \"0\"}\n\
        {\"type\": \"text-delta\", \"id\": \"0\", \"text\": \"half\"}\n";
    let connection = rusqlite::Connection::open(folder.join("lathe.db")).unwrap();
    connection
        .execute_batch(&format!(
            "INSERT INTO turns (session_id, request_id, body, begun) \
             SELECT id, 'r{number}', '{record}', 1 FROM sessions WHERE name = '{session}'; \
             INSERT INTO turn_chunks SELECT number, 1, '{chunks}' FROM turns"
        ))
        .unwrap();
}

/// From the opening of the file to the first request of the turn that takes one up.
async fn recovery(name: &str, folder: &Path, session: &str) {
    let (mut opened, mut asked) = (Vec::new(), Vec::new());
    for sample in 0..SAMPLES {
        interrupt(folder, session, sample);
        let begun = Instant::now();
        let store = open(folder).await;
        let (agent, mut asks) = agent(Arc::new(store.clone()), &text());
        let sessions = agent.recover().await.unwrap();
        opened.push(begun.elapsed());
        asked.push(asks.recv().await.unwrap() - begun);
        let [session] = &sessions[..] else { unreachable!("one was interrupted") };
        assert_eq!(session.recovery().unwrap().finish().await.status, TurnStatus::Completed);
        drop((sessions, agent));
        store.close().await;
    }
    print(&format!("{name}: Agent::recover returns"), opened);
    print(&format!("{name}: the model is asked"), asked);
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        for (name, script) in [("200 deltas", text()), ("two calls", calls())] {
            // Twice, so that neither is always the one that finds the machine cold.
            for round in 1..=2 {
                turns(&format!("{name}, journal on, round {round}"), &script, |store| Arc::new(store)).await;
                turns(&format!("{name}, journal off, round {round}"), &script, |store| {
                    Arc::new(Unjournaled(store))
                })
                .await;
            }
            bytes(name, &script).await;
        }
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).await;
        store.import("long", entries(MANY)).await.unwrap();
        store.close().await;
        recovery("a session of 10,000 messages", folder.path(), "long").await;
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path()).await;
        for session in 0..MANY {
            store.import(&format!("session-{session}"), entries(4)).await.unwrap();
        }
        store.close().await;
        recovery("one of 10,000 sessions", folder.path(), "session-77").await;
    });
}
