//! Opening a database, looking it over, and closing it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use super::holder::Holder;
use super::worker::Worker;
use super::{Checkup, SqliteStore, StoreError, schema};

/// How long a writer waits for another process to finish. 5 s: a write takes well under a millisecond.
pub(super) const BUSY: Duration = Duration::from_secs(5);

impl SqliteStore {
    /// Opens a database, and makes it and its folder if they are not there.
    ///
    /// # Errors
    ///
    /// If the file is no database, belongs to a newer host, or cannot be opened or written.
    pub async fn open(file: &Path) -> Result<Self, StoreError> {
        let file = file.to_owned();
        let opened = tokio::task::spawn_blocking(move || Self::open_now(file)).await;
        opened.unwrap_or(Err(StoreError::Closed))
    }

    fn open_now(file: PathBuf) -> Result<Self, StoreError> {
        let opened = || -> anyhow::Result<_> {
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder)?;
            }
            let mut connection = Connection::open(&file)?;
            connection.busy_timeout(BUSY)?;
            connection.pragma_update(None, "journal_mode", "wal")?;
            // Safe when the process dies, which is what a crash of the host is.
            connection.pragma_update(None, "synchronous", "normal")?;
            connection.pragma_update(None, "foreign_keys", true)?;
            schema::migrate(&mut connection)?;
            let holder = Holder::new(&file)?;
            Ok(Self { worker: Arc::new(Worker::new(connection)?), holder })
        };
        opened().map_err(|error| match error.downcast::<schema::Newer>() {
            Ok(schema::Newer { found, known }) => StoreError::Newer { file, found, known },
            Err(error) => StoreError::Open { file, reason: error.to_string() },
        })
    }

    /// Looks a database over that is there, and makes anew what is derived in it and wrong: the search index, and what
    /// the list of sessions says. What was said is never changed. A damaged file is not written to.
    ///
    /// # Errors
    ///
    /// If the file is no database, belongs to a newer host, or cannot be opened or written.
    pub async fn check(file: &Path) -> Result<Checkup, StoreError> {
        let own = file.to_owned();
        let read = tokio::task::spawn_blocking(move || Checkup::read(&own)).await;
        let checkup = read.unwrap_or(Err(StoreError::Closed))?;
        if checkup.damaged {
            return Ok(checkup);
        }
        let store = Self::open(file).await?;
        let checkup = store.worker.write(move |connection| checkup.mend(connection)).await;
        store.close().await;
        checkup
    }

    /// Closes the file, with everything written into it.
    pub async fn close(&self) {
        self.worker.close().await;
    }

    /// For tests: one statement, as nobody else would say it.
    #[cfg(test)]
    pub(super) async fn execute(&self, statement: &'static str) {
        self.worker.write(|connection| Ok(connection.execute(statement, [])?)).await.unwrap();
    }
}
