//! Databases as another process, or another version, may have left them.

use std::path::Path;

use lathe::store::Store;
use lathe::turn::{TurnStatus, UiMessage};
use lathe_tests::house::says;
use serde_json::{Value, json};

use super::agent;

/// Statements on the database of a folder.
pub(super) fn sql(folder: &Path, statements: &str) {
    let connection = rusqlite::Connection::open(folder.join("lathe.db")).unwrap();
    connection.execute_batch(statements).unwrap();
}

/// The number that a query gives.
pub(super) fn number(folder: &Path, query: &str) -> i64 {
    let connection = rusqlite::Connection::open(folder.join("lathe.db")).unwrap();
    connection.query_row(query, [], |row| row.get(0)).unwrap()
}

/// Two sessions with an answered question each; in `work` another one waits for its answer.
pub(super) async fn sessions(folder: &Path) {
    let (store, _, agent) = agent(folder, &json!([says("an answer")]), |agent| agent).await;
    for name in ["work", "home"] {
        let session = agent.session(name).await.unwrap();
        assert_eq!(session.send("a question").await.unwrap().finish().await.status, TurnStatus::Completed);
    }
    store.put("work", &UiMessage::user("q", "another question"), None).await.unwrap();
    drop(agent);
    store.close().await;
}

/// What the journal says of that turn, with `more` in it.
pub(super) fn record(more: &Value) -> String {
    let mut record = json!({"start": {"requestId": "r", "messageId": "m", "trigger": "programmatic",
        "continuation": false, "maxSteps": 3}, "rootRequestId": "r"});
    record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    record.to_string()
}

/// Notes a turn of `work` that a process has begun, with what it has shown.
pub(super) fn interrupted(folder: &Path, record: &str, chunks: &str) {
    sql(
        folder,
        &format!(
            "INSERT INTO turns (session_id, request_id, body, begun) SELECT id, 'r', '{record}', 1 FROM sessions \
             WHERE name = 'work'; INSERT INTO turn_chunks SELECT number, 1, '{chunks}' FROM turns"
        ),
    );
}

/// What it has shown.
pub(super) const CHUNKS: &str = r#"{"type": "start-step"}
{"type": "text-start", "id": "0"}
{"type": "text-delta", "id": "0", "text": "half"}
"#;
