use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use parking_lot::Mutex;
use serde::Deserialize;

use super::{LanguageModel, ModelCall, ModelError, ModelErrorKind, ModelEvent, ModelStream};
use crate::turn::{FinishReason, Json, Usage};

/// A model that plays a script: for tests, and for showing what a host does with a known answer.
///
/// One entry per request, the last repeats. A script is a JSON list of entries, or an object with such a list under
/// `model`.
#[derive(Debug)]
pub struct ScriptedModel {
    id: String,
    script: Script,
    asked: AtomicUsize,
    requests: Arc<Mutex<Vec<ModelCall>>>,
}

/// What a [`ScriptedModel`] plays.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Form {
    List(Vec<ScriptEntry>),
    Object { model: Vec<ScriptEntry> },
}

/// A script, read and known to have an entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Script(Vec<ScriptEntry>);

/// One answer.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ScriptEntry {
    text: Vec<Delta>,
    reasoning: Vec<Delta>,
    tool_calls: Vec<ScriptCall>,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    /// An error after everything above.
    stream_error: Option<String>,
    /// The request is refused.
    error: Option<String>,
    /// Pause before the request is answered.
    hold_ms: u64,
    /// Pause before each part.
    delay_ms: u64,
    /// The stream closes without its end.
    no_finish: bool,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
enum Delta {
    Text(String),
    #[serde(rename_all = "camelCase")]
    Hold {
        hold_ms: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct ScriptCall {
    id: String,
    name: String,
    #[serde(default)]
    input: Json,
}

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("cannot read the script {file}: {error}")]
    Read {
        /// Which.
        file: String,
        /// Why.
        error: std::io::Error,
    },
    /// The text is not a script.
    #[error("the script {0} is not one: {1}")]
    Parse(String, String),
}

impl Script {
    /// Reads a script's JSON.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn parse(json: &str) -> Result<Self, String> {
        let entries = match serde_json::from_str(json) {
            Ok(Form::List(entries) | Form::Object { model: entries }) => entries,
            // The error of an untagged enum says nothing: read again as what it looks like.
            Err(_) => {
                let value: Json = serde_json::from_str(json).map_err(|error| error.to_string())?;
                let list = value.get("model").cloned().unwrap_or(value);
                serde_json::from_value(list).map_err(|error| error.to_string())?
            }
        };
        if entries.is_empty() { Err("it has no entry".into()) } else { Ok(Self(entries)) }
    }
}

impl ScriptedModel {
    /// Plays that script.
    #[must_use]
    pub fn new(id: impl Into<String>, script: Script) -> Self {
        Self { id: id.into(), script, asked: AtomicUsize::new(0), requests: Arc::default() }
    }

    /// Plays a file; its id is `scripted:<file>`.
    ///
    /// # Errors
    ///
    /// If there is no script in it.
    pub fn from_file(file: &Path) -> Result<Self, ScriptError> {
        let name = file.display().to_string();
        let text =
            std::fs::read_to_string(file).map_err(|error| ScriptError::Read { file: name.clone(), error })?;
        let script = Script::parse(&text).map_err(|error| ScriptError::Parse(name.clone(), error))?;
        Ok(Self::new(format!("scripted:{name}"), script))
    }

    /// What it has been asked so far.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelCall> {
        self.requests.lock().clone()
    }
}

enum Step {
    Hold(u64),
    Event(ModelEvent),
    Error(String),
}

