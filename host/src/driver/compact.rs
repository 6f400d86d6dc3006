//! Shortening a conversation.

use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt;

use super::{Setup, stream};
use crate::model::{LanguageModel, ModelError, ModelErrorKind};
use crate::session::{CompactionError, Summarizer};
use crate::store::StoreError;
use crate::turn::{Answer, AnswerPart, ModelCall, ModelMessage, Role};

/// Shortens a session's conversation; true if it got shorter. What is said meanwhile is not touched by it.
pub(crate) async fn compact(setup: &Setup, session: &str) -> Result<bool, CompactionError> {
    let failed = |error: StoreError| CompactionError::Store(error.to_string());
    let messages = setup.store.messages(session).await.map_err(failed)?;
    let Some(compaction) = setup.compactor.compact(&messages).await? else { return Ok(false) };
    let shorter = setup.store.compact(session, &compaction).await.map_err(failed)?;
    if shorter {
        // What was written to context blocks since is shown now: the model reads all of it anew anyway.
        setup.store.set_context_prompt(session, None).await.map_err(failed)?;
    }
    Ok(shorter)
}

/// Has a model write summaries, by a plain request: no hook and no extension sees it.
pub(crate) struct ModelSummarizer(pub(crate) Arc<dyn LanguageModel>);

#[async_trait]
impl Summarizer for ModelSummarizer {
    async fn summarize(&self, prompt: String) -> Result<String, CompactionError> {
        let call =
            ModelCall { messages: vec![ModelMessage::text(Role::User, prompt)], ..ModelCall::default() };
        let failed = |error: ModelError| CompactionError::Summary(error.message);
        let mut events = self.0.stream(call).await.map_err(failed)?;
        let mut answer = Answer::default();
        while let Some(event) = events.next().await {
            let event = event.map_err(failed)?;
            let done = matches!(event, crate::model::ModelEvent::Finish { .. });
            stream::take(&mut answer, event);
            if done {
                let texts = answer.parts.iter().filter_map(|part| match part {
                    AnswerPart::Text { text, .. } => Some(&**text),
                    _ => None,
                });
                return Ok(texts.collect());
            }
        }
        Err(failed(ModelError::new(ModelErrorKind::Truncated, "its answer ended without its end")))
    }
}
