use std::sync::mpsc;
use std::thread;

use parking_lot::Mutex;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

use super::StoreError;

/// Pieces of work that share a transaction at most: the first of them waits for the last.
const TOGETHER: usize = 64;

/// Looks at the queue before the thread goes to sleep: some tens of microseconds, which is what it takes to wake it.
const AWAKE: u32 = 1_000;

/// A thread that owns a connection. Work is handed over once, whatever number of statements it is, and runs to its end
/// even if nobody waits for it any more: a dropped call leaves no half of it.
///
/// What waits is written in one transaction, each piece in a savepoint of its own, so that one that fails takes no other
/// with it. Nobody hears of success before the transaction is committed.
#[derive(Debug)]
pub(super) struct Worker {
    /// None once it is closed.
    jobs: Mutex<Option<mpsc::Sender<Job>>>,
    ended: tokio::sync::Mutex<oneshot::Receiver<()>>,
}

enum Job {
    Read(Box<dyn FnOnce(&Connection) + Send>),
    Write(Box<dyn Write>),
}

/// A piece of work that writes, and whoever waits for it.
trait Write: Send {
    /// Does it, and says whether that is to be kept.
    fn run(self: Box<Self>, connection: &Connection) -> (bool, Tell);

    /// Tells that it cannot be done.
    fn refuse(self: Box<Self>, error: &rusqlite::Error);
}

/// Tells what came of the transaction.
type Tell = Box<dyn FnOnce(Result<(), &rusqlite::Error>)>;

struct Piece<W, T> {
    work: W,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<W, T> Write for Piece<W, T>
where
    W: FnOnce(&Connection) -> Result<T, StoreError> + Send,
    T: Send + 'static,
{
    fn run(self: Box<Self>, connection: &Connection) -> (bool, Tell) {
        let Self { work, reply } = *self;
        let done = work(connection);
        let tell = |done: Result<T, StoreError>| -> Tell {
            Box::new(move |committed| {
                drop(reply.send(done.and_then(|done| committed.map(|()| done).map_err(not_committed))));
            })
        };
        (done.is_ok(), tell(done))
    }

    fn refuse(self: Box<Self>, error: &rusqlite::Error) {
        drop(self.reply.send(Err(not_committed(error))));
    }
}

fn not_committed(error: &rusqlite::Error) -> StoreError {
    StoreError::Commit(error.to_string())
}

impl Worker {
    pub(super) fn new(mut connection: Connection) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job>();
        let (end, ended) = oneshot::channel();
        thread::Builder::new().name("lathe-sqlite".into()).spawn(move || {
            while let Some(job) = next(&queue) {
                match job {
                    Job::Read(work) => work(&connection),
                    Job::Write(first) => {
                        if let Some(Job::Read(work)) = together(&mut connection, first, &queue) {
                            work(&connection);
                        }
                    }
                }
            }
            // What a failing close would say nobody could act on; the journal is complete either way.
            drop(connection);
            let _ = end.send(());
        })?;
        Ok(Self { jobs: Mutex::new(Some(jobs)), ended: tokio::sync::Mutex::new(ended) })
    }

    /// Reads what was written before.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.hand_over(Job::Read(Box::new(move |connection| drop(reply.send(work(connection))))))?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Writes: all of it is there when this returns, or nothing if `work` fails.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.hand_over(Job::Write(Box::new(Piece { work, reply })))?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Writes at some time; nobody hears of it.
    pub(super) fn post(&self, work: impl FnOnce(&Connection) -> Result<(), StoreError> + Send + 'static) {
        let (reply, _) = oneshot::channel();
        let _ = self.hand_over(Job::Write(Box::new(Piece { work, reply })));
    }

    fn hand_over(&self, job: Job) -> Result<(), StoreError> {
        let jobs = self.jobs.lock();
        jobs.as_ref().and_then(|jobs| jobs.send(job).ok()).ok_or(StoreError::Closed)
    }

