use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::ws::Utf8Bytes;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Frames on their way to one client. Never waits.
pub(super) struct Outbox {
    frames: mpsc::UnboundedSender<Utf8Bytes>,
    queued: Arc<AtomicUsize>,
    slow: CancellationToken,
    limit: usize,
}

/// Why a frame did not go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// The client is gone.
    Gone,
    /// Too much waits for it.
    Slow,
}

/// Where they come out.
pub(super) struct Frames {
    frames: mpsc::UnboundedReceiver<Utf8Bytes>,
    queued: Arc<AtomicUsize>,
    slow: CancellationToken,
}

/// `limit` is how many bytes may wait; a single frame always may.
pub(super) fn outbox(limit: usize) -> (Outbox, Frames) {
    let (sender, frames) = mpsc::unbounded_channel();
    let queued = Arc::new(AtomicUsize::new(0));
    let slow = CancellationToken::new();
    let outbox = Outbox { frames: sender, queued: queued.clone(), slow: slow.clone(), limit };
    (outbox, Frames { frames, queued, slow })
}

impl Outbox {
    pub(super) fn send(&self, frame: Utf8Bytes) -> Result<(), Lost> {
        let before = self.queued.fetch_add(frame.len(), Ordering::AcqRel);
        if before > 0 && before.saturating_add(frame.len()) > self.limit {
            self.slow.cancel();
            return Err(Lost::Slow);
        }
        self.frames.send(frame).map_err(|_| Lost::Gone)
    }
}

impl Frames {
    /// The next frame; none once the hub has let go of the client: at once of a slow one, who would read the rest no sooner.
    pub(super) async fn next(&mut self) -> Option<Utf8Bytes> {
        let frame = self.frames.recv().await.filter(|_| !self.slow.is_cancelled())?;
        self.queued.fetch_sub(frame.len(), Ordering::AcqRel);
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_client_that_does_not_read_is_given_up() {
        let (outbox, mut frames) = outbox(10);
        assert!(outbox.send("a transcript beyond the limit".into()).is_ok(), "one frame always goes");
        assert_eq!(outbox.send("b".into()), Err(Lost::Slow));
        assert!(frames.next().await.is_none(), "and what waits for it is dropped with it");
        let (outbox, mut frames) = super::outbox(10);
        for _ in 0..3 {
            assert!(outbox.send("12345".into()).is_ok() && outbox.send("12345".into()).is_ok());
            assert!(frames.next().await.is_some() && frames.next().await.is_some());
        }
        drop(frames);
        assert_eq!(outbox.send("12345".into()), Err(Lost::Gone));
    }
}
