//! The tables, and how a file gets from an older version of them to this one.

use rusqlite::Connection;
use rusqlite_migration::{M, Migrations};

const STEPS: &[M<'_>] = &[
    M::up(include_str!("../../migrations/0001_messages.sql")),
    M::up(include_str!("../../migrations/0002_extension_storage.sql")),
    M::up(include_str!("../../migrations/0003_message_tree.sql")),
    M::up(include_str!("../../migrations/0004_extension_health.sql")),
    M::up(include_str!("../../migrations/0005_context_blocks.sql")),
    M::up(include_str!("../../migrations/0006_turns.sql")),
    M::up(include_str!("../../migrations/0007_compactions.sql")),
    M::up(include_str!("../../migrations/0008_session_totals.sql")),
    M::up(include_str!("../../migrations/0009_search.sql")),
    M::up(include_str!("../../migrations/0010_context_prompt.sql")),
    M::up(include_str!("../../migrations/0011_notes.sql")),
];

/// The version that they lead to.
const KNOWN: i64 = STEPS.len() as i64;

/// The file was written by a newer host.
#[derive(Debug, thiserror::Error)]
#[error("schema {found} is newer than {known}")]
pub(super) struct Newer {
    pub(super) found: i64,
    pub(super) known: i64,
}

/// Brings a file to this version. Its number is the file's `user_version`.
pub(super) fn migrate(connection: &mut Connection) -> anyhow::Result<()> {
    adopt(connection)?;
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found > KNOWN {
        return Err(Newer { found, known: KNOWN }.into());
    }
    Ok(Migrations::from_slice(STEPS).to_latest(connection)?)
}

/// The first hosts counted in a table of their own.
fn adopt(connection: &Connection) -> rusqlite::Result<()> {
    if connection.table_exists(None, "_sqlx_migrations")? {
        let version: i64 =
            connection.query_row("SELECT max(version) FROM _sqlx_migrations", [], |row| row.get(0))?;
        connection.execute_batch(&format!(
            "BEGIN IMMEDIATE; PRAGMA user_version = {version}; DROP TABLE _sqlx_migrations; COMMIT"
        ))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_can_be_taken() {
        Migrations::from_slice(STEPS).validate().unwrap();
    }

    #[test]
    fn a_file_of_the_first_hosts_goes_on_from_where_it_is() {
        let mut connection = Connection::open_in_memory().unwrap();
        for step in [
            include_str!("../../migrations/0001_messages.sql"),
            "INSERT INTO sessions (name) VALUES ('ada')",
            "CREATE TABLE _sqlx_migrations (version BIGINT); INSERT INTO _sqlx_migrations VALUES (1)",
        ] {
            connection.execute_batch(step).unwrap();
        }
        migrate(&mut connection).unwrap();
        let name: String = connection.query_row("SELECT name FROM sessions", [], |row| row.get(0)).unwrap();
        assert_eq!(name, "ada");
        migrate(&mut connection).unwrap();
    }
}
