//! The scripted model of a case: one answer a request, the last repeats, whichever model is asked.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use lathe::model::{LanguageModel, ModelError, ModelErrorKind, ModelEvent, ModelStream};
use lathe::turn::{FinishReason, ModelCall, Usage};

use super::queue::Queue;
use super::record::Record;
use super::script::{Answer, Delta, When};

/// What all models of a case share.
pub(crate) struct Answers {
    pub(crate) script: Vec<Answer>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) record: Arc<Record>,
}

pub(crate) struct CaseModel {
    pub(crate) id: String,
    pub(crate) answers: Arc<Answers>,
}

impl fmt::Debug for CaseModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaseModel").field("id", &self.id).finish_non_exhaustive()
    }
}

enum Step {
    Hold(u64),
    Event(ModelEvent),
    Error(String),
    /// That many text deltas are out.
    Deltas(usize),
}

impl Answer {
    fn steps(&self, model: &str) -> VecDeque<Step> {
        let mut steps = VecDeque::new();
        for delta in &self.reasoning {
            match delta {
                Delta::Hold(ms) => steps.push_back(Step::Hold(*ms)),
                Delta::Text(text) => {
                    let id = "reasoning".to_owned();
                    steps.push_back(Step::Event(ModelEvent::ReasoningDelta { id, delta: text.clone() }));
                }
            }
        }
        frame(
            &mut steps,
            ModelEvent::ReasoningStart { id: "reasoning".into() },
            ModelEvent::ReasoningEnd { id: "reasoning".into(), provider_metadata: None },
        );
        let mut texts = VecDeque::new();
        let mut count = 0;
        for delta in &self.text {
            match delta {
                Delta::Hold(ms) => texts.push_back(Step::Hold(*ms)),
                Delta::Text(text) => {
                    let id = "text".to_owned();
                    texts.push_back(Step::Event(ModelEvent::TextDelta { id, delta: text.clone() }));
                    count += 1;
                    texts.push_back(Step::Deltas(count));
                }
            }
        }
        frame(
            &mut texts,
            ModelEvent::TextStart { id: "text".into() },
            ModelEvent::TextEnd { id: "text".into(), provider_metadata: None },
        );
        steps.append(&mut texts);
        steps.extend(self.tool_calls.iter().map(|call| {
            Step::Event(ModelEvent::ToolCall {
                id: call.id.clone(),
                tool_name: call.name.clone(),
                input: call.input.as_str().map_or_else(|| call.input.to_string(), str::to_owned),
                provider_metadata: None,
            })
        }));
        let calls = !self.tool_calls.is_empty();
        let end = if calls { FinishReason::ToolCalls } else { FinishReason::Stop };
        match &self.stream_error {
            Some(error) => steps.push_back(Step::Error(error.clone())),
            None if self.no_finish => {}
            None => steps.push_back(Step::Event(ModelEvent::Finish {
                reason: self.finish.unwrap_or(end),
                raw_reason: None,
                usage: Usage::default(),
                provider_metadata: None,
            })),
        }
        // Who answers is told with the first words, if there are any.
        if let Some(first) = steps.iter().position(|step| matches!(step, Step::Event(_))) {
            let metadata = ModelEvent::ResponseMetadata { id: None, model_id: Some(model.to_owned()) };
            steps.insert(first, Step::Event(metadata));
        }
        steps
    }
}

/// Puts a part's deltas between its start and its end.
fn frame(steps: &mut VecDeque<Step>, start: ModelEvent, end: ModelEvent) {
    if !steps.is_empty() {
        steps.push_front(Step::Event(start));
        steps.push_back(Step::Event(end));
    }
}

pub(crate) async fn pause(ms: u64) {
    if ms > 0 {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}

#[async_trait]
impl LanguageModel for CaseModel {
    fn id(&self) -> &str {
        &self.id
    }

    async fn stream(&self, call: ModelCall) -> Result<ModelStream, ModelError> {
        let answers = self.answers.clone();
        let request = answers.record.asked(&self.id, &call);
        answers.queue.act(&When::Request { request, delta: None }).await;
        let script = &answers.script;
        let answer = script.get(request).or(script.last()).cloned().unwrap_or_default();
        pause(answer.hold_ms).await;
        if let Some(error) = answer.error {
            return Err(ModelError::new(ModelErrorKind::Other, error));
        }
        let steps = answer.steps(&self.id);
        let stream = futures::stream::unfold((steps, answers), move |(mut steps, answers)| async move {
            loop {
                let item = match steps.pop_front()? {
                    Step::Hold(ms) => {
                        pause(ms).await;
                        continue;
                    }
                    Step::Deltas(count) => {
                        answers.queue.act(&When::Request { request, delta: Some(count) }).await;
                        // A cancelled turn is to hear of it before the next words.
                        tokio::task::yield_now().await;
                        continue;
                    }
                    Step::Event(event) => Ok(event),
                    Step::Error(error) => Err(ModelError::new(ModelErrorKind::Other, error)),
                };
                pause(answer.delay_ms).await;
                return Some((item, (steps, answers)));
            }
        });
        Ok(stream.boxed())
    }
}
