use std::sync::atomic::{AtomicBool, Ordering};

use super::live::Live;
use crate::driver;
use crate::session::CompactionError;

/// How the shortening of a session goes.
#[derive(Debug, Default)]
pub(super) struct Compaction {
    /// One at a time: a second one would ask for the same summary.
    running: tokio::sync::Mutex<()>,
    warned: AtomicBool,
}

impl Live {
    /// Shortens the conversation; true if it got shorter.
    pub(super) async fn compact(&self) -> Result<bool, CompactionError> {
        let _one = self.compaction.running.lock().await;
        driver::compact(&self.setup, &self.conversation.name).await
    }

    /// Shortens the conversation if it is long enough for that.
    pub(super) async fn compact_if_due(&self) {
        let Some(limit) = self.setup.compact_after else { return };
        let Ok(_one) = self.compaction.running.try_lock() else { return };
        let session = &*self.conversation.name;
        let done = async {
            let messages =
                self.messages().await.map_err(|error| CompactionError::Store(error.to_string()))?;
            let tokens = (self.setup.token_counter)(&messages);
            if tokens < limit {
                return Ok(None);
            }
            driver::compact(&self.setup, session).await.map(|shorter| Some((tokens, shorter)))
        };
        match done.await {
            Ok(Some((tokens, false))) if !self.compaction.warned.swap(true, Ordering::AcqRel) => {
                tracing::warn!(
                    session,
                    tokens,
                    limit,
                    "the conversation is longer than `compact-after`, and cannot be made shorter"
                );
            }
            Ok(_) => {}
            Err(error) => tracing::error!(session, "{error}"),
        }
    }
}
