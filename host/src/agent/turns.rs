use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::mpsc;

/// The turns of one session: one at a time, first come, first served (`think.md` §1.2).
#[derive(Debug)]
pub(super) struct TurnQueue {
    jobs: mpsc::UnboundedSender<Job>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// A turn of an earlier generation never begins.
    generation: AtomicU64,
    /// Turns that run or wait.
    admitted: AtomicUsize,
}

struct Job {
    generation: u64,
    slot: Slot,
    run: Box<dyn FnOnce(bool, Slot) -> BoxFuture<'static, ()> + Send>,
}

/// A turn's place in the queue. Dropping it says that the turn is over.
#[derive(Debug)]
pub(super) struct Slot(Arc<Shared>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.admitted.fetch_sub(1, Ordering::AcqRel);
    }
}

impl TurnQueue {
    /// Must be called within a tokio runtime. It ends when the queue is dropped and nothing waits.
    pub(super) fn new() -> Self {
        let (jobs, mut waiting) = mpsc::unbounded_channel::<Job>();
        let shared = Arc::new(Shared::default());
        let own = shared.clone();
        tokio::spawn(async move {
            while let Some(Job { generation, slot, run }) = waiting.recv().await {
                let current = generation == own.generation.load(Ordering::Acquire);
                // A panic of one turn is not the next one's affair; whoever waits for it learns that it broke off.
                if AssertUnwindSafe(async { run(current, slot).await }).catch_unwind().await.is_err() {
                    tracing::error!("a turn panicked; this is a bug in the host");
                }
            }
        });
        Self { jobs, shared }
    }

    /// Adds a turn. `run` is told whether it may still begin.
    pub(super) fn admit(&self, run: impl FnOnce(bool, Slot) -> BoxFuture<'static, ()> + Send + 'static) {
        self.shared.admitted.fetch_add(1, Ordering::AcqRel);
        let generation = self.shared.generation.load(Ordering::Acquire);
        let slot = Slot(self.shared.clone());
        if self.jobs.send(Job { generation, slot, run: Box::new(run) }).is_err() {
            tracing::error!("a session's queue is gone; this is a bug in the host");
        }
    }

    /// Whether a turn runs or waits.
    pub(super) fn is_busy(&self) -> bool {
        self.shared.admitted.load(Ordering::Acquire) > 0
    }

    /// The turns that wait will not begin. The one that runs goes on.
    pub(super) fn reset(&self) {
        self.shared.generation.fetch_add(1, Ordering::AcqRel);
    }
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("generation", &self.generation).finish_non_exhaustive()
    }
}
