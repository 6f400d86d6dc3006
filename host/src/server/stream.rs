//! The stream of one turn, as clients are sent it.

use std::collections::{HashMap, HashSet};

use serde_json::json;

use super::chunks;
use super::frames::response;
use crate::agent::ClientAnswer;
use crate::store::Unfinished;
use crate::turn::{Chunk, Json, TurnStatus, UiMessage, UiRole, partial_parts};

/// A turn that was asked for, or has begun, and has shown nothing yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub(super) id: String,
    /// Who has asked; none if nobody did who is connected here.
    pub(super) asker: Option<u64>,
    /// A client has asked, in this process.
    pub(super) asked: bool,
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
    /// What clients were shown, as far as they are told of it.
    chunks: Vec<Chunk>,
    /// Calls that could not be understood: that they fail was said with them.
    broken: HashSet<String>,
    /// Clients' answers to calls of it, by the calls' ids.
    answers: HashMap<String, ClientAnswer>,
    /// What it failed with.
    pub(super) error: Option<String>,
    /// An earlier process has shown it.
    pub(super) orphan: bool,
    /// It is cut off, and what becomes of its turn is not decided.
    pub(super) interrupted: bool,
    /// It has failed outside the model's stream.
    pub(super) refused: bool,
    /// How it has ended, if that was not as it should.
    outcome: Option<&'static str>,
}

impl Stream {
    pub(super) fn new(request: Request) -> Self {
        Self { request, ..Self::default() }
    }

    /// One that is known for its failure alone.
    pub(super) fn failing(request: Request, error: String) -> Self {
        Self { error: Some(error), ..Self::new(request) }
    }

    /// What an earlier process has shown of a turn; none if that is nothing.
    pub(super) fn left(turn: &Unfinished) -> Option<Self> {
        if turn.chunks.is_empty() {
            return None;
        }
        let start = &turn.record.start;
        let request = Request {
            id: start.request_id.clone(),
            message_ids: turn.record.message_ids.clone(),
            continuation: start.continuation,
            ..Request::default()
        };
        let mut stream = Self { orphan: true, ..Self::new(request) };
        // What comes after the last word or call says nothing.
        let told = turn.chunks.iter().rposition(|chunk| {
            matches!(
                chunk,
                Chunk::TextDelta { .. }
                    | Chunk::ReasoningDelta { .. }
                    | Chunk::ToolCall { .. }
                    | Chunk::ToolResult { .. }
                    | Chunk::ToolError { .. }
            )
        });
        for chunk in turn.chunks.iter().take(told.map_or(0, |place| place + 1)) {
            stream.push(chunk);
        }
        Some(stream)
    }

    pub(super) fn id(&self) -> &str {
        &self.request.id
    }

    /// Takes a chunk, and makes its frame; none if clients learn of it otherwise.
    pub(super) fn push(&mut self, chunk: &Chunk) -> Option<Json> {
        match chunk {
            Chunk::ToolCall { tool_call_id, malformed: Some(_), .. } => {
                self.broken.insert(tool_call_id.clone());
            }
            Chunk::ToolError { tool_call_id, .. } if self.broken.contains(tool_call_id) => return None,
            _ => {}
        }
        let frame = self.chunk(self.chunks.len(), chunk, false)?;
        self.chunks.push(chunk.clone());
        Some(frame)
    }

    fn chunk(&self, seq: usize, chunk: &Chunk, replay: bool) -> Option<Json> {
        let body = chunks::ui(chunk, self.request.continuation)?.to_string();
        Some(self.frame(json!({"body": body, "done": false, "seq": seq, "replay": replay.then_some(true)})))
    }

    /// The message that it makes, once a call of it is answered that nobody has answered before; none if it has no such
    /// call.
    pub(super) fn answered(&mut self, tool_call_id: &str, answer: ClientAnswer) -> Option<UiMessage> {
        if self.answers.contains_key(tool_call_id) {
            return None;
        }
        let id = self.message_id.clone()?;
        let mut message =
            UiMessage { id, role: UiRole::Assistant, parts: partial_parts(&self.chunks), metadata: None };
        message.tools().find(|tool| tool.tool_call_id == tool_call_id)?;
        self.answers.insert(tool_call_id.to_owned(), answer);
        for tool in message.tools_mut() {
            if let Some(answer) = self.answers.get(&tool.tool_call_id) {
                answer.apply(tool);
            }
        }
        Some(message)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// All that it has shown.
    pub(super) fn replay(&self) -> impl Iterator<Item = Json> {
        self.chunks.iter().enumerate().filter_map(|(seq, chunk)| self.chunk(seq, chunk, true))
    }

    /// From here on it is live.
    pub(super) fn replayed(&self) -> Json {
        self.frame(json!({"body": "", "done": false, "replay": true, "replayComplete": true}))
    }

    /// There is no more of it than was replayed.
    pub(super) fn ended(&self) -> Json {
        let (ids, outcome) = (self.message_ids(), self.outcome);
        self.frame(json!({"body": "", "done": true, "replay": true, "messageIds": ids, "outcome": outcome}))
    }

    /// It has ended before somebody asked for it; the conversation has what it has shown.
    pub(super) fn over(&self) -> Json {
        response(json!({
            "id": self.id(),
            "body": "",
            "done": true,
            "replay": true,
            "messageIds": self.message_ids(),
            "outcome": self.outcome,
        }))
    }

    pub(super) fn failed(&self, error: &str, done: bool) -> Json {
        self.frame(json!({"body": error, "done": done, "error": true, "messageIds": self.message_ids()}))
    }

    /// Its turn is given up, now or when somebody asks for it: the client does not go on in any message.
    pub(super) fn given_up(&self, error: &str) -> Json {
        let (id, ids) = (self.id(), self.message_ids());
        response(json!({"id": id, "body": error, "done": true, "error": true, "messageIds": ids}))
    }

    pub(super) fn done(&self, status: TurnStatus) -> Json {
        let outcome = outcome(status);
        self.frame(json!({"body": "", "done": true, "outcome": outcome, "messageIds": self.message_ids()}))
    }

    /// Ends it.
    pub(super) fn close(&mut self, status: TurnStatus) {
        self.orphan = false;
        self.interrupted = false;
        self.outcome =
            (status != TurnStatus::Completed && status != TurnStatus::Error).then(|| outcome(status));
    }

    /// What it has shown is not needed any more.
    pub(super) fn forget(&mut self) {
        self.chunks = Vec::new();
    }

    pub(super) fn message_ids(&self) -> Option<&[String]> {
        Some(&*self.request.message_ids).filter(|ids| !ids.is_empty())
    }

    fn frame(&self, mut fields: Json) -> Json {
        fields["id"] = json!(self.id());
        if self.request.continuation {
            fields["continuation"] = json!(true);
        }
        response(fields)
    }
}

fn outcome(status: TurnStatus) -> &'static str {
    match status {
        TurnStatus::Completed => "completed",
        TurnStatus::Error => "error",
        TurnStatus::Aborted => "aborted",
        TurnStatus::Interrupted => "recovering",
        TurnStatus::Skipped => "skipped",
    }
}
