use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::turn::Json;

/// What a tool may know about its call, and say while it runs.
#[derive(Clone)]
pub struct CallContext {
    /// The session.
    pub session: String,
    /// The turn.
    pub request_id: String,
    /// The message that holds the call.
    pub message_id: String,
    /// The step, from 0.
    pub step_number: u32,
    /// The call.
    pub tool_call_id: String,
    /// Set when the turn is cancelled. A tool that returns soon after, with a result or an error, is heard; one that
    /// does not is dropped.
    pub cancelled: CancellationToken,
    progress: Arc<dyn Fn(Json) + Send + Sync>,
}

impl CallContext {
    /// For a call whose preliminary results go to `progress`.
    pub fn new(
        session: impl Into<String>,
        request_id: impl Into<String>,
        message_id: impl Into<String>,
        step_number: u32,
        tool_call_id: impl Into<String>,
        cancelled: CancellationToken,
        progress: impl Fn(Json) + Send + Sync + 'static,
    ) -> Self {
        Self {
            session: session.into(),
            request_id: request_id.into(),
            message_id: message_id.into(),
            step_number,
            tool_call_id: tool_call_id.into(),
            cancelled,
            progress: Arc::new(progress),
        }
    }

    /// Shows how far the tool has got: a preliminary result, for hooks and clients alone. After the tool has returned it
    /// does nothing.
    pub fn progress(&self, output: Json) {
        (self.progress)(output);
    }

    /// The same for every attempt at this call, also after a crash, and for no other call.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        format!("{}/{}/{}", self.session, self.message_id, self.tool_call_id)
    }
}

/// What a tool answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolAnswer {
    /// What the model reads.
    pub output: Json,
    /// What hooks and clients are told beyond it.
    pub details: Option<Json>,
    /// End the turn after this step, if every call of the step says so.
    pub terminate: bool,
}

impl From<Json> for ToolAnswer {
    fn from(output: Json) -> Self {
        Self { output, details: None, terminate: false }
    }
}
