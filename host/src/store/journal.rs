//! The turns that are not over, with the streams of those that run.

use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};

use super::{StoreError, messages, submissions};
use crate::turn::{Chunk, Json, RanCall, SubmissionStatus, ToolDefinition, TurnStart, UiMessage};

/// What comes within so long of the last unit of work is the same unit: 5 s (`think.md` §4.3).
const UNIT_MS: i64 = 5_000;

/// A turn that waits or runs: what it takes to begin it again, or to go on from where it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnRecord {
    /// What it began with.
    pub start: TurnStart,
    /// The request with which it all began: its own, or that of the turn that it takes up.
    pub root_request_id: String,
    /// The user's messages of the client's request that it answers; none if no client has asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub message_ids: Vec<String>,
    /// The message that the answer is for, if it is not the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The user's messages at the end are shown to the model as one.
    #[serde(default)]
    pub merge: bool,
    /// Tools that the client runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_tools: Vec<ToolDefinition>,
    /// Parts that the answer had before the turn.
    #[serde(default)]
    pub base_parts: usize,
    /// Calls of the answer that an interrupted turn has run, and whose results no hook has seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ran: Vec<RanCall>,
    /// What a hook keeps for the recovery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stash: Option<Json>,
}

/// A turn that is not over, as a process left it.
#[derive(Clone, Debug, PartialEq)]
pub struct Unfinished {
    /// What it began with.
    pub record: TurnRecord,
    /// Whether it had begun; if not, it waited.
    pub begun: bool,
    /// What its stream has shown, as far as it is stored.
    pub chunks: Vec<Chunk>,
    /// Its calls that have run, whether or not the stream has shown their results.
    pub ran: Vec<RanCall>,
    /// Spans of 5 s in which something came.
    pub work: u64,
    /// When it was admitted, in milliseconds since 1970.
    pub created_at: u64,
}

/// What becomes of a turn's journal when messages of it are stored.
#[derive(Clone, Debug, PartialEq)]
pub enum JournalChange {
    /// The turn has begun, or goes on as something else: what its stream showed before is part of the messages. None
    /// but the last one counts.
    Begin(Box<TurnRecord>),
    /// It is over, and so is the submission that it worked on.
    End {
        /// How.
        status: SubmissionStatus,
        /// What happened, if it failed.
        error: Option<String>,
    },
}

/// Notes a turn, begun or not, unless it is noted already.
pub(super) fn note(
    connection: &Connection,
    session_id: i64,
    record: &TurnRecord,
    begun: bool,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO turns (session_id, request_id, body, begun) VALUES (?, ?, ?, ?) \
             ON CONFLICT (session_id, request_id) DO UPDATE SET body = excluded.body, begun = max(begun, excluded.begun)",
        )?
        .execute((session_id, &record.start.request_id, body(record), begun))?;
    Ok(())
}

fn body(record: &TurnRecord) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

/// Stores messages of a turn and changes its journal. `request_id` is the turn's, or that of the turn that it takes up.
pub(super) fn commit(
    connection: &Connection,
    session: &str,
    request_id: &str,
    stored: &[UiMessage],
    parent: Option<&str>,
    change: &JournalChange,
) -> Result<(), StoreError> {
    let mut parent = parent;
    for message in stored {
        messages::put(connection, session, message, parent.take())?;
    }
    let (session_id, _) = messages::place(connection, session)?;
    match change {
        JournalChange::End { status, error } => {
            submissions::settle(connection, session_id, request_id, *status, error.as_deref())?;
            connection
                .prepare_cached("DELETE FROM turns WHERE session_id = ? AND request_id = ?")?
                .execute((session_id, request_id))?;
        }
        JournalChange::Begin(record) => {
            submissions::apply(connection, session_id, request_id, &record.start.request_id)?;
            let replaced = connection
                .prepare_cached(
                    "UPDATE turns SET request_id = ?, body = ?, begun = 1, work = 0, work_at = 0 \
                     WHERE session_id = ? AND request_id = ? RETURNING number",
                )?
                .query_row((&record.start.request_id, body(record), session_id, request_id), |row| {
                    row.get::<_, i64>(0)
                })
                .optional()?;
            match replaced {
                Some(number) => {
                    connection
                        .prepare_cached("DELETE FROM turn_chunks WHERE turn_number = ?")?
                        .execute([number])?;
                }
                None => note(connection, session_id, record, true)?,
            }
        }
    }
    Ok(())
}

