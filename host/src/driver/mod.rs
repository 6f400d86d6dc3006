//! The driver: performs the turn machine's effects against the other rooms. The only place where they meet.

mod bridge;
mod events;
mod setup;
mod stream;
mod tools;
mod turn;

pub(crate) use bridge::StoreBridge;
pub(crate) use events::EventSender;
pub use events::{Retry, TurnEvent};
pub(crate) use setup::{FindModel, Setup};
pub(crate) use turn::{Ended, TurnDriver};
