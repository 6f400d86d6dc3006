use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::SessionEvent;

/// Events that a watcher of a session may lag behind: several seconds of any model's output.
const BEHIND: usize = 4_096;

/// Whoever watches a session, in any number. Nobody need.
#[derive(Clone, Default)]
pub(crate) struct Watchers(Arc<Mutex<Vec<mpsc::Sender<SessionEvent>>>>);

/// What happens in a session, for one who watches it.
#[derive(Debug)]
pub struct Watcher(mpsc::Receiver<SessionEvent>);

impl Watchers {
    pub(crate) fn watch(&self) -> Watcher {
        let (sender, receiver) = mpsc::channel(BEHIND);
        self.0.lock().push(sender);
        Watcher(receiver)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// Tells all. Who has gone, or fallen too far behind, is told nothing more.
    pub(crate) fn tell(&self, event: SessionEvent) {
        let mut watchers = self.0.lock();
        // Mostly there is one, to whom the event need not be copied.
        let Some(last) = watchers.pop() else { return };
        watchers.retain(|watcher| watcher.try_send(event.clone()).is_ok());
        if last.try_send(event).is_ok() {
            watchers.push(last);
        }
    }
}

impl Watcher {
    /// The next event. None once nobody holds the session any more, or if this watcher was too slow and has been left behind
    /// by 4,096 events: then it may watch anew.
    pub async fn next(&mut self) -> Option<SessionEvent> {
        self.0.recv().await
    }

    /// The next event, if it has happened.
    pub fn try_next(&mut self) -> Option<SessionEvent> {
        self.0.try_recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::TurnStatus;

    fn ended(number: usize) -> SessionEvent {
        let (status, error) = (TurnStatus::Completed, None);
        SessionEvent::TurnEnded { request_id: number.to_string(), status, error }
    }

    #[tokio::test]
    async fn who_is_too_slow_is_left_behind_and_the_others_are_not() {
        let watchers = Watchers::default();
        let (mut slow, mut fast) = (watchers.watch(), watchers.watch());
        for number in 0..=BEHIND {
            watchers.tell(ended(number));
            assert_eq!(fast.next().await, Some(ended(number)));
        }
        for number in 0..BEHIND {
            assert_eq!(slow.next().await, Some(ended(number)), "what it was told before is not lost");
        }
        assert_eq!(slow.next().await, None);
        let mut anew = watchers.watch();
        watchers.tell(ended(1));
        assert_eq!((anew.try_next(), fast.try_next()), (Some(ended(1)), Some(ended(1))));
        drop((anew, fast));
        watchers.tell(ended(2));
        assert!(watchers.is_empty());
    }
}
