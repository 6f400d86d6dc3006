//! Several processes with one database.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use lathe::agent::SessionError;
use lathe::store::{SqliteStore, Store, StoreError};
use lathe::turn::TurnStatus;
use lathe_tests::binary::Folder;
use lathe_tests::house::says;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::rows::number;
use super::{PATIENCE, agent, run, turn};

/// A process in the middle of a turn of that session, in which it stays.
async fn busy(folder: &Folder, session: &str) -> Child {
    folder.write("slow.json", json!([{"text": ["half", {"holdMs": 600_000}, "never"]}]).to_string());
    let args = ["run", "--json", "--model", "scripted:slow.json", "--session", session, "a question"];
    let mut command = Command::from(folder.command(&args));
    command.stdout(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let begun = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            if line.contains("text-delta") {
                return true;
            }
        }
        false
    };
    assert!(tokio::time::timeout(PATIENCE, begun).await.unwrap(), "it has ended");
    // Whoever closes the pipe ends the turn.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    // What was shown is stored a moment later.
    while number(&database(folder), "SELECT count(*) FROM turn_chunks") == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    child
}

fn database(folder: &Folder) -> std::path::PathBuf {
    folder.path().join(".lathe")
}

async fn messages(folder: &Path) -> usize {
    let store = SqliteStore::open(&folder.join("lathe.db")).await.unwrap();
    let messages = store.messages("work").await.unwrap().len();
    store.close().await;
    messages
}

#[tokio::test(flavor = "multi_thread")]
async fn one_process_has_a_session_and_the_next_one_gets_it_when_that_is_dead() {
    let folder = Folder::new();
    folder.write("script.json", json!([says(" and whole")]).to_string());
    let mut first = busy(&folder, "work").await;
    let holder = format!("process {}", first.id().unwrap());
    for args in [
        &["run", "--model", "scripted:script.json", "--session", "work", "me too"][..],
        &["sessions", "delete", "work"],
        &["sessions", "rename", "work", "mine"],
    ] {
        let ran = run(folder.command(args)).await;
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert!(
            ran.err.contains("session \"work\" is in use") && ran.err.contains(&holder),
            "{args:?}: {ran:?}"
        );
    }
    assert_eq!(messages(&database(&folder)).await, 1, "the question, and nothing of those who were refused");
    let other = turn(&folder, "other").await;
    assert_eq!((other.code, &*other.out), (Some(0), " and whole\n"), "{other:?}");
    first.kill().await.unwrap();
    let ran = turn(&folder, "work").await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(messages(&database(&folder)).await, 4, "the answer that was taken up, and another one");
    let shown = run(folder.command(&["sessions", "show", "work"])).await.out;
    assert!(shown.contains("half\n and whole"), "{shown}");
    assert_eq!(run(folder.command(&["sessions", "rename", "work", "mine"])).await.code, Some(0));
    assert_eq!(run(folder.command(&["sessions", "delete", "mine"])).await.code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_embedder_is_told_who_has_a_session() {
    let folder = Folder::new();
    let mut first = busy(&folder, "work").await;
    let (_, _, agent) = agent(&database(&folder), &json!([says(" and whole")]), |agent| agent).await;
    let process = format!("process {}", first.id().unwrap());
    let held = |error: &SessionError| match error {
        SessionError::Store(StoreError::Held { session, holder }) => session == "work" && *holder == process,
        _ => false,
    };
    assert!(agent.session("work").await.is_err_and(|error| held(&error)));
    assert!(agent.delete("work").await.is_err_and(|error| held(&error)));
    assert!(agent.rename("work", "mine").await.is_err_and(|error| held(&error)));
    assert!(agent.recover().await.unwrap().is_empty(), "it is the other one's to go on with");
    let other = agent.session("other").await.unwrap();
    assert_eq!(other.send("hi").await.unwrap().finish().await.status, TurnStatus::Completed);
    first.kill().await.unwrap();
    let [session] = &agent.recover().await.unwrap()[..] else { panic!("one session is left") };
    let result = session.recovery().unwrap().finish().await;
    assert_eq!(result.message.unwrap().text(), "half and whole");
}
