use super::{ClientAnswers, MessageQueue};

/// What the turns of one session share while the process runs. Everything else of it is in the store.
pub(crate) struct Conversation {
    pub(crate) name: String,
    /// The system prompt, as `configure_session` left it.
    pub(crate) system: String,
    pub(crate) steering: MessageQueue,
    pub(crate) follow_ups: MessageQueue,
    pub(crate) answers: ClientAnswers,
}
