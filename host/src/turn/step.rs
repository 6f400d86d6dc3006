use serde::{Deserialize, Serialize};

use super::{Answer, AnswerPart, ModelMessage, Part, Role, Taken, ToolCall, ToolRecord, UiMessage};

/// One finished step, or the broken last one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepRecord {
    /// What the user said in mid-turn, just before the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken: Option<Taken>,
    /// What the model said.
    pub answer: Answer,
    /// What its tool calls came to, in source order.
    pub records: Vec<ToolRecord>,
    /// Its calls that wait for a person's approval, by their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<String>,
}

impl StepRecord {
    /// Adds the calls that have no result yet to the step's message, if there is one.
    pub(super) fn push_open_calls(&self, messages: &mut Vec<ModelMessage>) {
        let open: Vec<Part> =
            self.answer.tool_calls().filter(|call| !self.answered(call)).map(to_part).collect();
        match messages.last_mut() {
            _ if open.is_empty() => {}
            Some(last) if last.role == Role::Assistant => last.content.extend(open),
            _ => messages.push(ModelMessage { role: Role::Assistant, content: open }),
        }
    }

    fn answered(&self, call: &ToolCall) -> bool {
        self.records.iter().any(|record| record.call.tool_call_id == call.tool_call_id)
    }

    /// Adds what the model is shown of the step in the next ones.
    pub(super) fn push_messages(&self, messages: &mut Vec<ModelMessage>) {
        if let Some(taken) = &self.taken {
            messages.extend(taken.messages.iter().flat_map(UiMessage::to_model));
        }
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
                    AnswerPart::ToolCall(call) if self.answered(call) => to_part(call),
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

fn to_part(call: &ToolCall) -> Part {
    Part::ToolCall {
        tool_call_id: call.tool_call_id.clone(),
        tool_name: call.tool_name.clone(),
        input: call.input.clone(),
        provider_options: call.provider_metadata.clone(),
    }
}
