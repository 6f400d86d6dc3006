use serde::{Deserialize, Serialize};

/// How an interrupted turn is taken up again (`think.md` §4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecoveryKind {
    /// Nothing had come: the user's message is asked again.
    Retry,
    /// A part of the answer is there: another turn goes on from it, in the same message.
    Continue,
}

/// Why an interrupted turn is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExhaustedReason {
    /// The process died too often while the turn ran.
    InterruptedAttemptsExceeded,
    /// Too much has been done since the first interruption.
    WorkBudgetExceeded,
    /// Nothing has come for too long.
    NoProgressTimeout,
    /// `should_keep_recovering` said no.
    RecoveryAborted,
    /// Too many attempts in a row brought nothing.
    MaxAttemptsExceeded,
    /// `on_chat_recovery` failed.
    RecoveryError,
}

/// How far a submission is (`think.md` §4.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SubmissionStatus {
    /// It waits.
    Pending,
    /// It is the session's next one, or runs.
    Running,
    /// Its turn has ended well.
    Completed,
    /// It was cancelled.
    Aborted,
    /// Its turn never began.
    Skipped,
    /// Its turn failed, or its outcome is unknown.
    Error,
}

impl SubmissionStatus {
    /// Whether it will not change any more.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }

    /// In one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Aborted => "aborted",
            Self::Skipped => "skipped",
            Self::Error => "error",
        }
    }

    /// From its word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Pending, Self::Running, Self::Completed, Self::Aborted, Self::Skipped, Self::Error]
            .into_iter()
            .find(|status| status.name() == name)
    }
}
