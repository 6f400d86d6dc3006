use uuid::Uuid;

use crate::turn::{Json, ToolDefinition, Trigger, UiMessage};

/// A message for [`Session::send`](super::Session::send), with what a client may say beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatRequest {
    /// The host's id of the turn; made up if none.
    pub request_id: Option<String>,
    /// The user's message.
    pub message: UiMessage,
    /// Custom fields for `before_turn`, an object. They hold until the next request, which clears or replaces them.
    pub body: Option<Json>,
    /// Tools that the client runs; an empty list clears those of earlier requests, none leaves them.
    pub client_tools: Option<Vec<ToolDefinition>>,
    /// What makes the turn start.
    pub trigger: Trigger,
}

impl From<UiMessage> for ChatRequest {
    fn from(message: UiMessage) -> Self {
        Self { request_id: None, message, body: None, client_tools: None, trigger: Trigger::Programmatic }
    }
}

impl From<String> for ChatRequest {
    fn from(text: String) -> Self {
        UiMessage::user(Uuid::now_v7().to_string(), text).into()
    }
}

impl From<&str> for ChatRequest {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&String> for ChatRequest {
    fn from(text: &String) -> Self {
        text.clone().into()
    }
}
