//! The messages of sessions: a tree in each, and where the conversation stands in it.

use rusqlite::{Connection, OptionalExtension};

use super::{Incoming, LastRequest, Received, StoreError, TurnRecord, compaction, journal, sessions};
use crate::turn::{ToolDefinition, TurnStart, UiMessage, UiRole};

/// A message's id, and its text in JSON.
pub(super) type Row = (String, String);

/// From a message back to the first, or as far as so many bytes go; where a summary stands for a range that ends
/// here, the longest one, on from before that range.
///
/// `CROSS JOIN` has the path looked up in the messages, never the other way round: SQLite would go through the messages of
/// all sessions.
const SHOWN: &str = "WITH RECURSIVE path (number, start, bytes) AS ( \
         SELECT ?1, coalesce((SELECT min(from_number) FROM compactions WHERE to_number = ?1), ?1), 0 \
         UNION ALL SELECT previous.number, \
             coalesce((SELECT min(from_number) FROM compactions WHERE to_number = previous.number), previous.number), \
             bytes + coalesce( \
                 (SELECT octet_length(summary) FROM compactions WHERE to_number = path.number AND from_number = start), \
                 octet_length(first.body)) \
         FROM path CROSS JOIN messages AS first ON first.number = start \
             CROSS JOIN messages AS previous ON previous.number = first.parent_number \
         WHERE bytes <= ?2) \
     SELECT coalesce(summary_id, message_id), coalesce(summary, body) \
     FROM path CROSS JOIN messages USING (number) LEFT JOIN compactions ON to_number = number AND from_number = start \
     WHERE bytes = 0 OR bytes + octet_length(coalesce(summary, body)) <= ?2 ORDER BY number";

/// As they are stored.
const PATH: &str = "WITH RECURSIVE path (number) AS ( \
         SELECT ? UNION ALL SELECT parent_number FROM path CROSS JOIN messages USING (number) \
         WHERE parent_number IS NOT NULL) \
     SELECT message_id, body FROM path CROSS JOIN messages USING (number) ORDER BY number";

/// What is read of a conversation.
#[derive(Clone, Copy)]
pub(super) enum Window {
    /// What summaries stand for is left out; of the rest, the last so many bytes.
    Shown(Option<u64>),
    /// All of it, and no summary.
    Stored,
}

pub(super) fn rows(connection: &Connection, session: &str, window: Window) -> Result<Vec<Row>, StoreError> {
    match leaf(connection, session)? {
        Some(leaf) => rows_to(connection, leaf, window),
        None => Ok(Vec::new()),
    }
}

/// The last message of a conversation.
pub(super) fn leaf(connection: &Connection, session: &str) -> Result<Option<i64>, StoreError> {
    let leaf: Option<Option<i64>> = connection
        .prepare_cached("SELECT leaf_number FROM sessions WHERE name = ?")?
        .query_row([session], |row| row.get(0))
        .optional()?;
    Ok(leaf.flatten())
}

/// The conversation as it was when its last message was that one.
pub(super) fn rows_to(connection: &Connection, leaf: i64, window: Window) -> Result<Vec<Row>, StoreError> {
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let rows = match window {
        Window::Shown(bytes) => {
            let bytes = bytes.and_then(|bytes| i64::try_from(bytes).ok()).unwrap_or(i64::MAX);
            let mut statement = connection.prepare_cached(SHOWN)?;
            statement.query_map((leaf, bytes), row)?.collect::<Result<_, _>>()?
        }
        Window::Stored => {
            connection.prepare_cached(PATH)?.query_map([leaf], row)?.collect::<Result<_, _>>()?
        }
    };
    Ok(rows)
}

pub(super) fn parse(session: &str, rows: &[Row]) -> Result<Vec<UiMessage>, StoreError> {
    rows.iter().map(|row| parse_one(session, row)).collect()
}

pub(super) fn parse_one(session: &str, (id, body): &Row) -> Result<UiMessage, StoreError> {
    serde_json::from_str(body).map_err(|error| unreadable(session, id.clone(), &error))
}

pub(super) fn role(message: &UiMessage) -> &'static str {
    match message.role {
        UiRole::System => "system",
        UiRole::User => "user",
        UiRole::Assistant => "assistant",
    }
}

/// The JSON in which a message is stored.
pub(super) fn body(session: &str, message: &UiMessage) -> Result<String, StoreError> {
    serde_json::to_string(message).map_err(|error| unreadable(session, message.id.clone(), &error))
}

pub(super) fn put(
    connection: &Connection,
    session: &str,
    message: &UiMessage,
    parent: Option<&str>,
) -> Result<(), StoreError> {
    let body = body(session, message)?;
    let role = role(message);
    let (session_id, leaf) = place(connection, session)?;
    let replaced = connection
        .prepare_cached("UPDATE messages SET role = ?, body = ? WHERE session_id = ? AND message_id = ?")?
        .execute((role, &body, session_id, &message.id))?;
    if replaced > 0 {
        return Ok(());
    }
    let parent = match parent {
        None => leaf,
        Some(parent) => {
            let missing = || StoreError::Parent { session: session.to_owned(), parent: parent.to_owned() };
            Some(compaction::number(connection, session_id, parent)?.ok_or_else(missing)?)
        }
    };
    let number = connection
        .prepare_cached(
            "INSERT INTO messages (session_id, message_id, parent_number, role, body) VALUES (?, ?, ?, ?, ?)",
        )?
        .insert((session_id, &message.id, parent, role, &body))?;
    connection
        .prepare_cached("UPDATE sessions SET leaf_number = ? WHERE id = ?")?
        .execute((number, session_id))?;
    Ok(())
}

