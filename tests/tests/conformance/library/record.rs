//! What happened, in one order: what hooks are shown, what the model is asked, what the user does, and what the session
//! tells whoever watches it.

use lathe::agent::{SessionEvent, TranscriptEvent, Watcher};
use lathe::hooks::{ChatResponseContext, TurnContext};
use lathe::turn::{AnswerPart, Chunk, ModelCall, ModelMessage, Part, Role, TurnStatus};
use lathe::{Session, TurnEvent};
use lathe_tests::recording::pick_content;
use parking_lot::Mutex;
use serde_json::{Value, json};

#[derive(Default)]
pub(crate) struct Record(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    watch: Option<Watcher>,
    events: Vec<Value>,
    requests: Vec<Value>,
    executions: Vec<Value>,
    answers: Vec<Value>,
    /// The turn that runs.
    request_id: Option<String>,
    /// Its steps that ended properly.
    finished: usize,
    /// The results of the step so far.
    results: Vec<String>,
}

impl Record {
    /// From now on with what that session tells.
    pub(crate) fn watch(&self, session: &Session) {
        self.0.lock().watch = Some(session.watch());
    }

    /// Notes something, after all that has been told so far.
    pub(crate) fn note(&self, entry: Value) {
        let mut inner = self.0.lock();
        let told = inner.told();
        inner.events.extend(told);
        inner.events.push(entry);
    }

    /// The beginning of a turn. Its user's message stands where the turn begins, before those that waited.
    pub(crate) fn turn_begins(&self, turn: &TurnContext<'_>) {
        let mut inner = self.0.lock();
        inner.request_id = Some(turn.request_id.to_owned());
        inner.finished = 0;
        let mut told = inner.told();
        let waited = told.iter().filter(|event| event["event"] == "message_end").count();
        let begun = told.iter().position(|event| event["event"] == "agent_start");
        if let Some(begun) = begun.filter(|_| !turn.continuation)
            && let Some(message) = turn.messages.iter().rev().nth(waited)
        {
            told.insert(begun + 1, user_message(message));
        }
        inner.events.extend(told);
    }

    pub(crate) fn step_finished(&self) {
        self.0.lock().finished += 1;
    }

    /// The end of a turn: who gave its answers, and how each ended.
    pub(crate) fn turn_ends(&self, turn: &ChatResponseContext<'_>) {
        let mut inner = self.0.lock();
        let told = inner.told();
        inner.events.extend(told);
        for (number, step) in turn.steps.iter().enumerate() {
            let said =
                |part: &AnswerPart| !matches!(part, AnswerPart::Source { .. } | AnswerPart::File { .. });
            if !step.answer.parts.iter().any(said) {
                continue;
            }
            let mut answer = json!({"finishReason": step.answer.finish_reason});
            if let Some(model) = &step.answer.response_model {
                answer["model"] = json!(model);
            }
            // The step in which the turn broke off has no end of its own.
            if number >= inner.finished && turn.status != TurnStatus::Completed {
                answer["finishReason"] = json!(turn.status);
                answer["error"] = json!(turn.error.unwrap_or("cancelled"));
            }
            inner.answers.push(answer);
        }
    }

    /// Notes a request, and returns its number.
    pub(crate) fn asked(&self, model: &str, call: &ModelCall) -> usize {
        let mut request = json!({"model": model});
        if let Some(effort) = &call.settings.reasoning_effort {
            request["thinkingLevel"] = json!(effort);
        }
        request["system"] = json!(call.system.as_deref().unwrap_or_default());
        request["messages"] = messages(&call.messages).into();
        request["tools"] = call.tools.iter().map(|tool| json!(tool.name)).collect();
        let number = {
            let mut inner = self.0.lock();
            inner.requests.push(request);
            inner.requests.len() - 1
        };
        self.note(json!({"request": number}));
        number
    }

    /// Notes that a tool runs, and returns which execution it is.
    pub(crate) fn runs(&self, execution: Value) -> usize {
        let mut inner = self.0.lock();
        inner.executions.push(execution);
        inner.executions.len() - 1
    }

    /// Notes that two executions ran at the same time.
    pub(crate) fn beside(&self, one: usize, other: usize) {
        let mut inner = self.0.lock();
        for (one, other) in [(one, other), (other, one)] {
            let id = inner.executions[other]["toolCallId"].clone();
            match &mut inner.executions[one]["beside"] {
                Value::Array(beside) => beside.push(id),
                none => *none = json!([id]),
            }
        }
    }

    /// Whether a call has been executed.
    pub(crate) fn has_run(&self, tool_call_id: &str) -> bool {
        self.0.lock().executions.iter().any(|execution| execution["toolCallId"] == tool_call_id)
    }

