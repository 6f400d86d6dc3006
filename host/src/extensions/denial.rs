use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::log::{LogLevel, LogSource, Logger};

/// Denials of an instance that the operator reads of one by one; further ones are only counted.
const REPORTED: u64 = 16;

/// Bytes of what is told of one: guests choose names and labels.
const TOLD: usize = 400;

/// What an instance wanted and was not granted: told and counted.
#[derive(Clone)]
pub(super) struct Denials {
    extension: Arc<str>,
    logger: Logger,
    count: Arc<AtomicU64>,
}

impl Denials {
    pub(super) fn new(extension: Arc<str>, logger: Logger) -> Self {
        Self { extension, logger, count: Arc::default() }
    }

    /// One more.
    pub(super) fn note(&self, what: &str) {
        let extension = &*self.extension;
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        if count <= REPORTED {
            let what = &what[..what.floor_char_boundary(TOLD)];
            tracing::warn!(extension, "{what}");
            self.logger.log(LogLevel::Warn, LogSource::Host, what.to_owned());
        }
        if count == REPORTED {
            tracing::warn!(
                extension,
                "that was denial {REPORTED} of one instance: further ones are only counted"
            );
        }
    }

    /// How many so far.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}
