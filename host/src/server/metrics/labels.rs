//! The label sets: all of bounded size.

use prometheus_client::encoding::EncodeLabelSet;

use crate::turn::{Trigger, TurnStatus};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Turn {
    pub(super) status: &'static str,
    pub(super) trigger: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Tokens {
    pub(super) model: String,
    pub(super) kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Outcome {
    pub(super) outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Call {
    pub(super) extension: String,
    /// The hook, or `tool`.
    pub(super) hook: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Failed {
    pub(super) extension: String,
    pub(super) hook: &'static str,
    pub(super) cause: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Compaction {
    pub(super) reason: &'static str,
    pub(super) shortened: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Refused {
    pub(super) status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Extension {
    pub(super) extension: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Health {
    pub(super) extension: String,
    pub(super) health: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Build {
    pub(super) version: &'static str,
}

pub(super) fn status(status: TurnStatus) -> &'static str {
    match status {
        TurnStatus::Completed => "completed",
        TurnStatus::Error => "error",
        TurnStatus::Aborted => "aborted",
        TurnStatus::Interrupted => "interrupted",
        TurnStatus::Skipped => "skipped",
    }
}

pub(super) fn trigger(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::WsChat => "ws-chat",
        Trigger::Rpc => "rpc",
        Trigger::Programmatic => "programmatic",
        Trigger::Submission => "submission",
        Trigger::Scheduled => "scheduled",
        Trigger::AgentTool => "agent-tool",
        Trigger::AutoContinuation => "auto-continuation",
        Trigger::RecoveryContinue => "recovery-continue",
        Trigger::RecoveryRetry => "recovery-retry",
    }
}
