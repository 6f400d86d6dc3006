//! A host that is made to be killed: `kill-host FOLDER SESSION TASKS`. It takes up what is left of the session, works on that
//! many new tasks, and says on standard output how far it is.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;
use futures::StreamExt;
use lathe::Agent;
use lathe::agent::ChatRequest;
use lathe::hooks::{ChunkContext, HookResult, Hooks, ToolCallContext};
use lathe::model::{LanguageModel, ModelCall, ModelError, ModelEvent, ModelStream};
use lathe::session::{Compaction, CompactionError, Compactor};
use lathe::store::SqliteStore;
use lathe::turn::{Chunk, FinishReason, Replay, Role, ToolDecision, UiMessage, Usage};
use lathe_tests::tool::FnTool;
use serde_json::{Value, json};

/// Longer than any turn here takes.
const PATIENCE: Duration = Duration::from_secs(120);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut next = move || arguments.next().context("kill-host FOLDER SESSION TASKS");
    let (folder, name, tasks) = (PathBuf::from(next()?), next()?, next()?.parse::<u32>()?);
    let store = Arc::new(SqliteStore::open(&folder.join("lathe.db")).await?);
    let executions = folder.join("executions");
    let agent = Agent::builder(store.clone())
        .model(Arc::new(Worker))
        .tool(tool("charge", Replay::Never, &executions))
        .tool(tool("look", Replay::Safe, &executions))
        .hooks(Arc::new(Points))
        .compaction(Arc::new(KeepTheEnd))
        .compact_after(1)
        .build()?;
    let session = agent.session(&name).await?;
    if let Some(turn) = session.recovery() {
        say("point recovery");
        turn.detach();
    }
    // The model works on the last task that it is shown: new ones come when those that are left are done.
    anyhow::ensure!(session.wait_until_stable(PATIENCE).await, "what was left does not come to its end");
    let begun = session.messages().await?.len();
    for task in 0..tasks {
        let id = format!("task-{begun}-{task}-{}", std::process::id());
        let turn = session.send(ChatRequest::from(UiMessage::user(&*id, &*id))).await?;
        say(&format!("accepted {id}"));
        let result = turn.finish().await;
        say(&format!("ended {id} {:?} {}", result.status, result.error.unwrap_or_default()));
    }
    anyhow::ensure!(session.wait_until_stable(PATIENCE).await, "the session does not come to rest");
    drop(session);
    store.close().await;
    say("settled");
    Ok(())
}

/// One line, at once.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// A tool that notes that it runs, and takes a while.
fn tool(name: &'static str, replay: Replay, executions: &Path) -> Arc<dyn lathe::tools::Tool> {
    let executions = executions.to_owned();
    let run = move |_, call: lathe::tools::CallContext| {
        let executions = executions.clone();
        async move {
            let noted = OpenOptions::new().create(true).append(true).open(&executions);
            let line = format!("{name} {}\n", call.idempotency_key());
            let noted = noted.and_then(|mut file| file.write_all(line.as_bytes()));
            say("point tool");
            tokio::time::sleep(Duration::from_millis(8)).await;
            Ok(json!({"noted": noted.is_ok()}).into())
        }
    };
    FnTool::new(name, run).with(|tool| tool.replay = replay)
}

/// Says where a turn is.
struct Points;

#[async_trait]
impl Hooks for Points {
    async fn on_chunk(&self, chunk: &ChunkContext<'_>) -> HookResult {
        if matches!(chunk.chunk, Chunk::TextDelta { .. }) {
            say("point stream");
        }
        Ok(())
    }

    async fn before_tool_call(&self, _: &ToolCallContext<'_>) -> HookResult<Option<ToolDecision>> {
        say("point commit");
        Ok(None)
    }
}

/// Leaves the last four messages as they are.
struct KeepTheEnd;

#[async_trait]
impl Compactor for KeepTheEnd {
    async fn compact(&self, messages: &[UiMessage]) -> Result<Option<Compaction>, CompactionError> {
        let Some((middle, [_, _, _, _])) = messages.split_last_chunk::<4>() else { return Ok(None) };
        let ([first, _, ..], Some(last)) = (middle, middle.last()) else { return Ok(None) };
        say("point compaction");
        tokio::time::sleep(Duration::from_millis(2)).await;
        Ok(Some(Compaction::new(&*first.id, &*last.id, "what was before")))
    }
}

/// Works on the last task: speaks, calls both tools, speaks again. It knows nothing but what it is shown.
#[derive(Debug)]
struct Worker;

#[async_trait]
impl LanguageModel for Worker {
    fn id(&self) -> &str {
        "test:worker"
    }

    async fn stream(&self, request: ModelCall) -> Result<ModelStream, ModelError> {
        let text = |message: &Value| message["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        let messages: Vec<Value> = request.messages.iter().map(|message| json!(message)).collect();
        let asked = messages
            .iter()
            .rposition(|message| message["role"] == json!(Role::User) && text(message).starts_with("task-"));
        let task = asked.and_then(|place| messages.get(place)).map(text).unwrap_or_default();
        let answered =
            messages.iter().skip(asked.unwrap_or_default()).any(|message| message["role"] == "tool");
        let words = if answered { format!("done {task}") } else { format!("working on {task}") };
        let mut events = vec![ModelEvent::TextStart { id: "0".into() }];
        for word in words.split_inclusive(['-', ' ']) {
            events.push(ModelEvent::TextDelta { id: "0".into(), delta: word.to_owned() });
        }
        events.push(ModelEvent::TextEnd { id: "0".into(), provider_metadata: None });
        if !answered {
            for name in ["charge", "look"] {
                events.push(ModelEvent::ToolCall {
                    id: format!("{name}-{task}"),
                    tool_name: name.into(),
                    input: json!({"task": task}).to_string(),
                    provider_metadata: None,
                });
            }
        }
        events.push(ModelEvent::Finish {
            reason: if answered { FinishReason::Stop } else { FinishReason::ToolCalls },
            raw_reason: None,
            usage: Usage::default(),
            provider_metadata: None,
        });
        let paused = futures::stream::iter(events).then(async |event| {
            tokio::time::sleep(Duration::from_millis(1)).await;
            Ok(event)
        });
        Ok(paused.boxed())
    }
}
