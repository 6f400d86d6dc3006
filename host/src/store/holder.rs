//! Which process has a session's turns: one writer at a time, however many processes have the file open.

use std::collections::HashMap;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension};
use uuid::Uuid;

use super::{StoreError, messages};

/// Deletes a session in which nothing has ever been.
const UNUSED: &str = "DELETE FROM sessions WHERE name = ?1 AND holder = ?2 \
    AND changed_at IS NULL AND last_request IS NULL \
    AND NOT EXISTS (SELECT 1 FROM context_blocks WHERE session = ?1) \
    AND NOT EXISTS (SELECT 1 FROM turns WHERE session_id = sessions.id) \
    AND NOT EXISTS (SELECT 1 FROM incidents WHERE session_id = sessions.id) \
    AND NOT EXISTS (SELECT 1 FROM submissions WHERE session_id = sessions.id)";

/// This process, as the holder of sessions of one database: a file that it keeps locked as long as it lives. The system lets
/// go of the lock when it dies, however it dies.
#[derive(Debug)]
pub(super) struct Holder {
    /// The file's name: the process and a number of its own.
    name: String,
    folder: PathBuf,
    /// How often each session is held.
    held: Mutex<HashMap<String, usize>>,
    /// Locked until it is dropped.
    _file: File,
}

impl Holder {
    /// Of a database. Stores that one process opens of one file are one holder.
    pub(super) fn new(database: &Path) -> std::io::Result<Arc<Self>> {
        static HOLDERS: Mutex<Option<HashMap<PathBuf, Weak<Holder>>>> = Mutex::new(None);
        let database = database.canonicalize()?;
        let mut holders = HOLDERS.lock();
        let holders = holders.get_or_insert_default();
        holders.retain(|_, holder| holder.strong_count() > 0);
        if let Some(holder) = holders.get(&database).and_then(Weak::upgrade) {
            return Ok(holder);
        }
        let folder = database.with_extension("locks");
        std::fs::create_dir_all(&folder)?;
        sweep(&folder);
        let (name, file) = loop {
            let name = format!("process {} {}", std::process::id(), Uuid::now_v7().simple());
            let file = File::create(folder.join(&name))?;
            file.lock()?;
            // Another process may have swept it away before it was locked.
            if folder.join(&name).exists() {
                break (name, file);
            }
        };
        let holder = Arc::new(Self { name, folder, held: Mutex::default(), _file: file });
        holders.insert(database, Arc::downgrade(&holder));
        Ok(holder)
    }

    /// Takes a session, also from a process that is dead.
    pub(super) fn take(&self, connection: &Connection, session: &str) -> Result<(), StoreError> {
        let (session_id, _) = messages::place(connection, session)?;
        if self.may_change(connection, session)?.as_ref() != Some(&self.name) {
            connection
                .prepare_cached("UPDATE sessions SET holder = ? WHERE id = ?")?
                .execute((&self.name, session_id))?;
        }
        *self.held.lock().entry(session.to_owned()).or_default() += 1;
        Ok(())
    }

    /// Refuses a session that another living process has. Returns the holder that is noted.
    pub(super) fn may_change(
        &self,
        connection: &Connection,
        session: &str,
    ) -> Result<Option<String>, StoreError> {
        let holder: Option<String> = connection
            .prepare_cached("SELECT holder FROM sessions WHERE name = ?")?
            .query_row([session], |row| row.get(0))
            .optional()?
            .flatten();
        match holder {
            Some(holder) if holder != self.name && is_locked(&self.folder.join(&holder)) => {
                let holder = holder.rsplit_once(' ').map_or(&*holder, |(process, _)| process).to_owned();
                Err(StoreError::Held { session: session.to_owned(), holder })
            }
            holder => Ok(holder),
        }
    }

    /// Lets go of a session.
    pub(super) fn release(&self, connection: &Connection, session: &str) -> Result<(), StoreError> {
        {
            let mut held = self.held.lock();
            match held.get_mut(session) {
                Some(times) if *times > 1 => {
                    *times -= 1;
                    return Ok(());
                }
                _ => drop(held.remove(session)),
            }
        }
        // Of one that was asked for and nothing more, nothing stays.
        connection.prepare_cached(UNUSED)?.execute((session, &self.name))?;
        connection
            .prepare_cached("UPDATE sessions SET holder = NULL WHERE name = ? AND holder = ?")?
            .execute((session, &self.name))?;
        Ok(())
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.folder.join(&self.name));
    }
}

fn is_locked(file: &Path) -> bool {
    // What cannot be opened is gone, and so is its process.
    File::open(file).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

/// Removes the files of the dead.
fn sweep(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if !is_locked(&entry.path()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
