//! What clients ask for.

use std::time::Duration;

use serde_json::json;

use super::{Hub, Refused};
use crate::agent::{ChatRequest, ClientAnswer, TurnStream};
use crate::server::decisions::Decision;
use crate::server::frames::{self, Asked, ClientTool, Init, Unasked};
use crate::server::stream::{Request, Stream};
use crate::turn::{Json, ToolDefinition, ToolError, ToolOutput, Trigger};

/// Where messages come from that a client sends, by Think's name for it.
const CHANNEL: &str = "web";

/// How long turns that are cancelled by a clear may take to end: 5 s, well above the second in which tools may.
const CLEARED: Duration = Duration::from_secs(5);

impl Hub {
    /// Has a request answered.
    pub(super) async fn ask(&mut self, from: u64, id: String, init: &Init) {
        let running = self.stream.as_ref().is_some_and(|stream| stream.id() == id);
        if running || self.requests.iter().any(|request| request.id == id) {
            return;
        }
        let mut request = Request { id, asker: Some(from), asked: true, ..Request::default() };
        let asked = match init.asked() {
            Ok(asked) => asked,
            Err(Unasked::Nothing) => return,
            Err(Unasked::Unreadable(error)) => return self.session.refused(&request.id, &error),
            Err(Unasked::Wrong(error)) => return self.refuse(from, request, &error),
        };
        let Asked { messages, regenerate, client_tools, body } = asked;
        let asked = ChatRequest {
            request_id: Some(request.id.clone()),
            messages,
            body,
            client_tools,
            trigger: Trigger::WsChat,
            channel: Some(CHANNEL.into()),
            regenerate,
        };
        request.message_ids = asked.message_ids();
        match self.begin(request.clone(), asked).await {
            Ok(turn) => turn.detach(),
            Err(refused) => self.refuse(from, request, &refused.to_string()),
        }
    }

    /// Has a request answered of somebody who is not connected.
    pub(super) async fn answer(&mut self, asked: ChatRequest) -> Result<TurnStream, Refused> {
        let id = asked.request_id.clone().unwrap_or_default();
        let request = Request { id, message_ids: asked.message_ids(), ..Request::default() };
        self.begin(request, asked).await
    }

    async fn begin(&mut self, request: Request, asked: ChatRequest) -> Result<TurnStream, Refused> {
        if self.requests.len() >= self.limits.requests {
            return Err(Refused::Full);
        }
        self.forget_failure().await;
        let id = request.id.clone();
        self.requests.push(request.clone());
        let turn = self.session.send(asked).await.map_err(|error| {
            self.requests.retain(|other| other.id != id);
            Refused::Other(error.to_string())
        })?;
        let others = self.connections.keys().any(|connection| Some(*connection) != request.asker);
        if others {
            let stored = self.stored().await;
            if request.is_in(&stored) {
                let frame = frames::transcript(&stored, false);
                match request.asker {
                    Some(asker) => self.tell_others(asker, &frame),
                    None => self.tell_all(&frame),
                }
            }
        }
        Ok(turn)
    }

    fn refuse(&mut self, to: u64, request: Request, error: &str) {
        self.tell(to, &Stream::new(request).failed(error, true));
    }

    /// Ends all turns and empties the conversation.
    pub(super) async fn clear(&mut self, from: u64) {
        self.session.stop();
        let turns = self.stream.iter().map(|stream| &stream.request).chain(&self.requests);
        self.cleared.extend(turns.map(|request| request.id.clone()));
        let awaiting = self.answers.take().map(|answers| answers.awaiting).into_iter().flatten();
        for connection in awaiting.chain(std::mem::take(&mut self.waiting)) {
            self.tell(connection, &frames::resume_none(None, None));
        }
        self.excluded.clear();
        if !self.session.wait_until_stable(CLEARED).await {
            tracing::warn!(
                session = self.session.name(),
                "a turn does not end though its session is cleared"
            );
        }
        if let Err(error) = self.session.clear_messages().await {
            tracing::error!(session = self.session.name(), "the conversation cannot be cleared: {error}");
            return;
        }
        self.closed.clear();
        self.forget_failure().await;
        self.tell_others(from, &frames::clear());
    }

