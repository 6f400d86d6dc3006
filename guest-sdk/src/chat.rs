//! The stream as it goes by, and the end of a turn.

pub use crate::bindings::exports::lathe::extension::hooks::{
    ChatErrorSnapshot as ChatError, ChatResponseSnapshot as ChatResponse, Chunk, ChunkType,
    ErrorClassification, ErrorStage, TurnStatus,
};
