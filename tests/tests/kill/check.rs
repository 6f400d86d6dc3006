//! What must be true of a session after any number of deaths.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lathe::store::{Entry, SqliteStore, Store};
use lathe::turn::{ToolState, UiMessage, UiRole};

/// What is wrong with it. `accepted` are the tasks of which a process has said that they are stored.
#[tokio::main]
pub(crate) async fn session(folder: &Path, name: &str, accepted: &[String]) -> anyhow::Result<Vec<String>> {
    let store = SqliteStore::open(&folder.join("lathe.db")).await?;
    let mut wrong = Vec::new();
    let mut say = |what: String| wrong.push(format!("{name}: {what}"));
    if !store.unfinished(name).await?.is_empty() {
        say("a turn is not over".into());
    }
    let read = store.messages(name).await?;
    if read.iter().map(|message| &message.id).collect::<BTreeSet<_>>().len() != read.len() {
        say("a message is read twice".into());
    }
    let messages: Vec<UiMessage> = store.export(name).await?.into_iter().filter_map(message).collect();
    for task in accepted {
        if !messages.iter().any(|message| message.id == *task) {
            say(format!("{task} was accepted and is gone"));
            continue;
        }
        let done = format!("done {task}");
        let answers = || messages.iter().filter(|message| message.role == UiRole::Assistant);
        if !answers().any(|answer| answer.text().contains(&done)) {
            say(format!("{task} was never answered"));
        }
    }
    let executed = executed(folder)?;
    for message in &messages {
        let mut calls = BTreeSet::new();
        for tool in message.tools() {
            let id = &tool.tool_call_id;
            if !calls.insert(id) {
                say(format!("{id} stands twice in {}", message.id));
            }
            if !tool.state.is_settled() {
                say(format!("{id} has no result"));
            }
            let key = format!("{} {name}/{}/{id}", tool.tool_name, message.id);
            let times = executed.get(&key).copied().unwrap_or_default();
            if matches!(tool.state, ToolState::OutputAvailable(_)) && times == 0 {
                say(format!("{id} has an output and never ran"));
            }
        }
    }
    for (key, times) in executed {
        if key.starts_with(&format!("charge {name}/")) && times > 1 {
            say(format!("{key} ran {times} times"));
        }
    }
    store.close().await;
    Ok(wrong)
}

fn message(entry: Entry) -> Option<UiMessage> {
    if let Entry::Message { message, .. } = entry { Some(message) } else { None }
}

/// How often each call was begun.
fn executed(folder: &Path) -> anyhow::Result<BTreeMap<String, u32>> {
    let mut executed = BTreeMap::new();
    let file = folder.join("executions");
    if file.exists() {
        for line in std::fs::read_to_string(file)?.lines() {
            *executed.entry(line.to_owned()).or_default() += 1;
        }
    }
    Ok(executed)
}
