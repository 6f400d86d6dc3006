//! What extensions have logged, and what the host notes of them for their authors: JSON lines in files, one file an
//! extension, over restarts.
//!
//! Writing goes on in a thread of its own and holds nobody up. May use the log records of `extensions`; nothing else.

mod file;
mod reader;
mod writer;

use serde::{Deserialize, Serialize};

use crate::extensions::LogRecord;

pub use file::logged;
pub use reader::LogReader;
pub use writer::Logs;

/// A line of an extension's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// When: RFC 3339, in UTC, to the millisecond.
    pub time: String,
    /// What.
    #[serde(flatten)]
    pub record: LogRecord,
}
