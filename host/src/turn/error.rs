use serde::{Deserialize, Serialize};

/// Where a turn failed (`think.md` §2.2, `onChatError`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChatStage {
    /// The request could not be read.
    Parse,
    /// A message could not be stored.
    Persist,
    /// Assembly or `before_turn` failed.
    Turn,
    /// The model's stream failed.
    Stream,
    /// Recovery failed.
    Recovery,
    /// The transcript could not be read or repaired.
    Transcript,
}

/// What kind of failure an error is, as far as recovery cares (`classifyChatError`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The conversation is too long for the model.
    ContextOverflow,
    /// Too many requests.
    RateLimit,
    /// It may pass.
    Transient,
    /// It will not pass.
    Fatal,
    /// Nobody knows.
    Unknown,
}
