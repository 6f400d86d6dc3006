//! What a provider wants back with a part: signatures, item ids, ciphertext.
//!
//! rig keeps the provider's own item beside each part. We keep what of it the part does not say already, under the
//! provider's key and by the AI SDK's names where it has one, and build the item again when the part goes back.

use rig_core::message::{AssistantContent, ProviderCallId};
use serde_json::{Map, json};

use super::super::registry::ProviderKind;
use crate::turn::{Json, JsonObject, ProviderMetadata};

/// Where a call's id of the provider is, if the host had to give it another.
const TOOL_CALL_ID: &str = "toolCallId";
/// Which model wrote the part: another cannot read its signatures.
const MODEL: &str = "model";
/// A whole item that is no part of ours, such as a step of a hosted tool.
const ITEM: &str = "item";

/// Packs and unpacks the metadata of one model's parts.
#[derive(Clone)]
pub(super) struct Keeper {
    kind: ProviderKind,
    key: String,
    model: String,
}

impl Keeper {
    pub(super) fn new(kind: ProviderKind, provider: &str, model: &str) -> Self {
        let key = match kind {
            // Many servers speak it, and none reads what another signed.
            ProviderKind::Openai => provider,
            ProviderKind::OpenaiResponses => "openai",
            ProviderKind::Anthropic => "anthropic",
            ProviderKind::Gemini => "google",
        };
        Self { kind, key: key.to_owned(), model: model.to_owned() }
    }

    /// Metadata of the provider, if there is any.
    pub(super) fn under_key(&self, fields: JsonObject) -> Option<ProviderMetadata> {
        (!fields.is_empty()).then(|| Map::from_iter([(self.key.clone(), Json::Object(fields))]))
    }

    /// What is to come back with a part that rig has read; `announced` is a call's id as the host knows it.
    pub(super) fn pack(&self, part: &AssistantContent, announced: Option<&str>) -> Option<ProviderMetadata> {
        let mut fields = JsonObject::new();
        if let AssistantContent::Opaque(opaque) = part {
            fields.insert(ITEM.into(), opaque.item.clone());
        } else if let Some(Json::Object(item)) = part.native_item() {
            fields = self.pack_item(part, item);
        }
        if !fields.is_empty() {
            fields.insert(MODEL.into(), self.model.clone().into());
        }
        if let AssistantContent::ToolCall(call) = part
            && let Some(own) = call.id.provider().map(ProviderCallId::as_str)
            && announced.is_some_and(|announced| announced != own)
        {
            fields.insert(TOOL_CALL_ID.into(), own.into());
        }
        self.under_key(fields)
    }

    fn pack_item(&self, part: &AssistantContent, item: &JsonObject) -> JsonObject {
        let renamed: &[(&str, &str)] = match (self.kind, part) {
            (ProviderKind::Openai, AssistantContent::Reasoning(_)) => return pack_chat_reasoning(item),
            (ProviderKind::Openai, AssistantContent::ToolCall(_)) => {
                let known = ["id", "type", "function"];
                let extra = item.iter().filter(|(name, _)| !known.contains(&name.as_str()));
                return extra.map(|(name, value)| (name.clone(), value.clone())).collect();
            }
            (ProviderKind::Openai, _) => &[],
            (ProviderKind::OpenaiResponses, _) => {
                &[("id", "itemId"), ("encrypted_content", "reasoningEncryptedContent"), ("phase", "phase")]
            }
            (ProviderKind::Anthropic, _) => &[
                ("signature", "signature"),
                ("data", "redactedData"),
                ("citations", "citations"),
                ("caller", "caller"),
            ],
            (ProviderKind::Gemini, _) => &[("thoughtSignature", "thoughtSignature")],
        };
        let kept = renamed.iter().filter_map(|(from, to)| Some(((*to).to_owned(), item.get(*from)?.clone())));
        kept.filter(|(_, value)| !is_empty(value)).collect()
    }

