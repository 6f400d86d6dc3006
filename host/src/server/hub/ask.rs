//! What clients ask for.

use std::time::Duration;

use serde_json::json;

use super::{Hub, Refused};
use crate::agent::{ChatRequest, TurnStream};
use crate::server::decisions::Decision;
use crate::server::frames::{self, Asked, Init};
use crate::server::stream::{Request, Stream};
use crate::turn::{Json, ToolError, ToolState, Trigger, UiMessage, UiRole};

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
        let mut request = Request { id, asker: Some(from), ..Request::default() };
        let asked = match init.asked() {
            None => return,
            Some(Err(error)) => return self.refuse(from, request, &error),
            Some(Ok(asked)) => asked,
        };
        let Asked { messages, regenerate, client_tools, body } = asked;
        request.message_ids = last_of_user(&messages);
        let asked = ChatRequest {
            request_id: Some(request.id.clone()),
            messages,
            body,
            client_tools,
            trigger: Trigger::WsChat,
            channel: Some(CHANNEL.into()),
            regenerate,
        };
        match self.begin(request.clone(), asked).await {
            Ok(turn) => turn.detach(),
            Err(refused) => self.refuse(from, request, &refused.to_string()),
        }
    }

    /// Has a request answered of somebody who is not connected.
    pub(super) async fn answer(&mut self, asked: ChatRequest) -> Result<TurnStream, Refused> {
        let id = asked.request_id.clone().unwrap_or_default();
        let request = Request { id, message_ids: last_of_user(&asked.messages), ..Request::default() };
        self.begin(request, asked).await
    }

    async fn begin(&mut self, request: Request, asked: ChatRequest) -> Result<TurnStream, Refused> {
        if self.requests.len() >= self.limits.requests {
            return Err(Refused::Full);
        }
        self.forget_failure();
        self.requests.push(request.clone());
        let turn = match self.session.send(asked).await {
            Ok(turn) => turn,
            Err(error) => {
                self.requests.retain(|other| other.id != request.id);
                return Err(Refused::Other(error.to_string()));
            }
        };
        let others = self.connections.keys().filter(|connection| Some(**connection) != request.asker);
        if others.count() > 0 {
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
        self.last = None;
        self.answerer = None;
        self.tell_others(from, &frames::clear());
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
            ToolError::failed(text.unwrap_or_else(|| "The client could not run the tool.".into()))
        });
        let taken = self.session.tool_result(tool_call_id, result, go_on).await;
        self.answered(from, go_on, taken);
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
        match taken {
            Ok(()) if go_on => self.answerer = Some(from),
            Ok(()) => {}
            Err(error) => tracing::debug!(session = self.session.name(), "{error}"),
        }
    }

    /// A call of a method. There is but one, Think's list of what a person is to decide.
    pub(super) async fn call(&mut self, from: u64, id: &str, method: &str) {
        let frame = match method {
            "pendingApprovals" => frames::result(id, &pending(&self.stored().await)),
            _ => frames::failure(id, &format!("there is no method \"{method}\"")),
        };
        self.tell(from, &frame);
    }
}

/// The user's messages at the end.
fn last_of_user(messages: &[UiMessage]) -> Vec<String> {
    let user = messages.iter().rev().take_while(|message| message.role == UiRole::User);
    let mut ids: Vec<String> = user.map(|message| message.id.clone()).collect();
    ids.reverse();
    ids
}

/// The calls that wait for a person's approval.
fn pending(messages: &[UiMessage]) -> Json {
    let tools = messages.iter().flat_map(UiMessage::tools);
    let waiting = tools.filter(|tool| tool.state == ToolState::ApprovalRequested).map(|tool| {
        json!({
            "approvalId": tool.approval.as_ref().map(|approval| &approval.id),
            "toolCallId": tool.tool_call_id,
            "toolName": tool.tool_name,
            "input": tool.input,
        })
    });
    waiting.collect()
}
