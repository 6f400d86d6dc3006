//! Rows that another version has written, or that are nonsense.

use std::path::Path;

use lathe::agent::{ChatRequest, SubmitOptions};
use lathe::store::SqliteStore;
use lathe::turn::{SubmissionStatus, TurnStatus, UiMessage};
use lathe_tests::house::says;
use serde_json::json;

use super::rows::{CHUNKS, interrupted, number, record, sessions, sql};
use super::{PATIENCE, agent};

/// Opens all that is there; the text of the last message of `work` once it is at rest.
async fn opened(folder: &Path) -> String {
    let (store, _, agent) = agent(folder, &json!([says(" and whole")]), |agent| agent).await;
    agent.recover().await.unwrap();
    let session = agent.session("work").await.unwrap();
    assert!(session.wait_until_stable(PATIENCE).await);
    let home = agent.session("home").await.unwrap();
    assert_eq!(home.send("and you?").await.unwrap().finish().await.status, TurnStatus::Completed);
    let last = session.messages().await.unwrap().pop().unwrap().text();
    drop((session, home, agent));
    store.close().await;
    last
}

#[tokio::test]
async fn what_is_new_in_a_turn_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    sessions(folder.path()).await;
    interrupted(folder.path(), &record(&json!({"colour": "blue"})), CHUNKS);
    assert_eq!(opened(folder.path()).await, "half and whole");
    assert_eq!(number(folder.path(), "SELECT count(*) FROM turns"), 0);
}

#[tokio::test]
async fn a_turn_of_another_form_is_left_where_it_is() {
    for body in ["not JSON", "{}", "[]", &record(&json!({"start": 7})), &record(&json!({"parent": {}}))] {
        let folder = tempfile::tempdir().unwrap();
        sessions(folder.path()).await;
        interrupted(folder.path(), body, CHUNKS);
        assert_eq!(opened(folder.path()).await, "another question", "{body}");
        assert_eq!(number(folder.path(), "SELECT count(*) FROM turns"), 1, "{body}");
        assert_eq!(number(folder.path(), "SELECT count(*) FROM turn_chunks"), 1, "{body}");
        let (_, _, agent) = agent(folder.path(), &json!([says("here")]), |agent| agent).await;
        let session = agent.session("work").await.unwrap();
        assert_eq!(session.send("go on").await.unwrap().finish().await.text, "here", "{body}");
    }
}

#[tokio::test]
async fn a_stream_is_read_up_to_what_is_new_in_it() {
    for new in ["{\"type\": \"smell\"}", "{", "7"] {
        let folder = tempfile::tempdir().unwrap();
        sessions(folder.path()).await;
        let after = "{\"type\": \"text-delta\", \"id\": \"0\", \"text\": \" lost\"}";
        interrupted(folder.path(), &record(&json!({})), &format!("{CHUNKS}{new}\n{after}\n"));
        assert_eq!(opened(folder.path()).await, "half and whole", "{new}");
    }
}