/// A session's row and the last message of its conversation; made if it is not there.
pub(super) fn place(connection: &Connection, session: &str) -> Result<(i64, Option<i64>), StoreError> {
    let found = connection
        .prepare_cached("SELECT id, leaf_number FROM sessions WHERE name = ?")?
        .query_row([session], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some(found) = found {
        return Ok(found);
    }
    Ok((connection.prepare_cached("INSERT INTO sessions (name) VALUES (?)")?.insert([session])?, None))
}

fn unreadable(session: &str, message: String, error: &serde_json::Error) -> StoreError {
    StoreError::Row { session: session.to_owned(), message, reason: error.to_string() }
}

pub(super) fn last_request(connection: &Connection, session: &str) -> Result<LastRequest, StoreError> {
    let found: Option<Option<String>> = connection
        .prepare_cached("SELECT last_request FROM sessions WHERE name = ?")?
        .query_row([session], |row| row.get(0))
        .optional()?;
    // A request that this version cannot read is as good as none: the next one replaces it.
    Ok(found.flatten().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
}

/// Has the turns that come offer other tools of the client's.
pub(super) fn set_client_tools(
    connection: &Connection,
    session: &str,
    client_tools: Vec<ToolDefinition>,
) -> Result<(), StoreError> {
    let last = LastRequest { client_tools, ..last_request(connection, session)? };
    let (session_id, _) = place(connection, session)?;
    connection
        .prepare_cached("UPDATE sessions SET last_request = ? WHERE id = ?")?
        .execute((serde_json::to_string(&last).unwrap_or_default(), session_id))?;
    Ok(())
}

pub(super) fn receive(
    connection: &Connection,
    session: &str,
    incoming: Incoming,
) -> Result<Received, StoreError> {
    // A client may have a copy from before a summary took the place of some of it.
    let known = match &incoming.only {
        Some(message) => one(connection, session, message)?.into_iter().collect(),
        None => {
            let mut known = rows(connection, session, Window::Stored)?;
            known.extend(compaction::summaries(connection, session)?);
            known
        }
    };
    let stored = (incoming.reconcile)(&parse(session, &known)?);
    for message in &stored {
        put(connection, session, message, None)?;
    }
    let earlier = last_request(connection, session)?;
    let tools = incoming.client_tools.unwrap_or_else(|| earlier.client_tools.clone());
    let last = LastRequest { body: incoming.body, client_tools: tools };
    let (session_id, _) = place(connection, session)?;
    if last != earlier {
        connection
            .prepare_cached("UPDATE sessions SET last_request = ? WHERE id = ?")?
            .execute((serde_json::to_string(&last).unwrap_or_default(), session_id))?;
    }
    let turn = TurnRecord { client_tools: last.client_tools.clone(), ..incoming.turn };
    let turn = TurnRecord { start: TurnStart { body: last.body.clone(), ..turn.start }, ..turn };
    journal::note(connection, session_id, &turn, false)?;
    Ok(Received { stored, last })
}

fn one(connection: &Connection, session: &str, message: &str) -> Result<Option<Row>, StoreError> {
    let row = connection
        .prepare_cached(
            "SELECT message_id, body FROM sessions CROSS JOIN messages ON session_id = id WHERE name = ? AND message_id = ?",
        )?
        .query_row([session, message], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(row)
}

/// What [`rows`] gives of the last so many bytes; and whether that is the whole conversation.
pub(super) fn recent(
    connection: &Connection,
    session: &str,
    bytes: u64,
) -> Result<(Vec<Row>, bool), StoreError> {
    let rows = rows(connection, session, Window::Shown(Some(bytes)))?;
    let Some((first, _)) = rows.first() else { return Ok((rows, true)) };
    let session_id = sessions::known(connection, session)?;
    let whole = match compaction::first(connection, session_id, first)? {
        Some(number) => connection
            .prepare_cached("SELECT parent_number IS NULL FROM messages WHERE number = ?")?
            .query_row([number], |row| row.get(0))?,
        None => true,
    };
    Ok((rows, whole))
}

/// The numbers of the messages that lead to one, itself the last.
pub(super) fn numbers_to(connection: &Connection, leaf: i64) -> Result<Vec<i64>, StoreError> {
    let mut statement = connection.prepare_cached(
        "WITH RECURSIVE path (number) AS ( \
             SELECT ? UNION ALL SELECT parent_number FROM path CROSS JOIN messages USING (number) \
             WHERE parent_number IS NOT NULL) \
         SELECT number FROM path ORDER BY number",
    )?;
    Ok(statement.query_map([leaf], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::schema;

    #[test]
    fn no_session_pays_for_the_messages_of_others() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection).unwrap();
        for (query, lookups) in [(SHOWN, 3), (PATH, 2)] {
            let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
            // A parameter that is not bound is null.
            let mut rows = plan.raw_query();
            let mut steps: Vec<String> = Vec::new();
            while let Some(row) = rows.next().unwrap() {
                steps.push(row.get(3).unwrap());
            }
            let scans = |step: &String| {
                step.starts_with("SCAN") && !["SCAN path", "SCAN CONSTANT ROW"].contains(&&**step)
            };
            assert!(!steps.iter().any(scans), "{steps:?}");
            let searches = steps.iter().filter(|step| {
                ["messages", "first", "previous"]
                    .iter()
                    .any(|name| step.starts_with(&format!("SEARCH {name}")))
            });
            assert_eq!(searches.count(), lookups, "{steps:?}");
        }
    }
}
