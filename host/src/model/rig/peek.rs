//! What the frames of an answer tell before rig does: who answers, and the ids of tool calls.
//!
//! rig names a call's id when the call is complete; we name it when its input begins.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;

use super::super::registry::ProviderKind;
use crate::turn::Json;

/// Shared by the transport, which fills it, and the reader of the events.
#[derive(Clone)]
pub(super) struct Peek(Arc<Mutex<Seen>>);

struct Seen {
    kind: ProviderKind,
    frames: usize,
    response: Option<String>,
    model: Option<String>,
    calls: VecDeque<Option<String>>,
    known: HashSet<(u64, Option<String>)>,
}

impl Peek {
    pub(super) fn new(kind: ProviderKind) -> Self {
        let (calls, known) = (VecDeque::new(), HashSet::new());
        Self(Arc::new(Mutex::new(Seen { kind, frames: 0, response: None, model: None, calls, known })))
    }

    /// Reads one frame on its way to rig.
    pub(super) fn read(&self, frame: &str) {
        let mut seen = self.0.lock();
        seen.frames += 1;
        let has_calls = match seen.kind {
            ProviderKind::Openai => frame.contains("tool_calls"),
            ProviderKind::OpenaiResponses => frame.contains("_call"),
            ProviderKind::Anthropic => frame.contains("tool_use"),
            ProviderKind::Gemini => frame.contains("functionCall"),
        };
        // Most frames are a few letters of text: only these are read twice.
        if (has_calls || seen.response.is_none())
            && let Ok(frame) = serde_json::from_str(frame)
        {
            seen.note(&frame);
        }
    }

    /// Whether the answer has begun.
    pub(super) fn has_begun(&self) -> bool {
        self.0.lock().frames > 0
    }

    /// The answer's id and model, once they are told.
    pub(super) fn response(&self) -> Option<(String, Option<String>)> {
        let seen = self.0.lock();
        seen.response.clone().map(|id| (id, seen.model.clone()))
    }

    /// The provider's id of the next call to begin, if it gave one.
    pub(super) fn next_call(&self) -> Option<String> {
        self.0.lock().calls.pop_front().flatten()
    }
}

impl Seen {
    fn note(&mut self, frame: &Json) {
        let text = |pointer: &str| {
            frame.pointer(pointer).and_then(Json::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let (id, model) = match self.kind {
            ProviderKind::Openai => ("/id", "/model"),
            ProviderKind::OpenaiResponses => ("/response/id", "/response/model"),
            ProviderKind::Anthropic => ("/message/id", "/message/model"),
            ProviderKind::Gemini => ("/responseId", "/modelVersion"),
        };
        self.response = self.response.take().or_else(|| text(id));
        self.model = self.model.take().or_else(|| text(model));
        match self.kind {
            ProviderKind::Openai => {
                for call in ["/choices/0/delta/tool_calls", "/choices/0/message/tool_calls"]
                    .iter()
                    .filter_map(|list| frame.pointer(list).and_then(Json::as_array))
                    .flatten()
                {
                    let named =
                        ["/function/name", "/custom/name"].iter().any(|name| call.pointer(name).is_some());
                    let index = call.get("index").and_then(Json::as_u64).unwrap_or(u64::MAX);
                    self.call(named, Some(index), call.get("id"));
                }
            }
            ProviderKind::OpenaiResponses => {
                let item = frame.get("item").filter(|item| item.get("name").is_some());
                if let Some(item) = item {
                    self.call(true, Some(0), item.get("call_id"));
                }
            }
            ProviderKind::Anthropic => {
                let block = frame.get("content_block").filter(|block| is_type(block, "tool_use"));
                if let Some(block) = block {
                    self.call(true, None, block.get("id"));
                }
            }
            ProviderKind::Gemini => {
                let parts = frame.pointer("/candidates/0/content/parts").and_then(Json::as_array);
                for call in parts.into_iter().flatten().filter_map(|part| part.get("functionCall")) {
                    self.call(true, None, call.get("id"));
                }
            }
        }
    }

    /// A call begins; one with an index is told again and again.
    fn call(&mut self, named: bool, index: Option<u64>, id: Option<&Json>) {
        let id = match id {
            Some(Json::String(id)) if !id.is_empty() && id != "null" => Some(id.clone()),
            Some(Json::Number(id)) => Some(id.to_string()),
            _ => None,
        };
        if named && index.is_none_or(|index| self.known.insert((index, id.clone()))) {
            self.calls.push_back(id);
        }
    }
}

fn is_type(value: &Json, kind: &str) -> bool {
    value.get("type").and_then(Json::as_str) == Some(kind)
}