#[tokio::test]
async fn incidents_that_make_no_sense_keep_no_turn_from_its_end() {
    let most = json!({"id": "i", "attempt": u32::MAX, "interrupted": 0, "failures": u32::MAX, "work": u64::MAX,
        "progressAt": 0, "attemptAt": u64::MAX});
    let from = |time: i64, interrupted: u32| {
        json!({"id": "i", "attempt": 1, "interrupted": interrupted, "failures": 0, "work": 0,
            "progressAt": time, "attemptAt": time, "colour": "blue"})
    };
    let (future, past) = (1_i64 << 50, 1_000);
    for (incident, goes_on) in [
        // What cannot be read is as good as none.
        (json!("incident"), true),
        (json!({"id": 7}), true),
        (from(-5, 1), true),
        // A clock that went back makes no time pass: the deaths that were counted count.
        (from(future, 1), true),
        (from(future, 4), false),
        // One of long ago is over.
        (from(past, 4), true),
        (most, false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        sessions(folder.path()).await;
        interrupted(folder.path(), &record(&json!({})), CHUNKS);
        let insert = "INSERT INTO incidents SELECT id, 'r'";
        sql(folder.path(), &format!("{insert}, '{incident}' FROM sessions WHERE name = 'work'"));
        let expected = if goes_on { "half and whole" } else { "half" };
        assert_eq!(opened(folder.path()).await, expected, "{incident}");
        for table in ["turns", "turn_chunks", "incidents"] {
            assert_eq!(number(folder.path(), &format!("SELECT count(*) FROM {table}")), 0, "{incident}");
        }
    }
}

#[tokio::test]
async fn a_submission_of_another_form_ends_visibly_and_the_next_one_runs() {
    for (column, value) in [
        ("messages", "not JSON"),
        ("messages", "[{\"id\": \"m\", \"role\": \"oracle\", \"parts\": []}]"),
        ("status", "dreaming"),
        ("metadata", "not JSON"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        sessions(folder.path()).await;
        let message = json!([UiMessage::user("s", "submitted")]);
        sql(
            folder.path(),
            &format!(
                "INSERT INTO submissions (session_id, submission_id, request_id, messages) \
                 SELECT id, 'first', 'first', '{message}' FROM sessions WHERE name = 'work'; \
                 UPDATE submissions SET {column} = '{value}'"
            ),
        );
        let (_, _, agent) = agent(folder.path(), &json!([says("done")]), |agent| agent).await;
        agent.recover().await.unwrap();
        let session = agent.session("work").await.unwrap();
        let options = SubmitOptions { submission_id: Some("second".into()), ..Default::default() };
        session.submit_messages(vec![UiMessage::user("t", "mine")], options).await.unwrap();
        let ended = async {
            loop {
                let second = session.inspect_submission("second").await.unwrap().unwrap();
                if second.status.is_terminal() {
                    return second.status;
                }
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        let ended = tokio::time::timeout(PATIENCE, ended).await;
        assert_eq!(ended.ok(), Some(SubmissionStatus::Completed), "{column} = {value}");
        let first = session.inspect_submission("first").await.unwrap().unwrap();
        let readable = column == "metadata";
        let expected = if readable { SubmissionStatus::Completed } else { SubmissionStatus::Error };
        assert_eq!(first.status, expected, "{column} = {value}");
        assert_eq!(first.error.is_none(), readable, "{column} = {value}");
        let kept = "SELECT count(*) FROM submissions WHERE submission_id = 'first' AND messages <> ''";
        assert_eq!(number(folder.path(), kept), 1, "nothing is deleted");
    }
}

#[tokio::test]
async fn a_message_of_another_form_stops_its_own_session_alone() {
    let folder = tempfile::tempdir().unwrap();
    sessions(folder.path()).await;
    let file = folder.path().join("lathe.db");
    interrupted(folder.path(), &record(&json!({})), CHUNKS);
    sql(
        folder.path(),
        "UPDATE messages SET body = '{\"id\": \"q\", \"role\": \"oracle\", \"parts\": []}' WHERE message_id = 'q'",
    );
    let (store, _, agent) = agent(folder.path(), &json!([says("here")]), |agent| agent).await;
    agent.recover().await.unwrap();
    let session = agent.session("work").await.unwrap();
    let result = session.send(ChatRequest::from("go on")).await.unwrap().finish().await;
    assert_eq!(result.status, TurnStatus::Error);
    let error = result.error.unwrap();
    assert!(error.contains("\"work\"") && error.contains("\"q\"") && error.contains("oracle"), "{error}");
    assert!(session.wait_until_stable(PATIENCE).await);
    let home = agent.session("home").await.unwrap();
    assert_eq!(home.send("and you?").await.unwrap().finish().await.text, "here");
    drop((session, home, agent));
    store.close().await;
    assert_eq!(number(folder.path(), "SELECT count(*) FROM turns WHERE request_id = 'r'"), 1, "it can wait");
    assert_eq!(SqliteStore::check(&file).await.unwrap().faults.len(), 1);
}

#[tokio::test]
async fn what_is_new_in_a_message_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    sessions(folder.path()).await;
    let body = json!({"id": "q", "role": "user", "mood": "good", "parts": [
        {"type": "text", "text": "a text", "font": "large"}, {"type": "smell", "of": "rain"}]});
    sql(folder.path(), &format!("UPDATE messages SET body = '{body}' WHERE message_id = 'q'"));
    let (_, _, agent) = agent(folder.path(), &json!([says("here")]), |agent| agent).await;
    let session = agent.session("work").await.unwrap();
    let result = session.send("go on").await.unwrap().finish().await;
    assert_eq!((result.status, &*result.text), (TurnStatus::Completed, "here"), "{:?}", result.error);
}
