use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::json;

use super::{
    AnswerPart, Approval, Json, JsonObject, ModelMessage, Part, ProviderMetadata, Role, StepRecord,
    ToolOutput, ToolPart, ToolState,
};

/// A message as it is stored and shown (AI SDK `UIMessage`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UiMessage {
    /// Unique in the session.
    pub id: String,
    /// Who speaks.
    pub role: UiRole,
    /// What is said, in order.
    pub parts: Vec<UiPart>,
    /// What a client or the host notes with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Json>,
}

/// Who speaks in a [`UiMessage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UiRole {
    /// The host.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// Whether a text part is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextState {
    /// It was cut off.
    Streaming,
    /// It is complete.
    Done,
}

/// A piece of a [`UiMessage`].
#[derive(Clone, Debug, PartialEq)]
pub enum UiPart {
    /// Text.
    Text {
        /// The text.
        text: String,
        /// Absent in a user's message.
        state: Option<TextState>,
        /// To be sent back with it.
        provider_metadata: Option<ProviderMetadata>,
    },
    /// The model's reasoning.
    Reasoning {
        /// The text.
        text: String,
        /// Whether it is complete.
        state: Option<TextState>,
        /// To be sent back with it.
        provider_metadata: Option<ProviderMetadata>,
    },
    /// A model request begins.
    StepStart,
    /// A tool call, with its result once there is one.
    Tool(Box<ToolPart>),
    /// Any other part, kept as it came: files, sources, `data-*`.
    Other(JsonObject),
}

impl UiMessage {
    /// A user's message of one text.
    #[must_use]
    pub fn user(id: impl Into<String>, text: impl Into<String>) -> Self {
        let part = UiPart::Text { text: text.into(), state: None, provider_metadata: None };
        Self { id: id.into(), role: UiRole::User, parts: vec![part], metadata: None }
    }

    /// Its text parts, joined.
    #[must_use]
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| if let UiPart::Text { text, .. } = part { Some(&**text) } else { None })
            .collect()
    }

    /// The messages in which a model reads it: for an assistant, one of its own for each step and one with the
    /// results. Calls without a result are left out: a model must not be shown a question without an answer.
    #[must_use]
    pub fn to_model(&self) -> Vec<ModelMessage> {
        let role = match self.role {
            UiRole::System => Role::System,
            UiRole::User => Role::User,
            UiRole::Assistant => return self.assistant_to_model(),
        };
        let content: Vec<Part> = self.parts.iter().filter_map(user_part).collect();
        if content.is_empty() { Vec::new() } else { vec![ModelMessage { role, content }] }
    }

    fn assistant_to_model(&self) -> Vec<ModelMessage> {
        let mut messages = Vec::new();
        for step in self.parts.split(|part| matches!(part, UiPart::StepStart)) {
            let mut said = Vec::new();
            let mut results = Vec::new();
            for part in step {
                match part {
                    // One that was cut off before its first word; providers refuse it.
                    UiPart::Text { text, .. } if text.is_empty() => {}
                    UiPart::Text { text, provider_metadata, .. } => {
                        said.push(Part::Text {
                            text: text.clone(),
                            provider_options: provider_metadata.clone(),
                        });
                    }
                    UiPart::Reasoning { text, provider_metadata, .. } => {
                        said.push(Part::Reasoning {
                            text: text.clone(),
                            provider_options: provider_metadata.clone(),
                        });
                    }
                    UiPart::Tool(tool) => {
                        let Some(output) = tool.result() else { continue };
                        said.push(Part::ToolCall {
                            tool_call_id: tool.tool_call_id.clone(),
                            tool_name: tool.tool_name.clone(),
                            input: tool.input.clone(),
                            provider_options: tool.call_provider_metadata.clone(),
                        });
                        results.push(Part::ToolResult {
                            tool_call_id: tool.tool_call_id.clone(),
                            tool_name: tool.tool_name.clone(),
                            output,
                        });
                    }
                    UiPart::StepStart | UiPart::Other(_) => {}
                }
            }
            if !said.is_empty() {
                messages.push(ModelMessage { role: Role::Assistant, content: said });
            }
            if !results.is_empty() {
                messages.push(ModelMessage { role: Role::Tool, content: results });
            }
        }
        messages
    }

    /// The parts of one step of an answer.
    pub(super) fn push_step(&mut self, step: &StepRecord) {
        self.parts.push(UiPart::StepStart);
        for part in &step.answer.parts {
            self.parts.push(match part {
                AnswerPart::Text { text, done, provider_metadata } => UiPart::Text {
                    text: text.clone(),
                    state: Some(if *done { TextState::Done } else { TextState::Streaming }),
                    provider_metadata: provider_metadata.clone(),
                },
                AnswerPart::Reasoning { text, done, provider_metadata } => UiPart::Reasoning {
                    text: text.clone(),
                    state: Some(if *done { TextState::Done } else { TextState::Streaming }),
                    provider_metadata: provider_metadata.clone(),
                },
                AnswerPart::ToolCall(call) => {
                    let id = &call.tool_call_id;
                    let record = step.records.iter().find(|record| record.call.tool_call_id == *id);
                    let approval = step.approvals.contains(id).then(|| Approval::of(id));
                    UiPart::Tool(Box::new(ToolPart {
                        tool_name: call.tool_name.clone(),
                        tool_call_id: call.tool_call_id.clone(),
                        // A text that is no JSON is no input.
                        input: match &call.malformed {
                            Some(_) if !call.input.is_object() => JsonObject::new().into(),
                            _ => call.input.clone(),
                        },
                        state: match record.map(|record| &record.output) {
                            None if approval.is_some() => ToolState::ApprovalRequested,
                            None => ToolState::InputAvailable,
                            Some(ToolOutput::Output(value)) => ToolState::OutputAvailable(value.clone()),
                            Some(ToolOutput::Error(error)) => ToolState::OutputError(error.message.clone()),
                        },
                        approval,
                        call_provider_metadata: call.provider_metadata.clone(),
                        other: JsonObject::new(),
                    }))
                }
                AnswerPart::Source { id, url, title } => {
                    other(json!({"type": "source-url", "sourceId": id, "url": url, "title": title}))
                }
                AnswerPart::File { media_type, url } => {
                    other(json!({"type": "file", "mediaType": media_type, "url": url}))
                }
            });
        }
    }
}

