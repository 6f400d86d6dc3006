//! Greeting a client, and bringing it into a stream that runs (`think.md` §6.2, §6.5).

use serde_json::json;

use super::Hub;
use crate::server::frames;
use crate::server::stream::Stream;

impl Hub {
    pub(super) async fn greet(&mut self, connection: u64, agent: &str) {
        if let Some(stream) = &self.stream {
            let frame = frames::resuming(stream.id(), None);
            self.tell(connection, &frame);
            self.excluded.insert(connection);
        } else {
            if let Some(request) = self.requests.first() {
                let frame = frames::pending(Some(&request.id), None);
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
    pub(super) async fn probe(&mut self, connection: u64, probe: Option<&str>) {
        let frame = if let Some(stream) = &self.stream {
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
        } else if let Some(request) = self.requests.first() {
            self.waiting.insert(connection);
            frames::pending((!request.automatic).then_some(&*request.id), probe)
        } else if self.untold || self.goes_on().await {
            self.waiting.insert(connection);
            frames::pending(None, probe)
        } else if let Some(failed) = self.last.as_ref().filter(|last| last.error.is_some()) {
            frames::resuming(failed.id(), probe)
        } else {
            frames::resume_none(Some("idle"), probe)
        };
        self.tell(connection, &frame);
    }

    /// Whether the conversation is about to go on by itself.
    async fn goes_on(&self) -> bool {
        self.answerer.is_some() && !self.session.has_pending_interaction().await.is_ok_and(|pending| pending)
    }

    /// Replays a stream to who was told of it.
    pub(super) fn acknowledge(&mut self, connection: u64, id: &str) {
        let frames = match (&self.stream, &self.last) {
            (Some(stream), _) if stream.id() == id => {
                self.excluded.remove(&connection);
                stream.replay().chain([stream.replayed()]).collect()
            }
            (Some(_), _) => Vec::new(),
            (None, Some(last)) if last.id() == id => match &last.error {
                Some(error) => last.replay().chain([last.failed(error, true)]).collect(),
                None => vec![last.over()],
            },
            (None, _) => {
                vec![frames::response(json!({"id": id, "body": "", "done": true, "replay": true}))]
            }
        };
        for frame in &frames {
            self.tell(connection, frame);
        }
    }

    /// Forgets a failure, since there is something new.
    pub(super) fn forget_failure(&mut self) {
        self.last.take_if(|last: &mut Stream| last.error.is_some());
    }
}
