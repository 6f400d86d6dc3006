//! The stream of one turn, as clients are sent it.

use serde_json::json;

use super::frames::response;
use crate::turn::{Json, TurnStatus};

/// A turn that was asked for, or has begun, and has shown nothing yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub(super) id: String,
    /// Who has asked; none if nobody did who is connected here.
    pub(super) asker: Option<u64>,
    /// The user's messages that it answers.
    pub(super) message_ids: Vec<String>,
    /// It goes on from an answer: its frames say so.
    pub(super) continuation: bool,
    /// It goes on by itself since a client has answered a call.
    pub(super) automatic: bool,
}

/// A turn that shows something, and what it has shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    pub(super) request: Request,
    /// The answer's.
    pub(super) message_id: Option<String>,
    /// Who may resume a continuation, as long as they are there.
    pub(super) owner: Option<u64>,
    /// UI message chunks as JSON.
    bodies: Vec<String>,
    /// What it failed with.
    pub(super) error: Option<String>,
}

impl Stream {
    pub(super) fn new(request: Request) -> Self {
        Self { request, ..Self::default() }
    }

    pub(super) fn id(&self) -> &str {
        &self.request.id
    }

    /// Takes a chunk, and makes its frame.
    pub(super) fn push(&mut self, chunk: &Json) -> Json {
        let seq = self.bodies.len();
        self.bodies.push(chunk.to_string());
        self.chunk(seq, false)
    }

    fn chunk(&self, seq: usize, replay: bool) -> Json {
        self.frame(json!({
            "body": self.bodies.get(seq),
            "done": false,
            "seq": seq,
            "replay": replay.then_some(true),
        }))
    }

    /// All that it has shown.
    pub(super) fn replay(&self) -> impl Iterator<Item = Json> {
        (0..self.bodies.len()).map(|seq| self.chunk(seq, true))
    }

    /// From here on it is live.
    pub(super) fn replayed(&self) -> Json {
        self.frame(json!({"body": "", "done": false, "replay": true, "replayComplete": true}))
    }

    /// It has ended before somebody asked for it.
    pub(super) fn over(&self) -> Json {
        self.frame(json!({"body": "", "done": true, "replay": true, "messageIds": self.message_ids()}))
    }

    pub(super) fn failed(&self, error: &str, done: bool) -> Json {
        self.frame(json!({"body": error, "done": done, "error": true, "messageIds": self.message_ids()}))
    }

    pub(super) fn done(&self, status: TurnStatus) -> Json {
        let outcome = match status {
            TurnStatus::Completed => "completed",
            TurnStatus::Error => "error",
            TurnStatus::Aborted => "aborted",
            TurnStatus::Interrupted => "recovering",
            TurnStatus::Skipped => "skipped",
        };
        self.frame(json!({"body": "", "done": true, "outcome": outcome, "messageIds": self.message_ids()}))
    }

    /// What it has shown is not needed any more.
    pub(super) fn forget(&mut self) {
        self.bodies = Vec::new();
    }

    fn message_ids(&self) -> Option<&[String]> {
        (!self.request.continuation).then_some(&self.request.message_ids)
    }

    fn frame(&self, mut fields: Json) -> Json {
        fields["id"] = json!(self.id());
        if self.request.continuation {
            fields["continuation"] = json!(true);
        }
        response(fields)
    }
}