    /// Takes the tools that a client brings with an answer.
    pub(super) async fn take_tools(&self, tools: Option<Vec<ClientTool>>) {
        let tools: Vec<ToolDefinition> = tools.into_iter().flatten().map(frames::definition).collect();
        if !tools.is_empty()
            && let Err(error) = self.session.set_client_tools(tools).await
        {
            tracing::error!(session = self.session.name(), "a client's tools cannot be stored: {error}");
        }
    }

    /// Takes the result of a call that a client has run; the text of an error if it failed, or none.
    pub(super) async fn tool_result(
        &mut self,
        from: u64,
        tool_call_id: &str,
        result: Result<Json, Option<String>>,
        go_on: bool,
    ) {
        let result = result.map_err(|text| {
            ToolError::failed(text.unwrap_or_else(|| "Tool execution denied by user".into()))
        });
        let answer = ClientAnswer::Result(ToolOutput::from(result.clone()));
        let taken = self.session.tool_result(tool_call_id, result, go_on).await;
        self.answered(from, go_on, taken);
        self.show_answer(tool_call_id, answer).await;
    }

    /// Shows a call as answered that is part of an answer which still streams.
    async fn show_answer(&mut self, tool_call_id: &str, answer: ClientAnswer) {
        let Some(stream) = self.stream.as_mut().filter(|stream| !stream.orphan) else { return };
        // In a stored message it is shown as stored.
        if let Some(message) = stream.answered(tool_call_id, answer)
            && !self.stored().await.iter().any(|stored| stored.id == message.id)
        {
            self.tell_all(&frames::message_updated(&message));
        }
    }

    pub(super) async fn approval(
        &mut self,
        from: u64,
        tool_call_id: &str,
        approved: bool,
        reason: Option<String>,
        go_on: bool,
    ) {
        let taken = self.session.approve(tool_call_id, approved, reason, go_on).await;
        self.answered(from, go_on, taken);
    }

    /// Takes what people have decided; whether the conversation goes on with that.
    pub(super) async fn decide(&mut self, decisions: Vec<Decision>) -> bool {
        let mut any = false;
        for Decision { tool_call_id, approved, reason } in decisions {
            match self.session.approve(&tool_call_id, approved, reason, true).await {
                Ok(()) => any = true,
                Err(error) => tracing::debug!(session = self.session.name(), "{error}"),
            }
        }
        any && self.session.has_pending_interaction().await.is_ok_and(|waits| !waits)
    }

    fn answered(&mut self, from: u64, go_on: bool, taken: Result<(), crate::agent::AnswerError>) {
        if let Err(error) = taken {
            tracing::debug!(session = self.session.name(), "{error}");
        }
        // Also where nobody has asked for that answer: the conversation goes on all the same.
        if go_on {
            let answers = self.answers.get_or_insert_default();
            answers.owner = Some(from);
            answers.awaiting.insert(from);
        }
    }

    /// A call of a method. There are those alone that a person who approves needs.
    pub(super) fn call(&mut self, from: u64, id: &str, method: &str, args: &[Json]) {
        let frame = match method {
            // Of actions and of code that pauses, which this host has not; tools that need approval are in the messages.
            "pendingApprovals" | "pendingExecutions" => frames::result(id, &json!([])),
            "approveExecution" | "rejectExecution" => {
                let error = "nothing of that name waits for a decision";
                let result = json!({"status": "error", "executionId": args.first(), "error": error});
                frames::result(id, &result)
            }
            _ => frames::failure(id, &format!("there is no method \"{method}\"")),
        };
        self.tell(from, &frame);
    }
}
