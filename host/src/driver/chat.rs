use serde::Serialize;

use crate::turn::{ChatStage, ExhaustedReason, RecoveryKind, SubmissionStatus, Trigger, TurnStatus};

/// What operators want to know of turns and what becomes of them, by Think's names (`chat:turn:start` …).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum ChatEvent {
    /// A turn begins.
    #[serde(rename = "chat:turn:start")]
    TurnStart {
        /// The host's id of the turn.
        request_id: String,
        /// What made it start.
        trigger: Trigger,
        /// True if it goes on without a new user message.
        continuation: bool,
    },
    /// A turn is over.
    #[serde(rename = "chat:turn:finish")]
    TurnFinish {
        /// The host's id of the turn.
        request_id: String,
        /// In one word.
        status: TurnStatus,
        /// How long it took, in milliseconds.
        duration_ms: u64,
        /// What happened, with status error.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Where it failed, if that was outside the model's stream.
        #[serde(skip_serializing_if = "Option::is_none")]
        stage: Option<ChatStage>,
    },
    /// Nothing came for too long.
    #[serde(rename = "chat:stream:stalled")]
    StreamStalled {
        /// The host's id of the turn.
        request_id: String,
        /// The limit, in milliseconds.
        timeout_ms: u64,
    },
    /// Calls of the conversation that never got a result have one now.
    #[serde(rename = "chat:transcript:repaired")]
    TranscriptRepaired {
        /// The turn that was about to ask the model.
        request_id: String,
        /// How many messages have changed.
        messages: usize,
    },
    /// A conversation was to be shortened.
    #[serde(rename = "chat:context:compacted")]
    ContextCompacted {
        /// `overflow` or `proactive`.
        reason: &'static str,
        /// Whether it got shorter.
        shortened: bool,
        /// The turn.
        request_id: String,
    },
    /// An interrupted turn was found.
    #[serde(rename = "chat:recovery:detected")]
    RecoveryDetected(RecoveryEvent),
    /// It waits for its next attempt.
    #[serde(rename = "chat:recovery:scheduled")]
    RecoveryScheduled(RecoveryEvent),
    /// An attempt begins.
    #[serde(rename = "chat:recovery:attempt")]
    RecoveryAttempt(RecoveryEvent),
    /// It has come to its end.
    #[serde(rename = "chat:recovery:completed")]
    RecoveryCompleted(RecoveryEvent),
    /// There is nothing to take up, or nobody wants it.
    #[serde(rename = "chat:recovery:skipped")]
    RecoverySkipped {
        /// What it is about.
        #[serde(flatten)]
        recovery: RecoveryEvent,
        /// `awaiting_client_interaction`, `continue_disabled` or `cancelled`.
        reason: &'static str,
    },
    /// It is given up.
    #[serde(rename = "chat:recovery:exhausted")]
    RecoveryExhausted {
        /// What it is about.
        #[serde(flatten)]
        recovery: RecoveryEvent,
        /// Why.
        reason: ExhaustedReason,
    },
    /// The attempt has failed for good.
    #[serde(rename = "chat:recovery:failed")]
    RecoveryFailed {
        /// What it is about.
        #[serde(flatten)]
        recovery: RecoveryEvent,
        /// What happened.
        error: String,
    },
    /// A submission is at another point.
    #[serde(rename = "submission:status")]
    Submission {
        /// Which.
        submission_id: String,
        /// How far it is.
        status: SubmissionStatus,
        /// What happened, with status error.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

/// An interrupted turn that is taken up.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryEvent {
    /// The same for all attempts at one turn.
    pub incident_id: String,
    /// The turn with which it began.
    pub recovery_root_request_id: String,
    /// How it is taken up.
    pub recovery_kind: RecoveryKind,
    /// The attempt, from 1.
    pub attempt: u32,
}

impl ChatEvent {
    /// Says it in the log, too.
    pub(crate) fn log(&self, session: &str) {
        if tracing::enabled!(target: "lathe::chat", tracing::Level::INFO) {
            let text = serde_json::to_string(self).unwrap_or_default();
            tracing::info!(target: "lathe::chat", session, "{text}");
        }
    }
}
