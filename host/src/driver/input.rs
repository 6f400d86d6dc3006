use std::sync::Arc;

use super::Active;
use crate::turn::{RanCall, ToolDefinition, TurnStart, UiMessage};

/// What one turn begins with.
pub(crate) struct TurnInput {
    pub(crate) start: TurnStart,
    /// The extensions and tools that it works with.
    pub(crate) active: Arc<Active>,
    pub(crate) arrival: Arrival,
    /// The request with which it all began: the turn's own, or that of the interrupted turn that it takes up.
    pub(crate) root_request_id: String,
    /// The turn whose place in the journal it takes: its own, or the interrupted one's.
    pub(crate) takes_up: String,
    /// The user's messages of the client's request that it answers.
    pub(crate) message_ids: Vec<String>,
    /// Parts that the stored answer has already, where the turn goes on in it.
    pub(crate) base_parts: usize,
    /// Calls of that answer that an interrupted turn has run, and whose results no hook has seen.
    pub(crate) ran: Vec<RanCall>,
    /// The message that the answer is for, if it is not the last one: an answer is made again, as a sibling.
    pub(crate) parent: Option<String>,
    /// The user's messages at the end are shown to the model as one.
    pub(crate) merge: bool,
    /// Tools that the client runs.
    pub(crate) client_tools: Vec<ToolDefinition>,
}

/// The messages that a turn brings.
pub(crate) enum Arrival {
    /// To be stored first of all.
    Now(Vec<UiMessage>),
    /// Stored when they came in, perhaps long before the turn.
    Stored(Vec<UiMessage>),
    /// They could not be stored.
    Failed(String),
}
