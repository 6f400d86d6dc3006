use super::{
    CallOutcome, Chunk, StepRecord, ToolCall, ToolError, ToolOutput, ToolRecord, UiMessage, UiPart, UiRole,
};

/// The parts that a turn's stream has made so far, as they would be stored: what a crash leaves.
#[must_use]
pub fn partial_parts<'a>(chunks: impl IntoIterator<Item = &'a Chunk>) -> Vec<UiPart> {
    let mut steps: Vec<StepRecord> = Vec::new();
    for chunk in chunks {
        if *chunk == Chunk::StartStep {
            steps.push(StepRecord::default());
        }
        let Some(step) = steps.last_mut() else { continue };
        step.answer.push(chunk);
        match chunk {
            Chunk::ToolResult { tool_call_id, output, preliminary: false, .. } => {
                settle(step, tool_call_id, ToolOutput::Output(output.clone()));
            }
            Chunk::ToolError { tool_call_id, error: ToolError { name, message }, .. } => {
                settle(step, tool_call_id, ToolOutput::Error(ToolError::named(name, message)));
            }
            Chunk::ToolApprovalRequest { tool_call_id, .. } => step.approvals.push(tool_call_id.clone()),
            _ => {}
        }
    }
    let mut message =
        UiMessage { id: String::new(), role: UiRole::Assistant, parts: Vec::new(), metadata: None };
    for step in steps.iter().filter(|step| !step.answer.parts.is_empty()) {
        message.push_step(step);
    }
    message.parts
}

fn settle(step: &mut StepRecord, tool_call_id: &str, output: ToolOutput) {
    let Some(call) = step.answer.tool_calls().find(|call| call.tool_call_id == tool_call_id) else { return };
    let call: ToolCall = call.clone();
    step.records.push(ToolRecord {
        input: call.input.clone(),
        call,
        outcome: CallOutcome::Executed,
        output,
        duration_ms: 0.0,
        terminate: false,
        details: None,
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stream_that_breaks_off_leaves_what_it_has_shown() {
        let chunks: Vec<Chunk> = serde_json::from_value(json!([
            {"type": "start", "messageId": "m"},
            {"type": "start-step"},
            {"type": "text-start", "id": "0"},
            {"type": "text-delta", "id": "0", "text": "looking "},
            {"type": "text-end", "id": "0"},
            {"type": "tool-call", "toolCallId": "a", "toolName": "t", "input": {}},
            {"type": "tool-call", "toolCallId": "b", "toolName": "t", "input": {}},
            {"type": "tool-result", "toolCallId": "a", "toolName": "t", "output": 1, "preliminary": true},
            {"type": "tool-error", "toolCallId": "a", "toolName": "t", "error": {"name": "E", "message": "no"}},
            {"type": "start-step"},
            {"type": "text-start", "id": "0"},
            {"type": "text-delta", "id": "0", "text": "so"},
            {"type": "start-step"},
        ]))
        .unwrap();
        assert_eq!(
            json!(partial_parts(&chunks)),
            json!([
                {"type": "step-start"},
                {"type": "text", "text": "looking ", "state": "done"},
                {"type": "tool-t", "toolCallId": "a", "state": "output-error", "input": {}, "errorText": "no"},
                {"type": "tool-t", "toolCallId": "b", "state": "input-available", "input": {}},
                {"type": "step-start"},
                {"type": "text", "text": "so", "state": "streaming"},
            ])
        );
    }
}
