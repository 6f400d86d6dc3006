//! What a conversation is beyond its messages: how long it is to a model, what stands for the parts of it that are too long
//! ago, and the context blocks that a model is shown before all of it.
//!
//! No I/O. May use `turn`. Who writes a summary, and where it is kept, is the affair of others.

mod blocks;
mod compaction;
mod estimate;

pub use blocks::{ContextBlock, ContextError, ContextMode, ContextProvider};
pub use compaction::{Compaction, CompactionError, Compactor, Summarizer, SummaryCompactor};
pub use estimate::{TokenCounter, estimate_text, estimate_tokens};
