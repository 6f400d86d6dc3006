//! Submissions: messages that were accepted and get their turn, whatever happens to the process.

use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;

use super::{StoreError, messages};
use crate::turn::{Json, SubmissionStatus, UiMessage};

/// A submission as it is kept (`think.md` §4.8).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Submission {
    /// Unique in the session.
    pub submission_id: String,
    /// The caller's own key: the same key is the same submission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The turn that works on it: at first the submission's own id, another one once a recovery has taken it up.
    pub request_id: String,
    /// How far it is.
    pub status: SubmissionStatus,
    /// What happened, with status error; why, with status aborted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the caller noted with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
    /// In milliseconds since 1970; so below.
    pub created_at: u64,
    /// When its turn was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<u64>,
    /// When its status became final.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<u64>,
    /// Its messages.
    #[serde(skip)]
    pub messages: Vec<UiMessage>,
    /// Whether they are part of the conversation.
    #[serde(skip)]
    pub applied: bool,
}

/// Messages that are submitted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewSubmission {
    /// The caller's id for it.
    pub submission_id: Option<String>,
    /// The id that it gets otherwise.
    pub made_up_id: String,
    /// The caller's own key.
    pub idempotency_key: Option<String>,
    /// At least one.
    pub messages: Vec<UiMessage>,
    /// Kept with it.
    pub metadata: Option<Json>,
}

/// What comes of adding a submission.
#[derive(Clone, Debug, PartialEq)]
pub enum Added {
    /// It is new.
    Accepted(Submission),
    /// One with its id or key is there.
    Known(Submission),
    /// Its id and its key are those of two different ones.
    Conflict,
}

const COLUMNS: &str = "submission_id, idempotency_key, request_id, status, error, metadata, created_at, started_at, \
     completed_at, messages, applied";

/// The most that a list holds, and that are deleted at a time (`think.md` §4.8).
const LISTED: u32 = 100;
const DELETED: u32 = 500;

fn read(row: &Row<'_>) -> rusqlite::Result<Submission> {
    let json = |text: Option<String>| text.and_then(|text| serde_json::from_str(&text).ok());
    let status: String = row.get(3)?;
    let messages: String = row.get(9)?;
    let messages = serde_json::from_str(&messages).ok();
    // What this host cannot read it does not run.
    let status = SubmissionStatus::from_name(&status).filter(|_| messages.is_some());
    Ok(Submission {
        submission_id: row.get(0)?,
        idempotency_key: row.get(1)?,
        request_id: row.get(2)?,
        status: status.unwrap_or(SubmissionStatus::Error),
        error: if status.is_some() {
            row.get(4)?
        } else {
            Some("it is stored in a form that cannot be read".into())
        },
        metadata: json(row.get(5)?),
        created_at: row.get::<_, i64>(6)?.unsigned_abs(),
        started_at: row.get::<_, Option<i64>>(7)?.map(i64::unsigned_abs),
        completed_at: row.get::<_, Option<i64>>(8)?.map(i64::unsigned_abs),
        messages: messages.unwrap_or_default(),
        applied: row.get(10)?,
    })
}

pub(super) fn get(
    connection: &Connection,
    session: &str,
    id: &str,
) -> Result<Option<Submission>, StoreError> {
    find(connection, session, "submission_id", id)
}

fn find(
    connection: &Connection,
    session: &str,
    column: &str,
    value: &str,
) -> Result<Option<Submission>, StoreError> {
    let statement = format!(
        "SELECT {COLUMNS} FROM submissions \
         WHERE session_id = (SELECT id FROM sessions WHERE name = ?) AND {column} = ?"
    );
    Ok(connection.prepare_cached(&statement)?.query_row([session, value], read).optional()?)
}

