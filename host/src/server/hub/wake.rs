//! What a hub finds when it begins: what an earlier process has left, and what it has noted.

use super::{Answers, FAILURE, Hub, STATE};
use crate::agent::Left;
use crate::server::stream::{Request, Stream};
use crate::turn::{Json, TurnStatus};

impl Hub {
    /// Finds out what clients of an earlier process know of the session.
    pub(super) async fn remember(&mut self) {
        match self.session.left().await {
            Ok(left) => {
                for Left { turn, interrupted, due } in left.into_iter().filter(|left| left.turn.begun) {
                    self.recovering = interrupted.then(|| turn.record.root_request_id.clone());
                    let mut stream = Stream::left(&turn);
                    if due.is_some()
                        && let Some(mut shown) = stream.take()
                    {
                        // Its end was told when the next attempt was decided on.
                        shown.close(TurnStatus::Interrupted);
                        self.keep(shown);
                    } else if stream.is_none() {
                        self.left = Some(Request {
                            id: turn.record.start.request_id.clone(),
                            message_ids: turn.record.message_ids.clone(),
                            ..Request::default()
                        });
                    }
                    self.stream = stream;
                    self.due = due == Some(true);
                    self.held = due != Some(false);
                }
            }
            Err(error) => self.unreadable(&error),
        }
        self.state = self.noted(STATE).await;
        self.failure = self.noted(FAILURE).await.map(|failure| {
            let text = |key: &str| failure[key].as_str().unwrap_or_default().to_owned();
            let ids = failure["messageIds"].as_array().into_iter().flatten();
            let message_ids = ids.filter_map(Json::as_str).map(str::to_owned).collect();
            let request = Request { id: text("id"), message_ids, ..Request::default() };
            Stream::failing(request, text("body"))
        });
        if self.due {
            self.wake().await;
        }
    }

    /// Has the turns taken up that an earlier process has left.
    pub(super) async fn wake(&mut self) {
        if std::mem::replace(&mut self.awake, true) {
            return;
        }
        if let Err(error) = self.session.wake().await {
            self.held = false;
            return self.unreadable(&error);
        }
        // It is watched as any other turn.
        if let Some(stream) = self.session.recovery() {
            stream.detach();
        }
    }

    async fn noted(&self, key: &str) -> Option<Json> {
        match self.session.noted(key).await {
            Ok(noted) => noted.and_then(|noted| serde_json::from_str(&noted).ok()),
            Err(error) => {
                self.unreadable(&error);
                None
            }
        }
    }

    /// Notes something for the next process.
    pub(super) async fn note(&self, key: &str, value: Option<&Json>) {
        let text = value.map(Json::to_string);
        if let Err(error) = self.session.note(key, text.as_deref()).await {
            tracing::error!(session = self.session.name(), "what clients share cannot be stored: {error}");
        }
    }

    fn unreadable(&self, error: &dyn std::fmt::Display) {
        tracing::error!(
            session = self.session.name(),
            "what an earlier process has left cannot be read: {error}"
        );
    }
}

impl Answers {
    /// Whether the conversation goes on for that connection: it has answered last, or who has is gone.
    pub(super) fn are_of(&self, connection: u64) -> bool {
        self.owner.is_none_or(|owner| owner == connection)
    }

    pub(super) fn leave(&mut self, connection: u64) {
        self.awaiting.remove(&connection);
        self.owner.take_if(|owner| *owner == connection);
    }
}
