use std::sync::mpsc;
use std::thread;

use parking_lot::Mutex;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

use super::StoreError;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// A thread that owns a connection. Work is handed over once, whatever number of statements it is, and runs to its end
/// even if nobody waits for it any more: a dropped call leaves no half of it.
#[derive(Debug)]
pub(super) struct Worker {
    /// None once it is closed.
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    ended: tokio::sync::Mutex<oneshot::Receiver<()>>,
}

impl Worker {
    pub(super) fn new(mut connection: Connection) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let (end, ended) = oneshot::channel();
        thread::Builder::new().name("lathe-sqlite".into()).spawn(move || {
            for job in queue {
                job(&mut connection);
            }
            // What a failing close would say nobody could act on; the journal is complete either way.
            drop(connection);
            let _ = end.send(());
        })?;
        Ok(Self { jobs: Mutex::new(Some(jobs)), ended: tokio::sync::Mutex::new(ended) })
    }

    /// Reads; each statement sees what was committed before it.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(move |connection| work(connection)).await
    }

    /// Writes, in one transaction: all of it is there when this returns, or nothing if `work` fails.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(move |connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = work(&transaction)?;
            transaction.commit()?;
            Ok(done)
        })
        .await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |connection| drop(reply.send(work(connection))));
        let sent = self.jobs.lock().as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        if !sent {
            return Err(StoreError::Closed);
        }
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Ends it after the work that it has been given.
    pub(super) async fn close(&self) {
        drop(self.jobs.lock().take());
        // An error means that it has ended before.
        let _ = (&mut *self.ended.lock().await).await;
    }
}
