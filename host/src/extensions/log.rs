use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::bridge::Bridge;
use super::state::Identity;

/// Something that an extension has logged, or that the host notes of it for its author.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogRecord {
    /// How important it is.
    pub level: LogLevel,
    /// Who says it.
    pub source: LogSource,
    /// The session; empty outside of any.
    pub session: String,
    /// The host's id of the turn.
    pub request_id: String,
    /// With a failure: its cause in one word ([`Failure::kind`](crate::hooks::Failure::kind)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// In words.
    pub message: String,
}

/// How important a log record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "known by their names")]
pub enum LogLevel {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

impl LogLevel {
    /// In one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Trace => "trace",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// Who has made a log record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LogSource {
    /// The extension itself.
    Guest,
    /// The host: what it failed with, what it was refused.
    Host,
}

/// Keeps what one instance logs.
#[derive(Clone)]
pub(super) struct Logger {
    extension: Arc<str>,
    session: Arc<str>,
    request_id: Arc<str>,
    bridge: Arc<dyn Bridge>,
}

impl Logger {
    pub(super) fn new(identity: &Identity, bridge: Arc<dyn Bridge>) -> Self {
        Self {
            extension: identity.extension.clone(),
            session: identity.session.clone(),
            request_id: identity.request_id.clone(),
            bridge,
        }
    }

    pub(super) fn log(&self, level: LogLevel, source: LogSource, message: String) {
        let record = LogRecord {
            level,
            source,
            session: self.session.to_string(),
            request_id: self.request_id.to_string(),
            failure: None,
            message,
        };
        self.bridge.log(&self.extension, record);
    }
}