    pub(crate) fn request_id(&self) -> Option<String> {
        self.0.lock().request_id.clone()
    }

    /// All of it, in the form of a case's `expect`.
    pub(crate) fn all(&self, turns: &[Value], stored: &[ModelMessage]) -> Value {
        let mut inner = self.0.lock();
        let told = inner.told();
        inner.events.extend(told);
        let mut answers = inner.answers.iter();
        let mut stored = messages(stored);
        for message in stored.iter_mut().filter(|message| message["role"] == "assistant") {
            for (key, value) in answers.next().and_then(Value::as_object).into_iter().flatten() {
                message[key] = value.clone();
            }
        }
        json!({
            "events": inner.events,
            "requests": inner.requests,
            "executions": inner.executions,
            "turns": turns,
            "messages": stored,
        })
    }
}

impl Inner {
    /// What the session has told since, in the library's words.
    fn told(&mut self) -> Vec<Value> {
        let mut told = Vec::new();
        while let Some(event) = self.watch.as_mut().and_then(Watcher::try_next) {
            told.extend(self.words(event));
        }
        told
    }

    fn words(&mut self, event: SessionEvent) -> Option<Value> {
        let chunk = match event {
            SessionEvent::TurnStarted { .. } => return Some(json!({"event": "agent_start"})),
            SessionEvent::Turn { event: TurnEvent::Chunk(chunk), .. } => chunk,
            SessionEvent::Turn {
                event: TurnEvent::Transcript(TranscriptEvent::UserMessage { message }),
                ..
            } => return message.to_model().first().map(user_message),
            _ => return None,
        };
        let update = |kind: &str| json!({"event": "message_update", "type": kind});
        Some(match chunk {
            Chunk::StartStep => {
                self.results.clear();
                json!({"event": "message_start", "role": "assistant"})
            }
            Chunk::TextDelta { text, .. } => with(update("text_delta"), "delta", text.into()),
            Chunk::ReasoningDelta { text, .. } => with(update("thinking_delta"), "delta", text.into()),
            Chunk::ToolCall { tool_call_id, .. } => {
                with(update("toolcall_end"), "toolCallId", tool_call_id.into())
            }
            Chunk::ToolResult { tool_call_id, tool_name, output, preliminary: true, .. } => json!({
                "event": "tool_execution_update",
                "toolName": tool_name,
                "toolCallId": tool_call_id,
                "output": output,
            }),
            Chunk::ToolResult { tool_call_id, tool_name, output, details, .. } => {
                self.results.push(tool_call_id.clone());
                let end = ended(&tool_name, &tool_call_id, false, &text(output));
                details.map_or(end.clone(), |details| with(end, "details", details))
            }
            Chunk::ToolError { tool_call_id, tool_name, error } => {
                self.results.push(tool_call_id.clone());
                ended(&tool_name, &tool_call_id, true, &error.message)
            }
            Chunk::FinishStep { finish_reason, .. } => {
                json!({"event": "turn_end", "finishReason": finish_reason, "toolResults": self.results})
            }
            Chunk::Finish { .. } | Chunk::Abort | Chunk::Error { .. } => json!({"event": "agent_end"}),
            _ => return None,
        })
    }
}

fn ended(tool_name: &str, tool_call_id: &str, is_error: bool, output: &str) -> Value {
    json!({
        "event": "tool_execution_end",
        "toolName": tool_name,
        "toolCallId": tool_call_id,
        "isError": is_error,
        "output": output,
    })
}

fn with(mut event: Value, key: &str, value: Value) -> Value {
    event[key] = value;
    event
}

/// An output as the library has it: a text.
pub(crate) fn text(output: Value) -> String {
    match output {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn user_message(message: &ModelMessage) -> Value {
    json!({"event": "message_end", "message": pick_content(&json!(message))})
}

/// One message for each result, as the library has them.
pub(crate) fn single(messages: &[ModelMessage]) -> Vec<ModelMessage> {
    let parts = |message: &ModelMessage| match message.role {
        Role::Tool => message.content.iter().map(|part| vec![part.clone()]).collect::<Vec<Vec<Part>>>(),
        _ => vec![message.content.clone()],
    };
    let split = |message: &ModelMessage| {
        let role = message.role;
        parts(message).into_iter().map(move |content| ModelMessage { role, content })
    };
    messages.iter().flat_map(split).collect()
}

pub(crate) fn roles(messages: &[ModelMessage]) -> Vec<Role> {
    single(messages).into_iter().map(|message| message.role).collect()
}

fn messages(messages: &[ModelMessage]) -> Vec<Value> {
    single(messages).iter().map(|message| pick_content(&json!(message))).collect()
}
