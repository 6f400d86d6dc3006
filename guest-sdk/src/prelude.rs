//! Everything that an extension usually names: `use lathe_guest::prelude::*`.

pub use crate::{
    CallContext, ChatError, ChatResponse, Chunk, ChunkType, ContextBlock, Error, ErrorInfo, Extension,
    FinishReason, Hook, Permissions, Result, StepConfig, StepFinish, StepSnapshot, Tool, ToolCall,
    ToolChoice, ToolDecision, ToolError, ToolOutcome, ToolOverride, ToolResult, Tools, TurnConfig,
    TurnSnapshot, TurnStatus, Usage, WorkspaceAccess, context, extension, log, messages, schema, session,
    settings, storage, tools, workspace,
};
pub use schemars::JsonSchema;
pub use serde::{Deserialize, Serialize};
pub use serde_json::{Value, json};
