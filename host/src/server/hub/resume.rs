//! Greeting a client, and bringing it into a stream that runs (`think.md` §6.2, §6.5).

use serde_json::json;

use super::{Client, FAILURE, Hub};
use crate::server::frames;
use crate::server::stream::{Request, Stream};
use crate::turn::{Json, TurnStatus};

/// Streams that have ended of which something is remembered: 32.
const CLOSED: usize = 32;

impl Hub {
    pub(super) async fn greet(&mut self, connection: u64, agent: &str) {
        if self.awaits_more(connection) {
            self.waiting.insert(connection);
        } else if let Some(stream) = &self.stream {
            let frame = frames::resuming(stream.id(), None);
            self.tell(connection, &frame);
            self.excluded.insert(connection);
        } else {
            if let Some(request) = self.asked_last() {
                let frame = frames::pending(Some(request), None);
                self.tell(connection, &frame);
                self.waiting.insert(connection);
            }
            let stored = self.stored().await;
            self.tell(connection, &frames::transcript(&stored, true));
            if let Some(root) = &self.recovering {
                let frame = frames::recovering(true, Some(root));
                self.tell(connection, &frame);
            }
        }
        let identity = frames::identity(self.session.name(), agent, self.state.is_some());
        self.tell(connection, &identity);
        if let Some(state) = &self.state {
            let frame = frames::state(state);
            self.tell(connection, &frame);
        }
        self.tell(connection, &frames::mcp_servers());
    }

    /// Says what there is to resume.
    pub(super) fn probe(&mut self, connection: u64, probe: Option<&str>) {
        let frame = if self.awaits_more(connection) {
            self.waiting.insert(connection);
            frames::pending(None, probe)
        } else if let Some(stream) = &self.stream {
            let owned = stream
                .owner
                .is_some_and(|owner| owner != connection && self.connections.contains_key(&owner));
            if owned {
                frames::resume_none(Some("continuation-owned"), probe)
            } else {
                let frame = frames::resuming(stream.id(), probe);
                self.excluded.insert(connection);
                frame
            }
        } else if let Some(answers) = self.answers.as_mut().filter(|answers| answers.are_of(connection)) {
            answers.awaiting.insert(connection);
            frames::pending(self.automatic(), probe)
        } else if let Some(failure) = &self.failure {
            frames::resuming(failure.id(), probe)
        } else if let Some(request) = self.asked_last() {
            let frame = frames::pending(Some(request), probe);
            self.waiting.insert(connection);
            frame
        } else {
            frames::resume_none(Some("idle"), probe)
        };
        self.tell(connection, &frame);
    }

    /// Whether a client waits for the turn that takes up one that was cut off.
    fn awaits_more(&self, connection: u64) -> bool {
        let comes = self.stream.as_ref().map_or(self.recovering.is_some(), |stream| stream.orphan);
        let client = self.connections.get(&connection).map(|connection| &connection.client);
        comes && matches!(client, Some(Client::Posted { .. }))
    }

    /// The newest request of a client that is not over.
    fn asked_last(&self) -> Option<&str> {
        self.requests.iter().rev().find(|request| request.asked).map(|request| &*request.id)
    }

    /// The continuation that waits for its turn.
    fn automatic(&self) -> Option<&str> {
        self.requests.iter().find(|request| request.automatic).map(|request| &*request.id)
    }

    /// Replays a stream to who was told of it.
    pub(super) async fn acknowledge(&mut self, connection: u64, id: Option<&str>) {
        self.excluded.remove(&connection);
        let running = self.stream.as_ref().map(|stream| (stream.orphan, Some(stream.id()) == id));
        match running {
            Some((_, false)) => {}
            Some((false, true)) => {
                if let Some(stream) = &self.stream {
                    let frames: Vec<_> = stream.replay().chain([stream.replayed()]).collect();
                    self.tell_each(connection, &frames);
                }
            }
            Some((true, true)) => self.replay_orphan(connection).await,
            None => {
                let closed = self.closed.iter().rev().find(|stream| Some(stream.id()) == id);
                let failure = self.failure.as_ref().filter(|failure| Some(failure.id()) == id);
                let frames = match (failure, closed) {
                    (Some(failure), closed) => {
                        let shown = closed.filter(|closed| closed.error.is_some());
                        let shown = shown.into_iter().flat_map(Stream::replay);
                        let error = failure.error.as_deref().unwrap_or_default();
                        shown.chain([failure.given_up(error)]).collect()
                    }
                    (None, Some(closed)) if closed.error.is_none() && !closed.is_empty() => {
                        closed.replay().chain([closed.ended()]).collect()
                    }
                    (None, Some(closed)) => vec![closed.over()],
                    (None, None) => {
                        vec![frames::response(json!({"id": id, "body": "", "done": true, "replay": true}))]
                    }
                };
                self.tell_each(connection, &frames);
            }
        }
    }

    /// Nothing more comes of a stream that nobody has taken up: who has seen all of it is told so.
    async fn replay_orphan(&mut self, connection: u64) {
        let Some(mut stream) = self.stream.take() else { return };
        stream.close(TurnStatus::Aborted);
        let frames: Vec<_> = stream.replay().chain([stream.ended()]).collect();
        self.tell_each(connection, &frames);
        if !stream.is_empty() {
            let stored = self.stored().await;
            self.tell_all(&frames::transcript(&stored, false));
        }
        self.keep(stream);
    }

    fn tell_each(&mut self, connection: u64, frames: &[Json]) {
        for frame in frames {
            self.tell(connection, frame);
        }
    }

    /// Remembers a stream that has ended.
    pub(super) fn keep(&mut self, stream: Stream) {
        if self.closed.len() == CLOSED {
            self.closed.pop_front();
        }
        self.closed.push_back(stream);
    }

    /// Remembers what a turn has failed with, for who asks later; also in the next process.
    pub(super) async fn fail(&mut self, request: Request, error: &str) {
        let noted = json!({"id": request.id, "body": error, "messageIds": request.message_ids});
        self.note(FAILURE, Some(&noted)).await;
        self.failure = Some(Stream::failing(request, error.to_owned()));
    }

    /// Forgets a failure, since there is something new.
    pub(super) async fn forget_failure(&mut self) {
        if self.failure.take().is_some() {
            self.note(FAILURE, None).await;
        }
    }
}
