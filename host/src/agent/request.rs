use uuid::Uuid;

use crate::turn::{Json, ToolDefinition, Trigger, UiMessage, UiRole};

/// What a client asks with [`Session::send`](super::Session::send): a text, a message, or more.
#[derive(Clone, Debug, PartialEq)]
pub struct ChatRequest {
    /// The host's id of the turn; made up if none.
    pub request_id: Option<String>,
    /// The user's new message; or the whole conversation as the client has it, the new message last. What is stored
    /// already is not changed by it, but for calls that wait for the client.
    pub messages: Vec<UiMessage>,
    /// Custom fields for `before_turn`, an object. They hold until the next request, which clears or replaces them.
    pub body: Option<Json>,
    /// Tools that the client runs; an empty list clears those of earlier requests, none leaves them.
    pub client_tools: Option<Vec<ToolDefinition>>,
    /// What makes the turn start.
    pub trigger: Trigger,
    /// Where it comes from, such as `web`: noted in the metadata of the user's messages, where a client cannot set it.
    pub channel: Option<String>,
    /// The last message is answered once more, in a sibling of the answer that it has.
    pub regenerate: bool,
}

impl ChatRequest {
    /// The user's messages at its end, if a client asks.
    pub(crate) fn message_ids(&self) -> Vec<String> {
        if self.trigger != Trigger::WsChat {
            return Vec::new();
        }
        let user = self.messages.iter().rev().take_while(|message| message.role == UiRole::User);
        let mut ids: Vec<String> = user.map(|message| message.id.clone()).collect();
        ids.reverse();
        ids
    }
}

impl From<UiMessage> for ChatRequest {
    fn from(message: UiMessage) -> Self {
        Self {
            request_id: None,
            messages: vec![message],
            body: None,
            client_tools: None,
            trigger: Trigger::Programmatic,
            channel: None,
            regenerate: false,
        }
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
