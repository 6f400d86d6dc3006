//! The model that is there when no other is: it needs no key and no network, and it is no language model.

mod plan;

use async_trait::async_trait;
use futures::StreamExt;

use super::{LanguageModel, ModelCall, ModelError, ModelEvent, ModelStream};
use crate::turn::{FinishReason, ModelMessage, Part, ResultOutput, Role, Usage};

/// A few rules in place of a model: it looks for words of the prompt in the names and descriptions of the tools on
/// offer, calls the ones that it can fill in, and reads their results out. It says that it is a demo.
#[derive(Clone, Copy, Debug, Default)]
pub struct DemoModel;

impl DemoModel {
    /// The demo model.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

#[async_trait]
impl LanguageModel for DemoModel {
    fn id(&self) -> &'static str {
        "demo"
    }

    async fn stream(&self, request: ModelCall) -> Result<ModelStream, ModelError> {
        let events = answer(&request);
        Ok(futures::stream::iter(events.into_iter().map(Ok)).boxed())
    }
}

fn answer(request: &ModelCall) -> Vec<ModelEvent> {
    let asked = request.messages.iter().rposition(|message| message.role == Role::User);
    let prompt = asked.map(|index| text(&request.messages[index])).unwrap_or_default();
    let results = results(&request.messages[asked.unwrap_or(0)..]);
    let mut events = vec![ModelEvent::ResponseMetadata { id: None, model_id: Some("demo".into()) }];
    let calls = if results.is_empty() { plan::calls(&prompt, &request.tools) } else { Vec::new() };
    let mut written = 0;
    let reason = if calls.is_empty() {
        let reply = if results.is_empty() { no_tool(request) } else { read_out(&results) };
        events.push(ModelEvent::TextStart { id: "0".into() });
        for word in reply.split_inclusive(' ') {
            written += 1;
            events.push(ModelEvent::TextDelta { id: "0".into(), delta: word.to_owned() });
        }
        events.push(ModelEvent::TextEnd { id: "0".into(), provider_metadata: None });
        FinishReason::Stop
    } else {
        let step = request.messages.len();
        for (number, (tool_name, input)) in calls.into_iter().enumerate() {
            let input = input.to_string();
            written += count(&input);
            events.push(ModelEvent::ToolCall {
                id: format!("demo-{step}-{number}"),
                tool_name,
                input,
                provider_metadata: None,
            });
        }
        FinishReason::ToolCalls
    };
    let read = request.messages.iter().map(|message| count(&text(message))).sum::<u64>()
        + request.system.as_deref().map_or(0, count);
    events.push(ModelEvent::Finish {
        reason,
        raw_reason: None,
        // Words, since a demo has no tokens.
        usage: Usage {
            input_tokens: Some(read),
            output_tokens: Some(written),
            total_tokens: Some(read + written),
            ..Default::default()
        },
        provider_metadata: None,
    });
    events
}

fn count(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

fn text(message: &ModelMessage) -> String {
    let texts = message
        .content
        .iter()
        .filter_map(|part| if let Part::Text { text, .. } = part { Some(&**text) } else { None });
    texts.collect::<Vec<_>>().join("\n")
}

/// The results of this turn: which tool, what it was given, what it said.
fn results(messages: &[ModelMessage]) -> Vec<(String, String, ResultOutput)> {
    let parts = || messages.iter().flat_map(|message| &message.content);
    parts()
        .filter_map(|part| {
            let Part::ToolResult { tool_call_id, tool_name, output } = part else { return None };
            let input = parts().find_map(|part| match part {
                Part::ToolCall { tool_call_id: id, input, .. } if id == tool_call_id => {
                    Some(input.to_string())
                }
                _ => None,
            });
            Some((tool_name.clone(), input.unwrap_or_default(), output.clone()))
        })
        .collect()
}

const WHO: &str = "(demo model: a few rules, no language model)";

fn read_out(results: &[(String, String, ResultOutput)]) -> String {
    let mut lines = vec![WHO.to_owned()];
    for (tool, input, output) in results {
        lines.push(match output {
            ResultOutput::ErrorText(error) => format!("{tool}({input}) failed: {error}"),
            ResultOutput::Text(text) => format!("{tool}({input}) = {text}"),
            ResultOutput::Json(value) => format!("{tool}({input}) = {value}"),
        });
    }
    lines.join("\n")
}

fn no_tool(request: &ModelCall) -> String {
    let names: Vec<&str> = request.tools.iter().map(|tool| &*tool.name).collect();
    if names.is_empty() {
        return format!("{WHO}\nThere are no tools on offer, so all I can do is to say that I am here.");
    }
    format!(
        "{WHO}\nNo tool on offer fits the words of that. I see: {}. For real answers choose a model, such as --model openai:NAME.",
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::turn::ToolDefinition;

    fn request(prompt: &str, tools: Vec<ToolDefinition>) -> ModelCall {
        ModelCall { messages: vec![ModelMessage::text(Role::User, prompt)], tools, ..Default::default() }
    }

    fn said(events: &[ModelEvent]) -> String {
        events
            .iter()
            .filter_map(
                |event| if let ModelEvent::TextDelta { delta, .. } = event { Some(&**delta) } else { None },
            )
            .collect()
    }

    #[test]
    fn it_reads_results_out_and_says_what_it_is() {
        let mut request = request("What is 1 + 1?", vec![]);
        for (role, part) in [
            (
                Role::Assistant,
                json!({"type": "tool-call", "toolCallId": "a", "toolName": "calc", "input": {"x": "1 + 1"}}),
            ),
            (
                Role::Tool,
                json!({"type": "tool-result", "toolCallId": "a", "toolName": "calc", "output": {"type": "json", "value": 2}}),
            ),
        ] {
            request
                .messages
                .push(ModelMessage { role, content: vec![serde_json::from_value(part).unwrap()] });
        }
        let events = answer(&request);
        assert_eq!(said(&events), format!("{WHO}\ncalc({{\"x\":\"1 + 1\"}}) = 2"));
        assert!(matches!(events.last(), Some(ModelEvent::Finish { reason: FinishReason::Stop, .. })));
    }

    #[test]
    fn with_nothing_to_do_it_says_so() {
        assert!(said(&answer(&request("hello", vec![]))).contains("no tools on offer"));
        assert!(said(&answer(&ModelCall::default())).contains("demo"));
    }
}