    /// What was packed, if it is this model's.
    pub(super) fn kept<'a>(&self, options: Option<&'a ProviderMetadata>) -> Option<&'a JsonObject> {
        let fields = options?.get(&self.key)?.as_object()?;
        let same = fields.get(MODEL).is_none_or(|model| model.as_str() == Some(&self.model));
        same.then_some(fields)
    }

    /// The provider's id of a call.
    pub(super) fn call_id<'a>(&self, options: Option<&'a ProviderMetadata>) -> Option<&'a str> {
        self.kept(options)?.get(TOOL_CALL_ID)?.as_str()
    }

    /// A whole item that came as no part of ours.
    pub(super) fn item(&self, options: Option<&ProviderMetadata>) -> Option<Json> {
        self.kept(options)?.get(ITEM).cloned()
    }

    /// The provider's item of a part, built again.
    pub(super) fn unpack(&self, part: &AssistantContent, options: Option<&ProviderMetadata>) -> Option<Json> {
        let kept = self.kept(options)?;
        let (item, renamed): (Json, &[(&str, &str)]) = match (self.kind, part) {
            (ProviderKind::Openai, AssistantContent::Reasoning(part)) => {
                return unpack_chat_reasoning(&part.text, kept);
            }
            (ProviderKind::Openai, AssistantContent::ToolCall(_)) => {
                let extra = kept.iter().filter(|(name, _)| ![MODEL, TOOL_CALL_ID].contains(&name.as_str()));
                let extra: JsonObject = extra.map(|(name, value)| (name.clone(), value.clone())).collect();
                return (!extra.is_empty()).then_some(Json::Object(extra));
            }
            (ProviderKind::OpenaiResponses, part) => (
                responses_item(part)?,
                &[("id", "itemId"), ("encrypted_content", "reasoningEncryptedContent"), ("phase", "phase")],
            ),
            (ProviderKind::Anthropic, AssistantContent::Reasoning(part)) => match kept.get("redactedData") {
                Some(data) => return Some(json!({"type": "redacted_thinking", "data": data})),
                None => (json!({"type": "thinking", "thinking": part.text}), &[("signature", "signature")]),
            },
            (ProviderKind::Anthropic, AssistantContent::Text(part)) => {
                (json!({"type": "text", "text": part.text}), &[("citations", "citations")])
            }
            (ProviderKind::Anthropic, AssistantContent::ToolCall(call)) => (
                json!({
                    "type": "tool_use", "id": call.id.wire(), "name": call.function.name, "input": call.function.arguments,
                }),
                &[("caller", "caller")],
            ),
            (ProviderKind::Gemini, part) => (gemini_item(part)?, &[("thoughtSignature", "thoughtSignature")]),
            _ => return None,
        };
        let Json::Object(mut item) = item else { return None };
        let before = item.len();
        let kept = renamed.iter().filter_map(|(to, from)| Some(((*to).to_owned(), kept.get(*from)?.clone())));
        item.extend(kept);
        // With nothing of the provider's in it, rig's own form is as good.
        (item.len() > before).then_some(Json::Object(item))
    }
}

fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(list) => list.is_empty(),
        _ => false,
    }
}

/// Chat servers send reasoning under a field of their choice, and some sign it.
fn pack_chat_reasoning(item: &JsonObject) -> JsonObject {
    let mut fields = JsonObject::new();
    if item.get("type").and_then(Json::as_str) == Some("thinking") {
        fields.insert("reasoningField".into(), "thinking".into());
        return fields;
    }
    if let Some((field, _)) = item.iter().find(|(_, value)| value.is_string()) {
        fields.insert("reasoningField".into(), field.clone().into());
    }
    if let Some(details) = item.get("reasoning_details").filter(|details| !is_empty(details)) {
        fields.insert("reasoningDetails".into(), details.clone());
    }
    fields
}

fn unpack_chat_reasoning(text: &str, kept: &JsonObject) -> Option<Json> {
    let mut item = JsonObject::new();
    match kept.get("reasoningField").and_then(Json::as_str) {
        Some("thinking") => {
            return Some(json!({"type": "thinking", "thinking": [{"type": "text", "text": text}]}));
        }
        Some(field) => {
            item.insert(field.into(), text.into());
        }
        None => {}
    }
    if let Some(details) = kept.get("reasoningDetails") {
        item.insert("reasoning_details".into(), details.clone());
    }
    (!item.is_empty()).then_some(Json::Object(item))
}

fn responses_item(part: &AssistantContent) -> Option<Json> {
    Some(match part {
        AssistantContent::Text(part) => json!({
            "type": "message", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": part.text, "annotations": []}],
        }),
        AssistantContent::Reasoning(part) if part.text.is_empty() => {
            json!({"type": "reasoning", "summary": []})
        }
        AssistantContent::Reasoning(part) => {
            json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": part.text}]})
        }
        AssistantContent::ToolCall(call) => json!({
            "type": "function_call", "status": "completed", "call_id": call.id.wire(), "name": call.function.name,
            "arguments": Json::Object(call.function.arguments.clone()).to_string(),
        }),
        _ => return None,
    })
}

fn gemini_item(part: &AssistantContent) -> Option<Json> {
    Some(match part {
        AssistantContent::Text(part) => json!({"text": part.text}),
        AssistantContent::Reasoning(part) => json!({"text": part.text, "thought": true}),
        AssistantContent::ToolCall(call) => {
            json!({"functionCall": {"name": call.function.name, "args": call.function.arguments}})
        }
        _ => return None,
    })
}
