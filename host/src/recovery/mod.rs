//! Turns that did not come to their end: what they are worth, how often they are tried again, and what a transcript needs
//! before a model may be shown it.
//!
//! Plain data and pure functions, which may use `turn` alone. The driver and the agent do what they say.

mod budget;
mod incident;
mod overflow;
mod repair;

pub use budget::{ChatRecovery, ContextOverflow, Proactive};
pub use incident::{Incident, Interruption, Waiting};
pub use overflow::is_context_overflow;
pub use repair::{INTERRUPTED, repair};
