//! What fuzzers call: what guests and their manifests may say, given to the host's own functions.
//!
//! Each function takes any bytes, panics if the host does what it must never do, and tells whether the host took what it
//! was given. `tests/tests/fuzz.rs` plays a corpus of such inputs, `fuzz/` looks for new ones. Only with the feature
//! `fuzzing`; nothing of the host uses it.
//!
//! [`component`] takes a file. The others take text, a line for each field: its name, a space, its value, in which `↵`
//! stands for a new line. Lines with other names count for nothing, so that most mutations of a good input are not
//! simply wrong.

mod component;
mod config;
mod guest;
mod line;
mod manifest;

pub use super::network::fuzzing::url;
pub use component::component;
pub use config::config;
pub use manifest::manifest;

pub(super) use line::{Line, lines};
