use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// What becomes of a message that is sent while a turn of its session runs or waits (`think.md` §1.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Concurrency {
    /// Every message gets its turn, in order.
    #[default]
    Queue,
    /// Messages are stored; of those that wait only the newest gets a turn.
    Latest,
    /// As `Latest`, and the model is shown those that were passed over and the newest as one message.
    Merge,
    /// The message is refused and not stored.
    Drop,
    /// As `Latest`, and the newest waits until nothing more has come for that long; [`Concurrency::DEBOUNCE`] is usual.
    Debounce(Duration),
}

impl Concurrency {
    /// The pause after which a debounced message gets its turn, unless set: 750 ms.
    pub const DEBOUNCE: Duration = Duration::from_millis(750);
}

/// The messages sent to a session, counted.
#[derive(Debug)]
pub(super) struct Submissions(Mutex<(u64, Instant)>);

impl Default for Submissions {
    fn default() -> Self {
        Self(Mutex::new((0, Instant::now())))
    }
}

impl Submissions {
    /// Counts one more and returns its number.
    pub(super) fn next(&self) -> u64 {
        let mut last = self.0.lock();
        *last = (last.0 + 1, Instant::now());
        last.0
    }

    /// Whether the message of that number gets its turn, now that it is due; waits where the policy says so. One that
    /// came while nothing ran always does.
    pub(super) async fn is_due(&self, number: u64, overlapping: bool, policy: Concurrency) -> bool {
        if !overlapping {
            return true;
        }
        if let Concurrency::Debounce(pause) = policy {
            loop {
                let until = self.0.lock().1 + pause;
                if until <= Instant::now() {
                    break;
                }
                tokio::time::sleep_until(until).await;
            }
        }
        matches!(policy, Concurrency::Queue | Concurrency::Drop) || self.0.lock().0 == number
    }
}