impl UiPart {
    /// What was cut off is over once more comes after it.
    pub(crate) fn close(&mut self) {
        if let Self::Text { state, .. } | Self::Reasoning { state, .. } = self
            && *state == Some(TextState::Streaming)
        {
            *state = Some(TextState::Done);
        }
    }
}

impl UiMessage {
    /// Its tool calls.
    pub fn tools(&self) -> impl Iterator<Item = &ToolPart> {
        self.parts.iter().filter_map(|part| if let UiPart::Tool(tool) = part { Some(&**tool) } else { None })
    }

    /// Its tool calls, to be changed.
    pub fn tools_mut(&mut self) -> impl Iterator<Item = &mut ToolPart> {
        self.parts
            .iter_mut()
            .filter_map(|part| if let UiPart::Tool(tool) = part { Some(&mut **tool) } else { None })
    }
}

fn other(value: Json) -> UiPart {
    let Json::Object(mut object) = value else { return UiPart::Other(JsonObject::new()) };
    object.retain(|_, value| !value.is_null());
    UiPart::Other(object)
}

fn user_part(part: &UiPart) -> Option<Part> {
    match part {
        UiPart::Text { text, provider_metadata, .. } => {
            Some(Part::Text { text: text.clone(), provider_options: provider_metadata.clone() })
        }
        UiPart::Other(object) if object.get("type").and_then(Json::as_str) == Some("file") => {
            Some(Part::File {
                media_type: object.get("mediaType")?.as_str()?.to_owned(),
                url: object.get("url")?.as_str()?.to_owned(),
                filename: object.get("filename").and_then(Json::as_str).map(str::to_owned),
            })
        }
        UiPart::Reasoning { .. } | UiPart::StepStart | UiPart::Tool(_) | UiPart::Other(_) => None,
    }
}