/// Adds one, unless its id or its key is there.
pub(super) fn add(connection: &Connection, session: &str, new: &NewSubmission) -> Result<Added, StoreError> {
    let NewSubmission { submission_id, made_up_id, idempotency_key, messages, metadata } = new;
    let by = |column, value: &Option<String>| match value {
        Some(value) => find(connection, session, column, value),
        None => Ok(None),
    };
    let by_id = by("submission_id", submission_id)?;
    let by_key = by("idempotency_key", idempotency_key)?;
    if let Some(known) = by_key.clone().or(by_id) {
        let other = |id: &String| *id != known.submission_id;
        let key = idempotency_key.is_some() && by_key.is_none() && known.idempotency_key.is_some();
        let conflict = submission_id.as_ref().is_some_and(other) || key;
        return Ok(if conflict { Added::Conflict } else { Added::Known(known) });
    }
    let id = submission_id.as_ref().unwrap_or(made_up_id);
    let (session_id, _) = messages::place(connection, session)?;
    let json = serde_json::to_string(messages).unwrap_or_default();
    connection
        .prepare_cached(
            "INSERT INTO submissions (session_id, submission_id, request_id, idempotency_key, messages, metadata) \
             VALUES (?1, ?2, ?2, ?3, ?4, ?5)",
        )?
        .execute((session_id, id, idempotency_key, json, metadata.as_ref().map(Json::to_string)))?;
    get(connection, session, id)?.map(Added::Accepted).ok_or(StoreError::Closed)
}

/// Those of a session, the newest first, at most 100: all, or those with that status.
pub(super) fn list(
    connection: &Connection,
    session: &str,
    status: Option<SubmissionStatus>,
    limit: u32,
) -> Result<Vec<Submission>, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM submissions WHERE session_id = (SELECT id FROM sessions WHERE name = ?1) \
         AND (?2 IS NULL OR status = ?2) ORDER BY number DESC LIMIT ?3"
    ))?;
    let rows = statement.query_map((session, status.map(SubmissionStatus::name), limit.min(LISTED)), read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Those that are to be taken up, the oldest first.
pub(super) fn open(connection: &Connection, session: &str) -> Result<Vec<Submission>, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM submissions WHERE session_id = (SELECT id FROM sessions WHERE name = ?) \
         AND status IN ('pending', 'running') ORDER BY number"
    ))?;
    let rows = statement.query_map([session], read)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Changes a status, if it is one of `from`: a final one never changes again. True if it did.
pub(super) fn set_status(
    connection: &Connection,
    session: &str,
    id: &str,
    from: &[SubmissionStatus],
    to: SubmissionStatus,
    error: Option<&str>,
) -> Result<bool, StoreError> {
    let Some(found) = get(connection, session, id)?.filter(|found| from.contains(&found.status)) else {
        return Ok(false);
    };
    let time = match to {
        SubmissionStatus::Pending => "started_at = NULL",
        SubmissionStatus::Running => "started_at = CAST(unixepoch('subsec') * 1000 AS INTEGER)",
        _ => "completed_at = CAST(unixepoch('subsec') * 1000 AS INTEGER)",
    };
    let statement = format!(
        "UPDATE submissions SET status = ?, error = ?, {time} \
         WHERE session_id = (SELECT id FROM sessions WHERE name = ?) AND submission_id = ?"
    );
    connection.prepare_cached(&statement)?.execute((to.name(), error, session, found.submission_id))?;
    Ok(true)
}

/// Deletes final ones: one by its id, or all that have a status; at most 500. How many.
pub(super) fn delete(
    connection: &Connection,
    session: &str,
    id: Option<&str>,
    status: Option<SubmissionStatus>,
    limit: u32,
) -> Result<usize, StoreError> {
    let statement = "DELETE FROM submissions WHERE number IN (SELECT number FROM submissions \
         WHERE session_id = (SELECT id FROM sessions WHERE name = ?1) AND status NOT IN ('pending', 'running') \
         AND (?2 IS NULL OR submission_id = ?2) AND (?3 IS NULL OR status = ?3) ORDER BY number LIMIT ?4)";
    Ok(connection.prepare_cached(statement)?.execute((
        session,
        id,
        status.map(SubmissionStatus::name),
        limit.min(DELETED),
    ))?)
}

/// Its messages are part of the conversation, or another turn works on it.
pub(super) fn apply(
    connection: &Connection,
    session_id: i64,
    old: &str,
    new: &str,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "UPDATE submissions SET applied = 1, request_id = ? \
             WHERE session_id = ? AND request_id = ? AND status IN ('pending', 'running')",
        )?
        .execute((new, session_id, old))?;
    Ok(())
}

/// The turn that worked on it is over.
pub(super) fn settle(
    connection: &Connection,
    session_id: i64,
    request_id: &str,
    status: SubmissionStatus,
    error: Option<&str>,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "UPDATE submissions SET status = ?, error = ?, \
                 completed_at = CAST(unixepoch('subsec') * 1000 AS INTEGER) \
             WHERE session_id = ? AND request_id = ? AND status IN ('pending', 'running')",
        )?
        .execute((status.name(), error, session_id, request_id))?;
    Ok(())
}
