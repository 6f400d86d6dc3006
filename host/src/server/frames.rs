//! The frames that clients send, and those that they are sent.

use serde::Deserialize;
use serde_json::json;

use super::messages;
use crate::turn::{Json, JsonObject, ToolDefinition, UiMessage};

/// What a client says. What has another type, or lacks what its type needs, is no frame.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub(super) enum ClientFrame {
    #[serde(rename = "cf_agent_use_chat_request")]
    Chat { id: String, init: Init },
    #[serde(rename = "cf_agent_chat_request_cancel")]
    Cancel { id: String },
    #[serde(rename = "cf_agent_chat_clear")]
    Clear {},
    #[serde(rename = "cf_agent_tool_result")]
    ToolResult {
        tool_call_id: String,
        #[serde(default)]
        output: Json,
        #[serde(default)]
        state: Option<String>,
        #[serde(default)]
        error_text: Option<String>,
        #[serde(default)]
        auto_continue: bool,
        #[serde(default)]
        client_tools: Option<Vec<ClientTool>>,
    },
    #[serde(rename = "cf_agent_tool_approval")]
    ToolApproval {
        tool_call_id: String,
        approved: bool,
        #[serde(default)]
        reason: Option<String>,
        #[serde(default)]
        auto_continue: bool,
    },
    #[serde(rename = "cf_agent_stream_resume_request")]
    ResumeRequest {
        #[serde(default)]
        probe_id: Option<String>,
    },
    #[serde(rename = "cf_agent_stream_resume_ack")]
    ResumeAck {
        #[serde(default)]
        id: Option<String>,
    },
    #[serde(rename = "rpc")]
    Rpc { id: String, method: String, args: Vec<Json> },
    #[serde(rename = "cf_agent_state")]
    State { state: Json },
}

/// The request that a chat frame carries, as of `fetch`.
#[derive(Debug, Deserialize)]
pub(super) struct Init {
    #[serde(default)]
    method: String,
    #[serde(default)]
    body: String,
}

/// What a chat request asks.
pub(super) struct Asked {
    pub(super) messages: Vec<UiMessage>,
    pub(super) regenerate: bool,
    pub(super) client_tools: Option<Vec<ToolDefinition>>,
    /// The custom fields, if any.
    pub(super) body: Option<Json>,
}

/// Why a request is not answered as one.
#[derive(Debug)]
pub(super) enum Unasked {
    /// It asks nothing.
    Nothing,
    /// It is no JSON: what is wrong with it.
    Unreadable(String),
    /// What it asks cannot be understood, and why.
    Wrong(String),
}

/// A tool that a client runs.
#[derive(Debug, Deserialize)]
pub(super) struct ClientTool {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default, alias = "inputSchema")]
    parameters: Option<JsonObject>,
}

impl ClientFrame {
    pub(super) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

impl Init {
    pub(super) fn post(body: String) -> Self {
        Self { method: "POST".into(), body }
    }

