//! The messages of sessions: a tree in each, and where the conversation stands in it.

use rusqlite::{Connection, OptionalExtension};

use super::{Incoming, LastRequest, Received, StoreError, TurnRecord, journal};
use crate::turn::{TurnStart, UiMessage, UiRole};

/// A message's id, and its text in JSON.
pub(super) type Row = (String, String);

/// `CROSS JOIN` has the path looked up in the messages, never the other way round: SQLite would go through the messages of
/// all sessions.
const ROWS: &str = "WITH RECURSIVE path (number) AS ( \
         SELECT leaf_number FROM sessions WHERE name = ? AND leaf_number IS NOT NULL \
         UNION ALL SELECT parent_number FROM path CROSS JOIN messages USING (number) \
         WHERE parent_number IS NOT NULL) \
     SELECT message_id, body FROM path CROSS JOIN messages USING (number) ORDER BY number";

pub(super) fn rows(connection: &Connection, session: &str) -> Result<Vec<Row>, StoreError> {
    let mut statement = connection.prepare_cached(ROWS)?;
    let rows = statement.query_map([session], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn parse(session: &str, rows: &[Row]) -> Result<Vec<UiMessage>, StoreError> {
    rows.iter()
        .map(|(id, body)| serde_json::from_str(body).map_err(|error| unreadable(session, id.clone(), &error)))
        .collect()
}

pub(super) fn put(
    connection: &Connection,
    session: &str,
    message: &UiMessage,
    parent: Option<&str>,
) -> Result<(), StoreError> {
    let body =
        serde_json::to_string(message).map_err(|error| unreadable(session, message.id.clone(), &error))?;
    let role = match message.role {
        UiRole::System => "system",
        UiRole::User => "user",
        UiRole::Assistant => "assistant",
    };
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
            let number: Option<i64> = connection
                .prepare_cached("SELECT number FROM messages WHERE session_id = ? AND message_id = ?")?
                .query_row((session_id, parent), |row| row.get(0))
                .optional()?;
            Some(number.ok_or_else(missing)?)
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

pub(super) fn receive(
    connection: &Connection,
    session: &str,
    incoming: Incoming,
) -> Result<Received, StoreError> {
    let stored = (incoming.reconcile)(&parse(session, &rows(connection, session)?)?);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::schema;

    #[test]
    fn no_session_pays_for_the_messages_of_others() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::migrate(&mut connection).unwrap();
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {ROWS}")).unwrap();
        let steps: Vec<String> =
            plan.query_map(["s"], |row| row.get(3)).unwrap().collect::<Result<_, _>>().unwrap();
        assert!(!steps.iter().any(|step| step.starts_with("SCAN messages")), "{steps:?}");
        assert_eq!(steps.iter().filter(|step| step.starts_with("SEARCH messages")).count(), 2, "{steps:?}");
    }
}
