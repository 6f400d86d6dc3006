use super::bindings::exports::lathe::extension::hooks as wit;
use super::instance::{Instance, guarded};
use super::limits::Limits;
use super::meter::Meter;
use super::size::Size;
use crate::hooks::Failure;

/// A snapshot on its way into a guest.
pub(super) enum Seen {
    BeforeStep(wit::StepSnapshot),
    BeforeToolCall(wit::ToolCallSnapshot),
    AfterToolCall(wit::ToolResultSnapshot),
    StepFinish(wit::StepFinishSnapshot),
    Chunks(Vec<wit::Chunk>),
    ChatResponse(wit::ChatResponseSnapshot),
    ChatError(wit::ChatErrorSnapshot),
}

impl Size for Seen {
    fn size(&self) -> usize {
        match self {
            Self::BeforeStep(snapshot) => snapshot.size(),
            Self::BeforeToolCall(snapshot) => snapshot.size(),
            Self::AfterToolCall(snapshot) => snapshot.size(),
            Self::StepFinish(snapshot) => snapshot.size(),
            Self::Chunks(chunks) => chunks.size(),
            Self::ChatResponse(snapshot) => snapshot.size(),
            Self::ChatError(snapshot) => snapshot.size(),
        }
    }
}

impl Seen {
    /// Calls the hook. What a gate would answer does not count: it was not granted.
    pub(super) async fn show(
        &self,
        instance: &mut Instance,
        meter: &mut Meter,
        limits: &Limits,
    ) -> Result<Result<(), String>, Failure> {
        guarded!(instance, meter, limits, |guest, store| async {
            let hooks = guest.lathe_extension_hooks();
            Ok(match self {
                Self::BeforeStep(snapshot) => hooks.call_before_step(store, snapshot).await?.map(drop),
                Self::BeforeToolCall(snapshot) => {
                    hooks.call_before_tool_call(store, snapshot).await?.map(drop)
                }
                Self::AfterToolCall(snapshot) => hooks.call_after_tool_call(store, snapshot).await?.map(drop),
                Self::StepFinish(snapshot) => hooks.call_on_step_finish(store, snapshot).await?,
                Self::Chunks(chunks) => hooks.call_on_chunk(store, chunks).await?,
                Self::ChatResponse(snapshot) => hooks.call_on_chat_response(store, snapshot).await?,
                Self::ChatError(snapshot) => hooks.call_on_chat_error(store, snapshot).await?,
            })
        })
    }
}
