//! What a running turn has shown, on its way into the store.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::Notify;

use crate::store::{JournalChange, Store, StoreError};
use crate::turn::{Chunk, RanCall, UiMessage};

/// How long what was shown may wait to be stored: 50 ms. With the write it is there 100 ms after it was shown.
const WAIT: Duration = Duration::from_millis(50);

/// Keeps a turn's stream. What matters is stored before the turn goes on ([`flush`](Self::flush)), the rest a moment after
/// it was shown.
pub(super) struct Journal {
    shared: Arc<Shared>,
    writer: tokio::task::JoinHandle<()>,
}

struct Shared {
    store: Arc<dyn Store>,
    session: String,
    request_id: String,
    /// What is not written yet: a JSON chunk a line.
    waiting: Mutex<String>,
    wake: Notify,
    /// One pack at a time, in order.
    packs: tokio::sync::Mutex<Packs>,
}

#[derive(Default)]
struct Packs {
    written: i64,
    /// The turn is over, or could not be noted: nothing more is written.
    closed: bool,
}

impl Journal {
    pub(super) fn new(store: Arc<dyn Store>, session: &str, request_id: &str) -> Self {
        let shared = Arc::new(Shared {
            store,
            session: session.to_owned(),
            request_id: request_id.to_owned(),
            waiting: Mutex::default(),
            wake: Notify::new(),
            packs: tokio::sync::Mutex::default(),
        });
        let own = shared.clone();
        let writer = tokio::spawn(async move {
            loop {
                own.wake.notified().await;
                tokio::time::sleep(WAIT).await;
                if let Err(error) = own.flush().await {
                    // The next thing that must be stored fails the turn.
                    tracing::warn!(
                        session = own.session,
                        "what a turn has shown could not be stored: {error}"
                    );
                }
            }
        });
        Self { shared, writer }
    }

    /// Takes a part of the stream.
    pub(super) fn push(&self, chunk: &Chunk) {
        self.line(chunk);
    }

    /// Takes the result of a tool, before any hook has seen it.
    pub(super) fn ran(&self, call: &RanCall) {
        self.line(call);
    }

    fn line(&self, line: &impl Serialize) {
        let mut waiting = self.shared.waiting.lock();
        let first = waiting.is_empty();
        match serde_json::to_string(line) {
            Ok(line) => {
                waiting.push_str(&line);
                waiting.push('\n');
            }
            Err(error) => tracing::error!("a part of a turn cannot be written as JSON: {error}"),
        }
        drop(waiting);
        if first {
            self.shared.wake.notify_one();
        }
    }

    /// Stores all that was shown.
    pub(super) async fn flush(&self) -> Result<(), StoreError> {
        self.shared.flush().await
    }

    /// Stores messages of the turn and what becomes of its journal.
    pub(super) async fn commit(
        &self,
        messages: Vec<UiMessage>,
        parent: Option<&str>,
        change: JournalChange,
    ) -> Result<(), StoreError> {
        let shared = &self.shared;
        let mut packs = shared.packs.lock().await;
        // It is part of the messages.
        shared.waiting.lock().clear();
        packs.closed |= matches!(change, JournalChange::End { .. });
        shared.store.commit(&shared.session, &shared.request_id, messages, parent, change).await
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.writer.abort();
    }
}

impl Shared {
    async fn flush(&self) -> Result<(), StoreError> {
        let mut packs = self.packs.lock().await;
        let waiting = std::mem::take(&mut *self.waiting.lock());
        if waiting.is_empty() || packs.closed {
            return Ok(());
        }
        let pack = packs.written + 1;
        let written = self.store.append(&self.session, &self.request_id, pack, waiting.clone()).await;
        match &written {
            Ok(()) => packs.written = pack,
            // The next attempt takes it along.
            Err(_) => self.waiting.lock().insert_str(0, &waiting),
        }
        written
    }
}