/// Adds to a turn's stream. Nothing happens if the turn is over.
pub(super) fn append(
    connection: &Connection,
    session: &str,
    request_id: &str,
    pack: i64,
    chunks: &str,
) -> Result<(), StoreError> {
    let number: Option<i64> = connection
        .prepare_cached(
            "UPDATE turns SET work = work + (abs(clock.now - work_at) >= ?3), \
                 work_at = CASE WHEN abs(clock.now - work_at) >= ?3 THEN clock.now ELSE work_at END \
             FROM (SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) AS now) AS clock \
             WHERE session_id = (SELECT id FROM sessions WHERE name = ?1) AND request_id = ?2 RETURNING number",
        )?
        .query_row((session, request_id, UNIT_MS), |row| row.get(0))
        .optional()?;
    if let Some(number) = number {
        connection
            .prepare_cached(
                "INSERT OR REPLACE INTO turn_chunks (turn_number, pack, chunks) VALUES (?, ?, ?)",
            )?
            .execute((number, pack, chunks))?;
    }
    Ok(())
}

/// The turns of a session that are not over, in the order in which they were admitted. What cannot be read is left out, and
/// said in the log: a turn is worth less than the session.
pub(super) fn unfinished(connection: &Connection, session: &str) -> Result<Vec<Unfinished>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT number, body, begun, work, turns.created_at FROM turns \
         JOIN sessions ON sessions.id = session_id WHERE name = ? ORDER BY begun DESC, number",
    )?;
    let rows = statement.query_map([session], |row| {
        let (work, created_at): (i64, i64) = (row.get(3)?, row.get(4)?);
        Ok((
            row.get(0)?,
            row.get::<_, String>(1)?,
            row.get(2)?,
            work.unsigned_abs(),
            created_at.unsigned_abs(),
        ))
    })?;
    let mut turns = Vec::new();
    for row in rows {
        let (number, body, begun, work, created_at) = row?;
        match serde_json::from_str(&body) {
            Ok(record) => {
                let (chunks, ran) = stream(connection, number)?;
                turns.push(Unfinished { record, begun, chunks, ran, work, created_at });
            }
            Err(error) => {
                tracing::error!(session, "an interrupted turn cannot be read and is left alone: {error}");
            }
        }
    }
    Ok(turns)
}

/// What is readable of a stream, up to the first line that is not.
fn stream(connection: &Connection, turn: i64) -> Result<(Vec<Chunk>, Vec<RanCall>), StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT chunks FROM turn_chunks WHERE turn_number = ? ORDER BY pack")?;
    let packs = statement.query_map([turn], |row| row.get::<_, String>(0))?;
    let (mut chunks, mut ran) = (Vec::new(), Vec::new());
    for pack in packs {
        for line in pack?.lines() {
            match serde_json::from_str(line) {
                Ok(Line::Chunk(chunk)) => chunks.push(chunk),
                Ok(Line::Ran(call)) => ran.push(call),
                Err(error) => {
                    tracing::error!("the stream of an interrupted turn cannot be read to its end: {error}");
                    return Ok((chunks, ran));
                }
            }
        }
    }
    Ok((chunks, ran))
}

/// A line of a pack.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Ran(RanCall),
    Chunk(Chunk),
}

/// The sessions that have turns or submissions to be taken up.
pub(super) fn interrupted(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT name FROM sessions WHERE id IN (SELECT session_id FROM turns) \
         OR id IN (SELECT session_id FROM submissions WHERE status IN ('pending', 'running')) ORDER BY id",
    )?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// What is kept of an incident, and the time, in milliseconds since 1970.
pub(super) fn incident(
    connection: &Connection,
    session: &str,
    root: &str,
) -> Result<(Option<String>, u64), StoreError> {
    let now: i64 = connection
        .prepare_cached("SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER)")?
        .query_row([], |row| row.get(0))?;
    let found = connection
        .prepare_cached(
            "SELECT body FROM incidents WHERE session_id = (SELECT id FROM sessions WHERE name = ?) AND root_request_id = ?",
        )?
        .query_row([session, root], |row| row.get(0))
        .optional()?;
    Ok((found, now.unsigned_abs()))
}

/// Keeps an incident, or forgets it.
pub(super) fn set_incident(
    connection: &Connection,
    session: &str,
    root: &str,
    body: Option<&str>,
) -> Result<(), StoreError> {
    let (session_id, _) = messages::place(connection, session)?;
    match body {
        Some(body) => connection
            .prepare_cached(
                "INSERT INTO incidents (session_id, root_request_id, body) VALUES (?, ?, ?) \
                 ON CONFLICT (session_id, root_request_id) DO UPDATE SET body = excluded.body",
            )?
            .execute((session_id, root, body))?,
        None => connection
            .prepare_cached("DELETE FROM incidents WHERE session_id = ? AND root_request_id = ?")?
            .execute((session_id, root))?,
    };
    Ok(())
}
