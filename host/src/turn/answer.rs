use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Chunk, FinishReason, ProviderMetadata, ToolCall, Usage};

/// What a model said in one step, gathered from its chunks; also the partial answer of a broken stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Answer {
    /// In the order in which they began.
    pub parts: Vec<AnswerPart>,
    /// Why the model stopped.
    pub finish_reason: FinishReason,
    /// The provider's own word for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_finish_reason: Option<String>,
    /// What the step cost.
    pub usage: Usage,
    /// Anything else the provider tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_metadata: Option<ProviderMetadata>,
    /// The provider's id of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The model that really answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_model: Option<String>,
    /// Where the open text and reasoning parts stand in `parts`, by their stream id.
    #[serde(skip)]
    pub(super) open: BTreeMap<String, usize>,
}

/// One part of an [`Answer`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum AnswerPart {
    /// Text.
    Text {
        /// So far.
        text: String,
        /// Whether it is complete.
        done: bool,
        /// To be sent back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Option<ProviderMetadata>,
    },
    /// Reasoning.
    Reasoning {
        /// So far.
        text: String,
        /// Whether it is complete.
        done: bool,
        /// To be sent back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_metadata: Option<ProviderMetadata>,
    },
    /// A tool call.
    ToolCall(ToolCall),
    /// A source that the model used.
    Source {
        /// The provider's id of it.
        id: String,
        /// Where it is.
        url: String,
        /// What it is called.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// A file that the model made.
    File {
        /// IANA media type.
        media_type: String,
        /// A URL, `data:` included.
        url: String,
    },
}

impl Answer {
    /// Takes the next chunk. Chunks that say nothing about the answer's content are left out, and so is a delta or
    /// an end of a part that never began.
    pub fn push(&mut self, chunk: &Chunk) {
        match chunk {
            Chunk::TextStart { id } => {
                self.begin(
                    id,
                    AnswerPart::Text { text: String::new(), done: false, provider_metadata: None },
                );
            }
            Chunk::ReasoningStart { id } => {
                self.begin(
                    id,
                    AnswerPart::Reasoning { text: String::new(), done: false, provider_metadata: None },
                );
            }
            Chunk::TextDelta { id, text: more } | Chunk::ReasoningDelta { id, text: more } => {
                if let Some(AnswerPart::Text { text, .. } | AnswerPart::Reasoning { text, .. }) =
                    self.opened(id)
                {
                    text.push_str(more);
                }
            }
            Chunk::TextEnd { id, provider_metadata: given }
            | Chunk::ReasoningEnd { id, provider_metadata: given } => {
                if let Some(
                    AnswerPart::Text { done, provider_metadata, .. }
                    | AnswerPart::Reasoning { done, provider_metadata, .. },
                ) = self.opened(id)
                {
                    *done = true;
                    provider_metadata.clone_from(given);
                }
                self.open.remove(id);
            }
            Chunk::ToolCall { tool_call_id, tool_name, input, malformed, provider_metadata } => {
                self.parts.push(AnswerPart::ToolCall(ToolCall {
                    tool_call_id: tool_call_id.clone(),
                    tool_name: tool_name.clone(),
                    input: input.clone(),
                    malformed: malformed.clone(),
                    provider_metadata: provider_metadata.clone(),
                }));
            }
            Chunk::Source { id, url, title } => {
                self.parts.push(AnswerPart::Source {
                    id: id.clone(),
                    url: url.clone(),
                    title: title.clone(),
                });
            }
            Chunk::File { media_type, url } => {
                self.parts.push(AnswerPart::File { media_type: media_type.clone(), url: url.clone() });
            }
            Chunk::Start { .. }
            | Chunk::StartStep
            | Chunk::ToolInputStart { .. }
            | Chunk::ToolInputDelta { .. }
            | Chunk::ToolInputEnd { .. }
            | Chunk::ToolResult { .. }
            | Chunk::ToolApprovalRequest { .. }
            | Chunk::ToolError { .. }
            | Chunk::FinishStep { .. }
            | Chunk::Finish { .. }
            | Chunk::Abort
            | Chunk::Error { .. } => {}
        }
    }

    fn begin(&mut self, id: &str, part: AnswerPart) {
        self.open.insert(id.to_owned(), self.parts.len());
        self.parts.push(part);
    }

    fn opened(&mut self, id: &str) -> Option<&mut AnswerPart> {
        self.open.get(id).and_then(|&index| self.parts.get_mut(index))
    }

    /// All text, joined.
    #[must_use]
    pub fn text(&self) -> String {
        self.parts
            .iter()
            .filter_map(|part| if let AnswerPart::Text { text, .. } = part { Some(&**text) } else { None })
            .collect()
    }

    /// All reasoning, joined.
    #[must_use]
    pub fn reasoning_text(&self) -> String {
        self.parts
            .iter()
            .filter_map(
                |part| if let AnswerPart::Reasoning { text, .. } = part { Some(&**text) } else { None },
            )
            .collect()
    }

    /// The tool calls, in source order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts
            .iter()
            .filter_map(|part| if let AnswerPart::ToolCall(call) = part { Some(call) } else { None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str, done: bool) -> AnswerPart {
        AnswerPart::Text { text: text.into(), done, provider_metadata: None }
    }

    #[test]
    fn interleaved_parts_keep_their_own_text() {
        let mut answer = Answer::default();
        for chunk in [
            Chunk::TextStart { id: "a".into() },
            Chunk::ReasoningStart { id: "b".into() },
            Chunk::TextDelta { id: "a".into(), text: "x".into() },
            Chunk::ReasoningDelta { id: "b".into(), text: "hm".into() },
            Chunk::TextDelta { id: "a".into(), text: "y".into() },
            Chunk::TextEnd { id: "a".into(), provider_metadata: None },
            Chunk::TextDelta { id: "a".into(), text: "late".into() },
            Chunk::TextDelta { id: "never".into(), text: "begun".into() },
        ] {
            answer.push(&chunk);
        }
        assert_eq!(
            answer.parts,
            [
                text("xy", true),
                AnswerPart::Reasoning { text: "hm".into(), done: false, provider_metadata: None }
            ]
        );
        assert_eq!(answer.reasoning_text(), "hm");
    }

    #[test]
    fn a_part_id_may_come_again_after_its_end() {
        let mut answer = Answer::default();
        for word in ["one", "two"] {
            answer.push(&Chunk::TextStart { id: "0".into() });
            answer.push(&Chunk::TextDelta { id: "0".into(), text: word.into() });
            answer.push(&Chunk::TextEnd { id: "0".into(), provider_metadata: None });
        }
        assert_eq!(answer.parts, [text("one", true), text("two", true)]);
        assert_eq!(answer.text(), "onetwo");
    }
}
