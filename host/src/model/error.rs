use serde::{Deserialize, Serialize};

/// Why a model gave no answer, or only a part of one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
#[serde(rename_all = "camelCase")]
pub struct ModelError {
    /// The class of the failure, by which the host decides what to do.
    pub kind: ModelErrorKind,
    /// What the provider said, or what happened. Never holds a key or a request's URL query.
    pub message: String,
    /// The HTTP status, if there was an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How long the provider asks to wait, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// The class of a [`ModelError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelErrorKind {
    /// Too many requests (429).
    RateLimit,
    /// The provider has a passing trouble (408, 5xx, no connection).
    Unavailable,
    /// The connection ended before the answer did.
    Truncated,
    /// The key is missing, wrong or not enough (401, 403).
    Auth,
    /// The provider does not accept the request (other 4xx).
    InvalidRequest,
    /// The provider sent what nobody can read.
    InvalidResponse,
    /// Anything else.
    Other,
}

impl ModelError {
    /// An error of that class.
    #[must_use]
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), status: None, retry_after_ms: None }
    }

    /// Whether asking again may help, with nothing changed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.kind,
            ModelErrorKind::RateLimit | ModelErrorKind::Unavailable | ModelErrorKind::Truncated
        )
    }

    /// The class that an HTTP status stands for.
    #[must_use]
    pub fn kind_of_status(status: u16) -> ModelErrorKind {
        match status {
            429 => ModelErrorKind::RateLimit,
            401 | 403 => ModelErrorKind::Auth,
            408 | 500..=599 => ModelErrorKind::Unavailable,
            400..=499 => ModelErrorKind::InvalidRequest,
            _ => ModelErrorKind::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_map_to_kinds() {
        for (status, kind, retry) in [
            (429, ModelErrorKind::RateLimit, true),
            (401, ModelErrorKind::Auth, false),
            (400, ModelErrorKind::InvalidRequest, false),
            (404, ModelErrorKind::InvalidRequest, false),
            (408, ModelErrorKind::Unavailable, true),
            (503, ModelErrorKind::Unavailable, true),
            (302, ModelErrorKind::Other, false),
        ] {
            assert_eq!(ModelError::kind_of_status(status), kind, "{status}");
            assert_eq!(ModelError::new(kind, "").is_retryable(), retry, "{status}");
        }
    }
}
