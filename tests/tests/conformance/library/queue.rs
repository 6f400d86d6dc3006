//! What the user does meanwhile.

use std::sync::Arc;

use lathe::Session;
use lathe::agent::Skipped;
use parking_lot::Mutex;
use serde_json::json;

use super::record::Record;
use super::script::{Meanwhile, When};

pub(crate) struct Queue {
    actions: Vec<Meanwhile>,
    /// Set once there is one.
    session: Mutex<Option<Session>>,
    record: Arc<Record>,
}

impl Queue {
    pub(crate) fn new(actions: Vec<Meanwhile>, record: Arc<Record>) -> Self {
        Self { actions, session: Mutex::default(), record }
    }

    /// Begins to act on that session; until the result is dropped, since the session holds the tools and the model that
    /// hold this.
    pub(crate) fn open(self: &Arc<Self>, session: &Session) -> Opened {
        *self.session.lock() = Some(session.clone());
        Opened(self.clone())
    }

    /// Does what is due now.
    pub(crate) async fn act(&self, now: &When) {
        let Some(session) = self.session.lock().clone() else { return };
        for action in self.actions.iter().filter(|action| action.when == *now) {
            self.act_once(&session, action).await;
        }
    }

    async fn act_once(&self, session: &Session, action: &Meanwhile) {
        if let Some(text) = &action.steer {
            session.steer(text);
            self.record.note(json!({"queue": "steer", "text": text}));
        }
        if let Some(text) = &action.follow_up {
            session.follow_up(text);
            self.record.note(json!({"queue": "followUp", "text": text}));
        }
        if let Some(text) = &action.prompt {
            let error = send(session.clone(), text.clone()).await.err();
            let mut entry = json!({"queue": "prompt", "text": text});
            if let Some(error) = error {
                entry["error"] = error.into();
            }
            self.record.note(entry);
        }
        if action.abort {
            let cancelled = self.record.request_id().is_some_and(|id| session.cancel(&id));
            self.record.note(if cancelled {
                json!({"queue": "abort"})
            } else {
                json!({"queue": "abort", "error": "no turn runs"})
            });
        }
    }
}

/// As somebody outside the turn does it. A turn that begins runs by itself.
async fn send(session: Session, text: String) -> Result<(), String> {
    let sent = tokio::spawn(async move {
        let mut turn = session.send(text).await.map_err(|error| error.to_string())?;
        if turn.next().await.is_none() {
            return match turn.finish().await.skipped {
                Some(Skipped::Dropped) => Err("a turn runs already".to_owned()),
                _ => Ok(()),
            };
        }
        turn.detach();
        Ok(())
    });
    sent.await.unwrap_or_else(|error| Err(error.to_string()))
}

pub(crate) struct Opened(Arc<Queue>);

impl Drop for Opened {
    fn drop(&mut self) {
        *self.0.session.lock() = None;
    }
}
