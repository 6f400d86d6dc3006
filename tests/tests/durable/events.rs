//! What is told of turns and submissions while they go on.

use std::sync::Arc;

use lathe::agent::{SessionEvent, SubmitOptions, Watcher};
use lathe::turn::{SubmissionStatus, UiMessage};
use lathe_tests::binary::Folder;
use lathe_tests::house::says;
use serde_json::{Value, json};

use super::rows::{CHUNKS, interrupted, record, sessions};
use super::witness::Witness;
use super::{agent, run};

/// The names of the events for operators in a list of session events, until a turn has ended.
async fn names(watching: &mut Watcher) -> Vec<String> {
    let mut names = Vec::new();
    loop {
        let event = watching.next().await.unwrap();
        let json = match &event {
            SessionEvent::Turn { event, .. } => json!(event),
            SessionEvent::Chat { event } => json!(event),
            _ => Value::Null,
        };
        if let Some(name) = json["type"].as_str().filter(|name| name.contains(':')) {
            names.push(match json["status"].as_str() {
                Some(status) => format!("{name} {status}"),
                None => name.to_owned(),
            });
        }
        if matches!(&event, SessionEvent::Chat { event } if json!(event)["status"] == "completed") {
            return names;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_watcher_hears_of_attempts_and_of_submissions() {
    let folder = tempfile::tempdir().unwrap();
    let hooks = Arc::new(Witness { transient: true, ..Default::default() });
    let script = json!([{"error": "no capacity"}, says("done")]);
    let (_, _, agent) = agent(folder.path(), &script, |agent| agent.hooks(hooks)).await;
    let session = agent.session("work").await.unwrap();
    let mut watching = session.watch();
    session.submit_messages(vec![UiMessage::user("m", "hi")], SubmitOptions::default()).await.unwrap();
    assert_eq!(
        names(&mut watching).await,
        [
            "submission:status pending",
            "submission:status running",
            "chat:turn:start",
            "chat:turn:finish interrupted",
            "chat:recovery:detected",
            "chat:recovery:scheduled",
            "chat:recovery:attempt",
            "chat:turn:start",
            "chat:turn:finish completed",
            "chat:recovery:completed",
            "submission:status completed",
        ]
    );
    let [submission] = &session.list_submissions(None, 50).await.unwrap()[..] else { panic!("one was made") };
    assert_eq!(submission.status, SubmissionStatus::Completed);
    assert!(session.delete_submission(&submission.submission_id).await.unwrap());
    assert_eq!(session.list_submissions(None, 50).await.unwrap(), []);
}

#[tokio::test]
async fn whoever_watches_first_hears_of_a_turn_that_was_taken_up_before() {
    let folder = tempfile::tempdir().unwrap();
    sessions(folder.path()).await;
    interrupted(folder.path(), &record(&json!({})), CHUNKS);
    let (_, _, agent) = agent(folder.path(), &json!([says(" and whole")]), |agent| agent).await;
    let session = agent.session("work").await.unwrap();
    session.recovery().unwrap().finish().await;
    let (mut first, mut second) = (session.watch(), session.watch());
    let started = std::iter::from_fn(|| first.try_next())
        .filter(|event| matches!(event, SessionEvent::TurnStarted { .. }));
    assert_eq!(started.count(), 1);
    assert!(second.try_next().is_none(), "the second hears of what comes");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_binary_prints_what_it_takes_up() {
    let folder = Folder::new();
    let data = folder.path().join(".lathe");
    std::fs::create_dir(&data).unwrap();
    sessions(&data).await;
    interrupted(&data, &record(&json!({})), CHUNKS);
    folder.write("script.json", json!([says(" and whole")]).to_string());
    let args = ["run", "--json", "--model", "scripted:script.json", "--session", "work", "hi"];
    let ran = run(folder.command(&args)).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let lines: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["type"].as_str())
        .filter(|name| name.starts_with("chat:"))
        .collect();
    assert_eq!(
        names,
        [
            "chat:recovery:detected",
            "chat:recovery:attempt",
            "chat:turn:start",
            "chat:turn:finish",
            "chat:recovery:completed",
            "chat:turn:start",
            "chat:turn:finish",
        ]
    );
    assert_eq!(lines.iter().filter(|line| line["recoveryRootRequestId"] == "r").count(), 3, "{}", ran.out);
}
