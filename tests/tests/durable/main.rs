//! Sessions in bad company: torn files, full disks, rows that nobody here has written, other processes, providers and hooks
//! that fail; and how much of that a turn puts up with.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod behaviours;
mod budgets;
mod events;
mod holders;
mod later;
mod room;
mod rows;
mod torn;
mod witness;

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use lathe::Agent;
use lathe::agent::AgentBuilder;
use lathe::model::{Script, ScriptedModel};
use lathe::store::SqliteStore;
use lathe_tests::binary::{Folder, Ran};
use serde_json::Value;

/// Longer than anything here takes: what has not ended by then hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// An agent that plays a script on the database of a folder.
async fn agent(
    folder: &Path,
    script: &Value,
    build: impl FnOnce(AgentBuilder) -> AgentBuilder,
) -> (Arc<SqliteStore>, Arc<ScriptedModel>, Agent) {
    let store = Arc::new(SqliteStore::open(&folder.join("lathe.db")).await.unwrap());
    let model = Arc::new(ScriptedModel::new("scripted:test", Script::parse(&script.to_string()).unwrap()));
    let builder = Agent::builder(store.clone()).model(model.clone());
    (store, model, build(builder).build().unwrap())
}

/// Runs a command of the binary to its end, which must come.
async fn run(command: std::process::Command) -> Ran {
    let mut command = tokio::process::Command::from(command);
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await;
    assert!(output.is_ok(), "it hangs");
    let output = output.unwrap().unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Fails if the binary was killed or has panicked, or has failed without a word.
#[track_caller]
fn ends_well(ran: &Ran, where_: &str) {
    assert!(matches!(ran.code, Some(0..=2)), "{where_}: {ran:?}");
    assert!(!ran.err.contains("panicked"), "{where_}: {ran:?}");
    let told = ran.err.contains("error") || ran.out.contains("wrong:");
    assert!(ran.code == Some(0) || told, "{where_}: {ran:?}");
}

/// One turn of a session by the binary, with what `.lathe/lathe.db` and `script.json` of the folder have.
async fn turn(folder: &Folder, session: &str) -> Ran {
    run(folder.command(&["run", "--model", "scripted:script.json", "--session", session, "hi"])).await
}
