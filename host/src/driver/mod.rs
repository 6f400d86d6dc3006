//! The driver: performs the turn machine's effects against the other rooms. The only place where they meet.

mod active;
mod answers;
mod ask;
mod assemble;
mod blocks;
mod blocktools;
mod bridge;
mod calls;
mod chat;
mod compact;
mod conversation;
mod events;
mod input;
mod journal;
mod overflow;
mod queue;
mod setup;
mod spans;
mod stream;
mod tools;
mod turn;

pub(crate) use active::Active;
pub(crate) use answers::{ClientAnswer, ClientAnswers};
pub(crate) use blocks::Blocks;
pub(crate) use blocktools::check_names;
pub(crate) use bridge::StoreBridge;
pub use chat::{ChatEvent, RecoveryEvent};
pub(crate) use compact::{ModelSummarizer, compact};
pub(crate) use conversation::Conversation;
pub(crate) use events::EventSender;
pub use events::{Retry, SessionEvent, TranscriptEvent, TurnEvent};
pub(crate) use input::{Arrival, TurnInput};
pub(crate) use queue::MessageQueue;
pub use queue::QueueMode;
pub(crate) use setup::{FindModel, Setup};
pub(crate) use turn::{Ended, TurnDriver};
