//! What a conversation is beyond its messages: how long it is to a model, and what stands for the parts of it that are too
//! long ago.
//!
//! No I/O. May use `turn`. Who writes a summary, and where it is kept, is the affair of others.

mod compaction;
mod estimate;

pub use compaction::{Compaction, CompactionError, Compactor, Summarizer, SummaryCompactor};
pub use estimate::{TokenCounter, estimate_text, estimate_tokens};
