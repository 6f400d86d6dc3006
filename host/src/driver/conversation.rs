use parking_lot::RwLock;

use super::{ClientAnswers, MessageQueue};
use crate::session::ContextBlock;

/// What the turns of one session share while the process runs. Everything else of it is in the store.
pub(crate) struct Conversation {
    pub(crate) name: String,
    /// The system prompt, as `configure_session` left it.
    pub(crate) system: String,
    /// Context blocks that were added while it runs.
    pub(crate) blocks: RwLock<Vec<ContextBlock>>,
    pub(crate) steering: MessageQueue,
    pub(crate) follow_ups: MessageQueue,
    pub(crate) answers: ClientAnswers,
}