impl ScriptEntry {
    fn steps(&self) -> VecDeque<Step> {
        let mut steps = VecDeque::new();
        let mut event = |event| steps.push_back(Step::Event(event));
        event(ModelEvent::ResponseMetadata { id: None, model_id: None });
        if !self.reasoning.is_empty() {
            let id = "reasoning-0".to_owned();
            steps.push_back(Step::Event(ModelEvent::ReasoningStart { id: id.clone() }));
            for delta in &self.reasoning {
                steps.push_back(match delta {
                    Delta::Hold { hold_ms } => Step::Hold(*hold_ms),
                    Delta::Text(text) => {
                        Step::Event(ModelEvent::ReasoningDelta { id: id.clone(), delta: text.clone() })
                    }
                });
            }
            steps.push_back(Step::Event(ModelEvent::ReasoningEnd { id, provider_metadata: None }));
        }
        if !self.text.is_empty() {
            let id = "text-0".to_owned();
            steps.push_back(Step::Event(ModelEvent::TextStart { id: id.clone() }));
            for delta in &self.text {
                steps.push_back(match delta {
                    Delta::Hold { hold_ms } => Step::Hold(*hold_ms),
                    Delta::Text(text) => {
                        Step::Event(ModelEvent::TextDelta { id: id.clone(), delta: text.clone() })
                    }
                });
            }
            steps.push_back(Step::Event(ModelEvent::TextEnd { id, provider_metadata: None }));
        }
        for call in &self.tool_calls {
            steps.push_back(Step::Event(ModelEvent::ToolCall {
                id: call.id.clone(),
                tool_name: call.name.clone(),
                input: call.input.as_str().map_or_else(|| call.input.to_string(), str::to_owned),
                provider_metadata: None,
            }));
        }
        if let Some(error) = &self.stream_error {
            steps.push_back(Step::Error(error.clone()));
        } else if !self.no_finish {
            let calls = !self.tool_calls.is_empty();
            steps.push_back(Step::Event(ModelEvent::Finish {
                reason: self.finish.unwrap_or(if calls {
                    FinishReason::ToolCalls
                } else {
                    FinishReason::Stop
                }),
                raw_reason: None,
                usage: self.usage.unwrap_or(Usage {
                    input_tokens: Some(10),
                    output_tokens: Some(5),
                    total_tokens: Some(15),
                    ..Default::default()
                }),
                provider_metadata: None,
            }));
        }
        steps
    }
}

async fn pause(ms: u64) {
    if ms > 0 {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}

#[async_trait]
impl LanguageModel for ScriptedModel {
    fn id(&self) -> &str {
        &self.id
    }

    async fn stream(&self, request: ModelCall) -> Result<ModelStream, ModelError> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed);
        self.requests.lock().push(request);
        let entries = &self.script.0;
        let entry = entries.get(number).or(entries.last()).cloned().unwrap_or_default();
        pause(entry.hold_ms).await;
        if let Some(error) = entry.error {
            return Err(ModelError::new(ModelErrorKind::Other, error));
        }
        let delay = entry.delay_ms;
        let steps = entry.steps();
        let stream = futures::stream::unfold(steps, move |mut steps| async move {
            loop {
                let item = match steps.pop_front()? {
                    Step::Hold(ms) => {
                        pause(ms).await;
                        continue;
                    }
                    Step::Event(event) => Ok(event),
                    Step::Error(error) => Err(ModelError::new(ModelErrorKind::Other, error)),
                };
                pause(delay).await;
                return Some((item, steps));
            }
        });
        Ok(stream.boxed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn types(model: &ScriptedModel) -> Vec<String> {
        let stream = model.stream(ModelCall::default()).await.unwrap();
        let name = |event| match event {
            Ok(event) => {
                serde_json::to_value::<ModelEvent>(event).unwrap()["type"].as_str().unwrap().to_owned()
            }
            Err(ModelError { message, .. }) => format!("! {message}"),
        };
        stream.map(name).collect().await
    }

    fn model(script: &str) -> ScriptedModel {
        ScriptedModel::new("scripted:test", Script::parse(script).unwrap())
    }

    #[tokio::test]
    async fn entries_are_played_in_order_and_the_last_repeats() {
        let model = model(
            r#"{"model": [{"text": ["a", {"holdMs": 0}, "b"], "toolCalls": [{"id": "c", "name": "t", "input": "{"}]},
                {"streamError": "cut"}]}"#,
        );
        let first = types(&model).await;
        assert_eq!(
            first,
            [
                "response-metadata",
                "text-start",
                "text-delta",
                "text-delta",
                "text-end",
                "tool-call",
                "finish"
            ]
        );
        for _ in 0..2 {
            assert_eq!(types(&model).await, ["response-metadata", "! cut"]);
        }
        assert_eq!(model.requests().len(), 3);
    }

    #[test]
    fn what_is_no_script_is_said_in_words() {
        for bad in ["", "7", "[]", r#"{"model": []}"#, r#"[{"text": "not a list"}]"#] {
            assert!(Script::parse(bad).is_err(), "{bad}");
        }
        assert!(Script::parse(r#"[{"text": 7}]"#).unwrap_err().contains("expected a sequence"));
    }
}