    /// Ends it after the work that it has been given.
    pub(super) async fn close(&self) {
        drop(self.jobs.lock().take());
        // An error means that it has ended before.
        let _ = (&mut *self.ended.lock().await).await;
    }
}

/// Waits for work. A turn has several pieces, one soon after the other: between them the thread stays awake.
fn next(queue: &mpsc::Receiver<Job>) -> Option<Job> {
    for _ in 0..AWAKE {
        match queue.try_recv() {
            Err(mpsc::TryRecvError::Empty) => std::hint::spin_loop(),
            job => return job.ok(),
        }
    }
    queue.recv().ok()
}

/// Writes the first piece and those that wait behind it. Returns what comes next, if it has been taken from the queue.
fn together(connection: &mut Connection, first: Box<dyn Write>, queue: &mpsc::Receiver<Job>) -> Option<Job> {
    let mut transaction = match connection.transaction_with_behavior(TransactionBehavior::Immediate) {
        Ok(transaction) => transaction,
        Err(error) => {
            first.refuse(&error);
            return None;
        }
    };
    let mut done = vec![in_savepoint(&mut transaction, first)];
    let mut next = None;
    while done.len() < TOGETHER {
        match queue.try_recv() {
            Ok(Job::Write(write)) => done.push(in_savepoint(&mut transaction, write)),
            Ok(read) => {
                next = Some(read);
                break;
            }
            Err(_) => break,
        }
    }
    let committed = transaction.commit();
    for tell in done.into_iter().flatten() {
        tell(committed.as_ref().copied());
    }
    next
}

fn in_savepoint(transaction: &mut Transaction<'_>, write: Box<dyn Write>) -> Option<Tell> {
    let savepoint = match transaction.savepoint() {
        Ok(savepoint) => savepoint,
        Err(error) => {
            write.refuse(&error);
            return None;
        }
    };
    let (keep, tell) = write.run(&savepoint);
    // Rolled back when it ends otherwise.
    if let Err(error) = if keep { savepoint.commit() } else { savepoint.finish() } {
        tell(Err(&error));
        return None;
    }
    Some(tell)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insert(number: i64) -> impl FnOnce(&Connection) -> Result<usize, StoreError> + Send + 'static {
        move |connection| Ok(connection.execute("INSERT INTO numbers VALUES (?)", [number])?)
    }

    #[tokio::test]
    async fn one_that_fails_among_many_takes_no_other_with_it() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE numbers (number INTEGER PRIMARY KEY)").unwrap();
        let worker = Worker::new(connection).unwrap();
        let (go, gone) = mpsc::channel();
        let block = worker.read(move |_| {
            gone.recv().unwrap();
            Ok(())
        });
        let writes = futures::future::join_all([1, 2, 1, 3].map(|number| worker.write(insert(number))));
        let late = worker.write(|connection| {
            insert(4)(connection)?;
            Err::<(), _>(StoreError::Closed)
        });
        // Polled in this order: all of them wait when it goes.
        let (_, done, late, ()) = tokio::join!(block, writes, late, async { go.send(()).unwrap() });
        let done: Vec<bool> = done.iter().map(Result::is_ok).collect();
        assert_eq!((done, late.is_ok()), (vec![true, true, false, true], false));
        let sum = |connection: &Connection| {
            Ok(connection.query_row("SELECT sum(number) FROM numbers", [], |row| row.get::<_, i64>(0))?)
        };
        assert_eq!(worker.read(sum).await.unwrap(), 6);
        worker.close().await;
        assert!(matches!(worker.write(insert(9)).await, Err(StoreError::Closed)));
    }

    #[tokio::test]
    async fn what_nobody_waits_for_is_done_all_the_same() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE numbers (number INTEGER)").unwrap();
        let worker = Worker::new(connection).unwrap();
        drop(tokio::time::timeout(std::time::Duration::ZERO, worker.write(insert(7))).await);
        let count = |connection: &Connection| {
            Ok(connection.query_row("SELECT count(*) FROM numbers", [], |row| row.get::<_, i64>(0))?)
        };
        assert_eq!(worker.read(count).await.unwrap(), 1);
    }
}