    pub(super) fn asked(&self) -> Result<Asked, Unasked> {
        if self.method != "POST" || self.body.is_empty() {
            return Err(Unasked::Nothing);
        }
        let body =
            serde_json::from_str(&self.body).map_err(|error| Unasked::Unreadable(error.to_string()))?;
        let Json::Object(mut body) = body else { return Err(Unasked::Nothing) };
        let messages = body.remove("messages").filter(Json::is_array).ok_or(Unasked::Nothing)?;
        let regenerate = body.remove("trigger").is_some_and(|trigger| trigger == "regenerate-message");
        let client_tools = body.remove("clientTools").filter(|tools| !tools.is_null());
        let read = || -> serde_json::Result<Asked> {
            Ok(Asked {
                messages: serde_json::from_value(messages)?,
                regenerate,
                client_tools: client_tools.map(tools).transpose()?,
                body: (!body.is_empty()).then_some(Json::Object(body)),
            })
        };
        let asked = read().map_err(|error| Unasked::Wrong(format!("the request cannot be read: {error}")))?;
        Ok(Asked { messages: messages::checked(asked.messages).map_err(Unasked::Wrong)?, ..asked })
    }
}

/// The tools that a client runs.
pub(super) fn tools(tools: Json) -> serde_json::Result<Vec<ToolDefinition>> {
    Ok(serde_json::from_value::<Vec<ClientTool>>(tools)?.into_iter().map(definition).collect())
}

/// How a client's tool is offered.
pub(super) fn definition(tool: ClientTool) -> ToolDefinition {
    ToolDefinition {
        name: tool.name,
        description: tool.description,
        input_schema: tool.parameters.map_or_else(|| json!({"type": "object"}), Json::Object),
        replay: Default::default(),
        sequential: false,
        client: true,
        needs_approval: false,
        dynamic: false,
    }
}

/// A frame without fields that are null.
fn frame(kind: &str, mut fields: Json) -> Json {
    if let Json::Object(fields) = &mut fields {
        fields.retain(|_, field| !field.is_null());
        fields.insert("type".into(), kind.into());
    }
    fields
}

/// `state`: whether there is a state, which is told next.
pub(super) fn identity(session: &str, agent: &str, state: bool) -> Json {
    let follows = state.then_some(true);
    frame("cf_agent_identity", json!({"name": session, "agent": agent, "stateFollows": follows}))
}

/// The host has no MCP servers of its own.
pub(super) fn mcp_servers() -> Json {
    let none = json!({"servers": {}, "tools": [], "prompts": [], "resources": []});
    frame("cf_agent_mcp_servers", json!({"mcp": none}))
}

pub(super) fn transcript(stored: &[UiMessage], connect: bool) -> Json {
    let connect = connect.then_some(true);
    frame("cf_agent_chat_messages", json!({"messages": messages::messages(stored), "connect": connect}))
}

pub(super) fn message_updated(message: &UiMessage) -> Json {
    frame("cf_agent_message_updated", json!({"message": messages::message(message)}))
}

pub(super) fn clear() -> Json {
    frame("cf_agent_chat_clear", json!({}))
}

/// May itself be null.
pub(super) fn state(state: &Json) -> Json {
    json!({"type": "cf_agent_state", "state": state})
}

pub(super) fn resuming(id: &str, probe: Option<&str>) -> Json {
    frame("cf_agent_stream_resuming", json!({"id": id, "probeId": probe}))
}

pub(super) fn pending(id: Option<&str>, probe: Option<&str>) -> Json {
    frame("cf_agent_stream_pending", json!({"id": id, "probeId": probe}))
}

pub(super) fn resume_none(reason: Option<&str>, probe: Option<&str>) -> Json {
    frame("cf_agent_stream_resume_none", json!({"reason": reason, "probeId": probe}))
}

pub(super) fn recovering(recovering: bool, id: Option<&str>) -> Json {
    frame("cf_agent_chat_recovering", json!({"recovering": recovering, "id": id}))
}

/// A part of the answer to a chat request.
pub(super) fn response(fields: Json) -> Json {
    frame("cf_agent_use_chat_response", fields)
}

/// The answer to a call. May itself be null.
pub(super) fn result(id: &str, result: &Json) -> Json {
    json!({"type": "rpc", "id": id, "success": true, "result": result, "done": true})
}

pub(super) fn failure(id: &str, error: &str) -> Json {
    json!({"type": "rpc", "id": id, "success": false, "error": error})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn init(method: &str, body: &str) -> Init {
        Init { method: method.into(), body: body.into() }
    }

    #[test]
    fn what_is_no_frame_is_none() {
        let deep = format!("{{\"type\":\"cf_agent_state\",\"state\":{}", "[".repeat(100_000));
        for text in
            ["", "garbage{", "42", "null", "[]", "{\"id\":\"no type\"}", "{\"type\":\"nonsense\"}", &deep]
        {
            assert!(ClientFrame::read(text).is_none());
        }
        let clear = ClientFrame::read("{\"type\":\"cf_agent_chat_clear\",\"more\":1}");
        assert!(matches!(clear, Some(ClientFrame::Clear {})));
    }

    #[test]
    fn a_request_is_read_or_refused() {
        for (method, body) in
            [("GET", "{\"messages\":[]}"), ("POST", "{\"messages\":\"hi\"}"), ("POST", ""), ("POST", "[]")]
        {
            assert!(matches!(init(method, body).asked(), Err(Unasked::Nothing)), "{body}");
        }
        assert!(matches!(init("POST", "{").asked(), Err(Unasked::Unreadable(_))));
        assert!(matches!(init("POST", "{\"messages\":[{\"id\":1}]}").asked(), Err(Unasked::Wrong(_))));
        let body = json!({"messages": [UiMessage::user("u", "hi")], "trigger": "regenerate-message", "a": 1,
            "clientTools": [{"name": "t"}]});
        let asked = init("POST", &body.to_string()).asked().unwrap();
        assert!(asked.regenerate && asked.messages.len() == 1);
        assert_eq!(asked.body, Some(json!({"a": 1})));
        assert!(asked.client_tools.unwrap()[0].client);
    }
}
