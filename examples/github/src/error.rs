//! What can go wrong, in words that tell a model or an operator what to do.

use std::fmt;

use jiff::Timestamp;
use lathe_guest::BridgeError;
use lathe_guest::http::{Response, StatusCode};
use serde::Deserialize;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum GithubError {
    /// No such repository, issue or user; or one that the token may not see, which GitHub does not tell apart.
    NotFound,
    /// Too many requests; when the limit resets, where GitHub says so.
    RateLimited(Option<Timestamp>),
    /// The token is none, or has expired.
    Token,
    /// The operator has not granted the request.
    NotGranted,
    /// Any other refusal, with GitHub's own words.
    Refused(StatusCode, String),
    /// No server answered.
    Unreachable(String),
    /// The answer is not what the API documents.
    Unreadable(String),
}

/// The body of a refusal.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Refusal {
    message: String,
    /// What is wrong in particular, as with a search in a repository that is not there.
    errors: Vec<Detail>,
}

#[derive(Deserialize)]
struct Detail {
    #[serde(default)]
    message: String,
}

impl GithubError {
    /// What an answer without success means.
    pub(crate) fn refused(answer: &Response<Vec<u8>>) -> Self {
        let header = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok());
        let limited = header("x-ratelimit-remaining") == Some("0") || header("retry-after").is_some();
        match answer.status() {
            StatusCode::NOT_FOUND | StatusCode::GONE => Self::NotFound,
            StatusCode::UNAUTHORIZED => Self::Token,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::FORBIDDEN if limited => {
                let reset = header("x-ratelimit-reset").and_then(|seconds| seconds.parse().ok());
                Self::RateLimited(reset.and_then(|seconds| Timestamp::from_second(seconds).ok()))
            }
            status => {
                let refusal: Refusal = serde_json::from_slice(answer.body()).unwrap_or_default();
                let words = [refusal.message]
                    .into_iter()
                    .chain(refusal.errors.into_iter().map(|error| error.message));
                let words: Vec<String> = words.filter(|words| !words.is_empty()).collect();
                Self::Refused(status, words.join(": "))
            }
        }
    }
}

impl From<BridgeError> for GithubError {
    fn from(error: BridgeError) -> Self {
        match error {
            BridgeError::Denied(_) => Self::NotGranted,
            other => Self::Unreachable(other.to_string()),
        }
    }
}

impl fmt::Display for GithubError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("not found on GitHub, or not visible with the operator's token"),
            Self::RateLimited(Some(reset)) => {
                write!(f, "GitHub's rate limit is reached; it resets at {reset}")
            }
            Self::RateLimited(None) => f.write_str("GitHub's rate limit is reached; try again in a minute"),
            Self::Token => f.write_str("GitHub does not accept the operator's token"),
            Self::NotGranted => f.write_str(
                "the operator has not granted api.github.com: add `network = [\"api.github.com\"]` under [extension.github.grant]",
            ),
            Self::Refused(status, message) if message.is_empty() => write!(f, "GitHub answered {status}"),
            Self::Refused(status, message) => write!(f, "GitHub answered {status}: {message}"),
            Self::Unreachable(reason) => write!(f, "GitHub was not reached: {reason}"),
            Self::Unreadable(reason) => write!(f, "GitHub's answer could not be read: {reason}"),
        }
    }
}

impl std::error::Error for GithubError {}
