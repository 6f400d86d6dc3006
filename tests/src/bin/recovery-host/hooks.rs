//! The hooks of a case that are about interrupted turns, and its compaction.

use std::sync::Arc;

use async_trait::async_trait;
use lathe::hooks::{
    ChatErrorContext, ChatRecoveryContext, ChatRecoveryOptions, ExhaustedContext, HookResult, Hooks,
    SubmissionStatusContext, TurnContext,
};
use lathe::session::{Compaction, CompactionError, Compactor};
use lathe::turn::{ErrorClass, TurnConfig, UiMessage};
use lathe_tests::built_in::BuiltIn;
use serde_json::{Value, json};

use crate::record::Record;

pub(crate) struct Recovering {
    pub(crate) host: Value,
    pub(crate) built_in: Arc<BuiltIn>,
    pub(crate) record: Arc<Record>,
}

impl Recovering {
    fn note(&self, mut event: Value) {
        if let Value::Object(fields) = &mut event {
            fields.retain(|_, field| !field.is_null());
        }
        self.record.hook(&event);
    }
}

/// What cases look at.
fn shown(hook: &str, turn: &ChatRecoveryContext<'_>) -> Value {
    json!({
        "hook": hook,
        "incidentId": turn.incident_id,
        "recoveryRootRequestId": turn.recovery_root_request_id,
        "recoveryKind": turn.recovery_kind,
        "attempt": turn.attempt,
        "maxAttempts": turn.max_attempts,
        "partialText": turn.partial_text,
        "partialParts": json!(turn.partial_parts).as_array().into_iter().flatten().map(|part| &part["type"]).collect::<Vec<_>>(),
    })
}

fn roles(messages: &[UiMessage]) -> Value {
    messages.iter().map(|message| json!(message.role)).collect()
}

#[async_trait]
impl Hooks for Recovering {
    async fn before_turn(&self, turn: &TurnContext<'_>) -> HookResult<Option<TurnConfig>> {
        if let Some(stash) = self.host.get("stash") {
            turn.stash.set(stash.clone());
        }
        Ok(None)
    }

    async fn on_chat_recovery(
        &self,
        turn: &ChatRecoveryContext<'_>,
    ) -> HookResult<Option<ChatRecoveryOptions>> {
        let mut event = shown("onChatRecovery", turn);
        event["recoveryData"] = json!(turn.recovery_data);
        event["messages"] = roles(turn.messages);
        self.note(event);
        let answer = self.built_in.act("onChatRecovery", "", "")?;
        Ok(answer.map(|answer| ChatRecoveryOptions {
            persist: answer["persist"] != false,
            go_on: answer["continue"] != false,
        }))
    }

    async fn should_keep_recovering(&self, turn: &ChatRecoveryContext<'_>) -> HookResult<bool> {
        let Some(answer) = self.host["chatRecovery"].get("shouldKeepRecovering") else { return Ok(true) };
        self.note(json!({
            "hook": "shouldKeepRecovering", "recoveryKind": turn.recovery_kind, "attempt": turn.attempt,
        }));
        Ok(*answer != false)
    }

    async fn on_exhausted(&self, turn: &ExhaustedContext<'_>) -> HookResult {
        let mut event = shown("onExhausted", &turn.recovery);
        event["reason"] = json!(turn.reason);
        event["terminalMessage"] = json!(turn.terminal_message);
        self.note(event);
        Ok(())
    }

    fn classify_chat_error(&self, error: &ChatErrorContext<'_>) -> Option<ErrorClass> {
        let mut rules = self.host["classify"].as_array().into_iter().flatten();
        let rule =
            rules.find(|rule| rule["contains"].as_str().is_some_and(|text| error.message.contains(text)))?;
        serde_json::from_value(rule["as"].clone()).ok()
    }

    async fn on_submission_status(&self, submission: &SubmissionStatusContext<'_>) -> HookResult {
        let SubmissionStatusContext { submission_id, status, error, .. } = submission;
        self.note(json!({
            "hook": "onSubmissionStatus", "submissionId": submission_id, "status": status, "error": error,
        }));
        Ok(())
    }
}

/// Puts the case's summary in the place of all messages but the last ones.
pub(crate) struct CaseCompactor {
    pub(crate) compaction: Value,
    pub(crate) record: Arc<Record>,
}

#[async_trait]
impl Compactor for CaseCompactor {
    async fn compact(&self, messages: &[UiMessage]) -> Result<Option<Compaction>, CompactionError> {
        self.record.hook(&json!({"hook": "compaction", "messages": roles(messages)}));
        let keep = self.compaction["keep"].as_u64().and_then(|keep| usize::try_from(keep).ok());
        let (Some(keep), Some(summary)) = (keep, self.compaction["summary"].as_str()) else {
            return Ok(None);
        };
        let old = messages.iter().rev().nth(keep);
        Ok(messages.first().zip(old).map(|(first, last)| Compaction::new(&*first.id, &*last.id, summary)))
    }
}
