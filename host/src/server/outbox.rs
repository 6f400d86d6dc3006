use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::ws::Utf8Bytes;
use tokio::sync::mpsc;

/// Frames on their way to one client. Never waits.
pub(super) struct Outbox {
    frames: mpsc::UnboundedSender<Utf8Bytes>,
    queued: Arc<AtomicUsize>,
    limit: usize,
}

/// Where they come out.
pub(super) struct Frames {
    frames: mpsc::UnboundedReceiver<Utf8Bytes>,
    queued: Arc<AtomicUsize>,
}

/// `limit` is how many bytes may wait; a single frame always may.
pub(super) fn outbox(limit: usize) -> (Outbox, Frames) {
    let (sender, frames) = mpsc::unbounded_channel();
    let queued = Arc::new(AtomicUsize::new(0));
    (Outbox { frames: sender, queued: queued.clone(), limit }, Frames { frames, queued })
}

impl Outbox {
    /// False if the client is gone, or too much waits for it.
    pub(super) fn send(&self, frame: Utf8Bytes) -> bool {
        let before = self.queued.fetch_add(frame.len(), Ordering::AcqRel);
        (before == 0 || before.saturating_add(frame.len()) <= self.limit) && self.frames.send(frame).is_ok()
    }
}

impl Frames {
    /// The next frame; none once the hub has let go of the client.
    pub(super) async fn next(&mut self) -> Option<Utf8Bytes> {
        let frame = self.frames.recv().await?;
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
        assert!(outbox.send("a transcript beyond the limit".into()), "one frame always goes");
        assert!(!outbox.send("b".into()));
        assert!(frames.next().await.is_some());
        let (outbox, mut frames) = super::outbox(10);
        for _ in 0..3 {
            assert!(outbox.send("12345".into()) && outbox.send("12345".into()));
            assert!(frames.next().await.is_some() && frames.next().await.is_some());
        }
    }
}