impl Serialize for UiPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fn spoken(
            kind: &str,
            text: &str,
            state: Option<TextState>,
            metadata: Option<&ProviderMetadata>,
        ) -> Json {
            let mut value = json!({"type": kind, "text": text});
            if let Some(state) = state {
                value["state"] = json!(state);
            }
            if let Some(metadata) = metadata {
                value["providerMetadata"] = json!(metadata);
            }
            value
        }
        match self {
            Self::Text { text, state, provider_metadata } => {
                spoken("text", text, *state, provider_metadata.as_ref()).serialize(serializer)
            }
            Self::Reasoning { text, state, provider_metadata } => {
                spoken("reasoning", text, *state, provider_metadata.as_ref()).serialize(serializer)
            }
            Self::StepStart => json!({"type": "step-start"}).serialize(serializer),
            Self::Tool(tool) => {
                let mut value = json!({
                    "type": format!("tool-{}", tool.tool_name),
                    "toolCallId": tool.tool_call_id,
                    "state": tool.state.name(),
                    "input": tool.input,
                });
                match &tool.state {
                    ToolState::OutputAvailable(output) => value["output"] = output.clone(),
                    ToolState::OutputError(text) => value["errorText"] = json!(text),
                    _ => {}
                }
                if let Some(approval) = &tool.approval {
                    value["approval"] = json!(approval);
                }
                if let Some(metadata) = &tool.call_provider_metadata {
                    value["callProviderMetadata"] = json!(metadata);
                }
                for (key, field) in &tool.other {
                    value[key] = field.clone();
                }
                value.serialize(serializer)
            }
            Self::Other(object) => object.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for UiPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = JsonObject::deserialize(deserializer)?;
        let kind = match object.get("type") {
            Some(Json::String(kind)) => kind.clone(),
            _ => return Err(D::Error::missing_field("type")),
        };
        fn take<T: serde::de::DeserializeOwned, E: serde::de::Error>(
            object: &mut JsonObject,
            key: &'static str,
        ) -> Result<Option<T>, E> {
            object.remove(key).map(|value| serde_json::from_value(value).map_err(E::custom)).transpose()
        }
        match &*kind {
            "text" | "reasoning" => {
                let text = take(&mut object, "text")?.ok_or_else(|| D::Error::missing_field("text"))?;
                let state = take(&mut object, "state")?;
                let provider_metadata = take(&mut object, "providerMetadata")?;
                Ok(if kind == "text" {
                    Self::Text { text, state, provider_metadata }
                } else {
                    Self::Reasoning { text, state, provider_metadata }
                })
            }
            "step-start" => Ok(Self::StepStart),
            _ => {
                let Some(tool_name) = kind.strip_prefix("tool-") else { return Ok(Self::Other(object)) };
                object.remove("type");
                let state: String =
                    take(&mut object, "state")?.ok_or_else(|| D::Error::missing_field("state"))?;
                let state = match &*state {
                    "input-available" => ToolState::InputAvailable,
                    "output-available" => {
                        ToolState::OutputAvailable(object.remove("output").unwrap_or_default())
                    }
                    "output-error" => {
                        ToolState::OutputError(take(&mut object, "errorText")?.unwrap_or_default())
                    }
                    "approval-requested" => ToolState::ApprovalRequested,
                    "approval-responded" => ToolState::ApprovalResponded,
                    "output-denied" => ToolState::OutputDenied,
                    _ => ToolState::Other(state),
                };
                Ok(Self::Tool(Box::new(ToolPart {
                    tool_name: tool_name.to_owned(),
                    tool_call_id: take(&mut object, "toolCallId")?
                        .ok_or_else(|| D::Error::missing_field("toolCallId"))?,
                    input: object.remove("input").unwrap_or_default(),
                    state,
                    approval: take(&mut object, "approval")?,
                    call_provider_metadata: take(&mut object, "callProviderMetadata")?,
                    other: object,
                })))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_survive_the_way_through_json() {
        let parts = json!([
            {"type": "step-start"},
            {"type": "reasoning", "text": "hm", "state": "done", "providerMetadata": {"x": {"signature": "s"}}},
            {"type": "text", "text": "a", "state": "streaming"},
            {"type": "tool-add", "toolCallId": "c0", "state": "output-available", "input": {"a": 1}, "output": 3},
            {"type": "tool-add", "toolCallId": "c1", "state": "output-error", "input": "{", "errorText": "no"},
            {"type": "tool-ask", "toolCallId": "c2", "state": "approval-requested", "input": {}, "approval": {"id": "p"}},
            {"type": "data-note", "id": "n", "data": {"k": [1]}},
        ]);
        let read: Vec<UiPart> = serde_json::from_value(parts.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), parts);
    }

    #[test]
    fn an_unfinished_tool_part_is_an_error_not_a_panic() {
        for bad in [
            json!({}),
            json!({"type": 1}),
            json!({"type": "text"}),
            json!({"type": "tool-x", "state": "done"}),
        ] {
            assert!(serde_json::from_value::<UiPart>(bad).is_err());
        }
    }

    #[test]
    fn steps_become_pairs_of_messages_and_open_calls_are_left_out() {
        let message: UiMessage = serde_json::from_value(json!({"id": "m", "role": "assistant", "parts": [
            {"type": "step-start"},
            {"type": "text", "text": "Let me."},
            {"type": "tool-add", "toolCallId": "c0", "state": "output-available", "input": {}, "output": 3},
            {"type": "tool-ask", "toolCallId": "c1", "state": "input-available", "input": {}},
            {"type": "step-start"},
            {"type": "text", "text": "3"},
        ]}))
        .unwrap();
        assert_eq!(
            serde_json::to_value(message.to_model()).unwrap(),
            json!([
                {"role": "assistant", "content": [
                    {"type": "text", "text": "Let me."},
                    {"type": "tool-call", "toolCallId": "c0", "toolName": "add", "input": {}}]},
                {"role": "tool", "content": [
                    {"type": "tool-result", "toolCallId": "c0", "toolName": "add", "output": {"type": "json", "value": 3}}]},
                {"role": "assistant", "content": [{"type": "text", "text": "3"}]},
            ])
        );
    }
}
