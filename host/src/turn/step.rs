use serde::{Deserialize, Serialize};

use super::{Answer, AnswerPart, ModelMessage, Part, Role, ToolCall, ToolRecord};

/// One finished step, or the broken last one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepRecord {
    /// What the model said.
    pub answer: Answer,
    /// What its tool calls came to, in source order.
    pub records: Vec<ToolRecord>,
}

impl StepRecord {
    /// Adds what the model is shown of the step in the next ones.
    pub(super) fn push_messages(&self, messages: &mut Vec<ModelMessage>) {
        let answered =
            |call: &ToolCall| self.records.iter().any(|record| record.call.tool_call_id == call.tool_call_id);
        let said: Vec<Part> = self
            .answer
            .parts
            .iter()
            .filter_map(|part| {
                Some(match part {
                    AnswerPart::Text { text, provider_metadata, .. } => {
                        Part::Text { text: text.clone(), provider_options: provider_metadata.clone() }
                    }
                    AnswerPart::Reasoning { text, provider_metadata, .. } => {
                        Part::Reasoning { text: text.clone(), provider_options: provider_metadata.clone() }
                    }
                    AnswerPart::ToolCall(call) if answered(call) => Part::ToolCall {
                        tool_call_id: call.tool_call_id.clone(),
                        tool_name: call.tool_name.clone(),
                        input: call.input.clone(),
                        provider_options: call.provider_metadata.clone(),
                    },
                    AnswerPart::ToolCall(_) | AnswerPart::Source { .. } => return None,
                    AnswerPart::File { media_type, url } => {
                        Part::File { media_type: media_type.clone(), url: url.clone(), filename: None }
                    }
                })
            })
            .collect();
        if !said.is_empty() {
            messages.push(ModelMessage { role: Role::Assistant, content: said });
        }
        if !self.records.is_empty() {
            let results = self.records.iter().map(ToolRecord::to_part).collect();
            messages.push(ModelMessage { role: Role::Tool, content: results });
        }
    }
}
