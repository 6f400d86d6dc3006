use serde::{Deserialize, Serialize};

/// What made a turn start (`think.md` §1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// A client's message over the WebSocket.
    WsChat,
    /// A call that waits for the answer.
    Rpc,
    /// The embedding program, or the command line.
    #[default]
    Programmatic,
    /// A durable submission.
    Submission,
    /// A scheduled task.
    Scheduled,
    /// A tool that is an agent itself.
    AgentTool,
    /// A client tool's result or an approval.
    AutoContinuation,
    /// Recovery of a turn that had begun to answer.
    RecoveryContinue,
    /// Recovery of a turn that had not.
    RecoveryRetry,
}
