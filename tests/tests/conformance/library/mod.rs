//! Cases of the Go library, played with built-in hooks and tools alone.

mod host;
mod model;
mod queue;
mod record;
pub(crate) mod script;
pub(crate) mod sequence;
mod tools;

use std::sync::Arc;

use lathe::agent::{Concurrency, QueueMode};
use lathe::store::SqliteStore;
use lathe::turn::{TurnStatus, UiMessage};
use lathe::{Agent, Session};
use serde_json::{Value, json};

use host::BuiltIn;
use model::{Answers, CaseModel};
use queue::Queue;
use record::Record;
use script::{Script, Turn, When};

/// More than any case takes: the library has no limit of its own.
const MAX_STEPS: u32 = 1_000;

/// Plays a case in a new house and says what happened, in the form of its `expect`.
pub(crate) async fn play(script: &Script) -> anyhow::Result<Value> {
    let folder = tempfile::tempdir()?;
    let store = Arc::new(SqliteStore::open(&folder.path().join("lathe.db")).await?);
    let record = Arc::new(Record::default());
    let queue = Arc::new(Queue::new(script.queue.clone(), record.clone()));
    let host = &script.host;
    let answers =
        Arc::new(Answers { script: script.model.clone(), queue: queue.clone(), record: record.clone() });
    let model = {
        let answers = answers.clone();
        move |id: &str| Arc::new(CaseModel { id: id.to_owned(), answers: answers.clone() })
    };
    let mode = |all| if all { QueueMode::All } else { QueueMode::OneAtATime };
    let (steering, follow_ups) = host.takes_all();
    let mut builder = Agent::builder(store)
        .model(model(host.model.as_deref().unwrap_or("m1")))
        .models(move |id| Ok(model(id)))
        .system(host.system.as_deref().unwrap_or("SYS"))
        .max_steps(MAX_STEPS)
        // The library has none.
        .chat_recovery(None)
        .steering(mode(steering))
        .follow_ups(mode(follow_ups))
        .concurrency(Concurrency::Drop)
        .hooks(Arc::new(BuiltIn::new(host.hooks.clone(), record.clone())));
    for tool in tools::tools(script, &queue, &record)? {
        builder = builder.tool(tool);
    }
    if let Some(level) = &host.thinking_level {
        builder = builder.reasoning_effort(level);
    }
    if host.is_sequential() {
        builder = builder.sequential_tools();
    }
    let session = builder.build()?.session("conformance").await?;
    record.watch(&session);
    let _open = queue.open(&session);
    queue.act(&When::Start).await;
    let mut turns = Vec::new();
    for turn in script.turns() {
        turns.push(play_turn(&session, &turn).await?);
    }
    let stored: Vec<_> = session.messages().await?.iter().flat_map(UiMessage::to_model).collect();
    Ok(record.all(&turns, &stored))
}

async fn play_turn(session: &Session, turn: &Turn) -> anyhow::Result<Value> {
    let stream = match turn {
        Turn::User(text) => session.send(text).await?,
        Turn::Continue => session.continue_last_turn(None)?,
    };
    let result = stream.finish().await;
    let mut turn = match result.status {
        TurnStatus::Skipped => json!({"status": "rejected", "error": format!("{:?}", result.skipped)}),
        status => json!({"status": status}),
    };
    if result.status == TurnStatus::Aborted {
        turn["error"] = json!("cancelled");
    }
    if let Some(error) = result.error {
        turn["error"] = json!(error);
    }
    if session.waiting() > 0 {
        turn["stillQueued"] = json!(true);
    }
    Ok(turn)
}
