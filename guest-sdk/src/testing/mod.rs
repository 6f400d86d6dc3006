//! A host for tests of an extension: it stands in for the real one, and the same tests run in the real sandbox.
//!
//! ```
//! use lathe_guest::prelude::*;
//! use lathe_guest::testing::TestHost;
//!
//! #[derive(Default)]
//! struct Counter;
//!
//! #[extension(name = "counter", description = "Counts turns")]
//! impl Extension for Counter {
//!     fn before_turn(&mut self, turn: TurnSnapshot) -> Result<Option<TurnConfig>> {
//!         let turns = storage::increment("turns", 1)?;
//!         let system = format!("{} This is turn {turns}.", turn.system);
//!         Ok(Some(TurnConfig { system: Some(system), ..TurnConfig::default() }))
//!     }
//! }
//!
//! let host = TestHost::<Counter>::new();
//! host.store("turns", "6");
//! let turn = TurnSnapshot { system: "Hi.".to_owned(), ..TurnSnapshot::default() };
//! let config = host.before_turn(turn).unwrap().unwrap();
//! assert_eq!(config.system.unwrap(), "Hi. This is turn 7.");
//! let calls: Vec<String> = host.calls().iter().map(ToString::to_string).collect();
//! assert_eq!(calls, [r#"storage.increment("turns", 1)"#]);
//! ```
//!
//! In `cargo test`, the extension runs in the test's own process, as ordinary code, and this module is its host. With
//! `lathe test --sandbox`, or with [`TestHost::sandboxed`], the component runs in the host's sandbox instead, with its limits;
//! what is stored and set stays here, so a test sees no difference. What does differ:
//!
//! - There are fuel, deadlines and bounds of memory in the sandbox alone. A call that breaks one fails the test, as a panic
//!   does in either.
//! - Settings are checked against the extension's schema in the sandbox alone; in both, settings that do not fit are the
//!   error of the call.
//! - Environment variables are those of the test's process in both, and clocks and chance are the machine's.

mod call;
mod convert;
pub(crate) mod double;
mod host;
mod reply;
mod rights;
mod sandbox;
mod state;

use std::cell::RefCell;

pub use crate::bindings::lathe::extension::log::Level;
pub use call::Call;
pub use host::TestHost;
pub use reply::Reply;
pub use state::Record;

/// The session of a test.
pub(crate) const SESSION: &str = "test";

thread_local! {
    pub(crate) static STATE: RefCell<state::State> = RefCell::default();
}

const LEVELS: [(Level, &str); 5] = [
    (Level::Trace, "trace"),
    (Level::Debug, "debug"),
    (Level::Info, "info"),
    (Level::Warn, "warn"),
    (Level::Error, "error"),
];

pub(crate) fn level_name(level: Level) -> &'static str {
    LEVELS.iter().find(|(other, _)| *other == level).map_or("error", |(_, name)| name)
}

pub(crate) fn level_of(name: &str) -> Level {
    LEVELS.iter().find(|(_, other)| *other == name).map_or(Level::Error, |(level, _)| *level)
}
