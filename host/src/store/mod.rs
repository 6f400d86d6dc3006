//! What outlives a process: conversations with their context blocks, and what extensions keep.
//!
//! May use `turn` for messages and `session` for what stands for many of them. Knows nothing of hooks, extensions or models.

mod branches;
mod check;
mod compaction;
mod context;
mod health;
mod holder;
mod journal;
mod messages;
mod notes;
mod open;
mod schema;
mod search;
mod sessions;
mod sqlite;
mod storage;
mod submissions;
mod tree;
mod worker;

use std::path::PathBuf;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

pub use check::{Checkup, Fault};
pub use journal::{JournalChange, TurnRecord, Unfinished};
use messages::Window;
pub use search::{HITS, Hit};
pub use sessions::SessionInfo;
pub use sqlite::SqliteStore;
pub use submissions::{Added, NewSubmission, Submission};
pub use tree::Entry;

use crate::session::Compaction;
use crate::turn::{Json, SubmissionStatus, ToolDefinition, UiMessage};

/// Where conversations and extensions' values are kept. Whatever a method has confirmed is there after a crash of the
/// process.
#[async_trait]
pub trait Store: Send + Sync {
    /// The conversation of a session, oldest first: the branch that ends with the newest message; empty if there is
    /// none. Summaries stand in the place of what they are of; see [`compact`](Self::compact).
    async fn messages(&self, session: &str) -> Result<Vec<UiMessage>, StoreError>;

    /// The last messages of the same, as many as have `bytes` together as they are stored; at least one. Where something
    /// is left out they begin with a user's message, if there is one.
    async fn recent(&self, session: &str, bytes: u64) -> Result<Vec<UiMessage>, StoreError>;

    /// The same as it was said: without summaries, with all that they stand for.
    async fn path(&self, session: &str) -> Result<Vec<UiMessage>, StoreError>;

    /// Has one message read in the place of a range of the conversation. Nothing is deleted: a branch that begins within
    /// the range is read with what it comes from. False, and nothing changed, if the conversation would not get shorter.
    ///
    /// # Errors
    ///
    /// If an end of the range is not in the conversation as it is read now, or they are in the wrong order.
    async fn compact(&self, session: &str, compaction: &Compaction) -> Result<bool, StoreError>;

    /// Adds a message, which becomes the end of the conversation: as an answer to the message with the id `parent`, or
    /// to the last one. A message with an id that is there already replaces that one in its place.
    ///
    /// # Errors
    ///
    /// If there is no message with the id `parent`.
    async fn put(&self, session: &str, message: &UiMessage, parent: Option<&str>) -> Result<(), StoreError>;

    /// What the last client request of a session said beyond its message; the default if there was none.
    async fn last_request(&self, session: &str) -> Result<LastRequest, StoreError>;

    /// Stores a client's request in one transaction: its messages at the end of the conversation, and what it says
    /// beyond them.
    async fn receive(&self, session: &str, incoming: Incoming) -> Result<Received, StoreError>;

    /// Has the turns that come offer these tools of the client's, in place of those of its last request.
    async fn set_client_tools(&self, session: &str, tools: Vec<ToolDefinition>) -> Result<(), StoreError>;

    /// Takes a session for this process, and says which of its turns are not over, those that had begun first.
    ///
    /// # Errors
    ///
    /// If another process that lives has it.
    async fn open_session(&self, session: &str) -> Result<Vec<Unfinished>, StoreError>;

    /// The turns of a session that are not over, those that had begun first.
    async fn unfinished(&self, session: &str) -> Result<Vec<Unfinished>, StoreError>;

    /// Lets go of a session, at some time.
    fn release_session(&self, session: &str);

    /// The sessions in which a turn or a submission is not over.
    async fn interrupted(&self) -> Result<Vec<String>, StoreError>;

    /// Stores messages of a turn and changes its journal, in one transaction. `request_id` is the turn's, or that of
    /// the turn that it takes up; `parent` is what the first message answers.
    async fn commit(
        &self,
        session: &str,
        request_id: &str,
        messages: Vec<UiMessage>,
        parent: Option<&str>,
        change: JournalChange,
    ) -> Result<(), StoreError>;

    /// Adds a pack to what a running turn has shown: JSON chunks, a line each. Nothing happens if the turn is over.
    async fn append(
        &self,
        session: &str,
        request_id: &str,
        pack: i64,
        chunks: String,
    ) -> Result<(), StoreError>;

    /// What is kept of the interruptions of a turn, and the time, in milliseconds since 1970.
    async fn incident(&self, session: &str, root: &str) -> Result<(Option<String>, u64), StoreError>;

    /// Keeps it, or forgets it.
    async fn set_incident(
        &self,
        session: &str,
        root: &str,
        incident: Option<String>,
    ) -> Result<(), StoreError>;

    /// Adds a submission, unless its id or its key is there.
    async fn submit(&self, session: &str, new: NewSubmission) -> Result<Added, StoreError>;

    /// One submission.
    async fn submission(&self, session: &str, id: &str) -> Result<Option<Submission>, StoreError>;

    /// The submissions of a session, the newest first, at most 100: all, or those with that status.
    async fn submissions(
        &self,
        session: &str,
        status: Option<SubmissionStatus>,
        limit: u32,
    ) -> Result<Vec<Submission>, StoreError>;

    /// The submissions that are to be taken up, the oldest first.
    async fn open_submissions(&self, session: &str) -> Result<Vec<Submission>, StoreError>;

    /// Changes a submission's status, if it is one of `from`. True if it did.
    async fn set_submission(
        &self,
        session: &str,
        id: &str,
        from: &'static [SubmissionStatus],
        to: SubmissionStatus,
        error: Option<String>,
    ) -> Result<bool, StoreError>;

    /// Deletes submissions whose status is final: one by its id, or those with a status; at most 500. How many.
    async fn delete_submissions(
        &self,
        session: &str,
        id: Option<&str>,
        status: Option<SubmissionStatus>,
        limit: u32,
    ) -> Result<usize, StoreError>;
    /// The conversation that leads to a message, which is its last one, as [`messages`](Self::messages).
    ///
    /// # Errors
    ///
    /// If there is no such message.
    async fn history(&self, session: &str, message: &str) -> Result<Vec<UiMessage>, StoreError>;

    /// The messages that answer what a message answers, itself among them, in the order in which they came.
    ///
    /// # Errors
    ///
    /// If there is no such message.
    async fn siblings(&self, session: &str, message: &str) -> Result<Vec<UiMessage>, StoreError>;

    /// Deletes messages, and the summaries that tell of them; what answered one of them answers what that one answered.
    /// The conversation stands at the newest message that is left. Returns how many there were.
    async fn delete_messages(&self, session: &str, messages: &[String]) -> Result<usize, StoreError>;

    /// Deletes all messages of a session. Its context blocks stay.
    async fn clear(&self, session: &str) -> Result<(), StoreError>;

    /// The messages that say a phrase, in one session or in all, all branches included; the newest first, at most
    /// [`HITS`]. Case and accents do not matter; a phrase without a letter or digit finds nothing.
    async fn search(&self, session: Option<&str>, phrase: &str) -> Result<Vec<Hit>, StoreError>;

    /// What sessions there are, those that have changed last first.
    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError>;

    /// What is known of a session; none if there is no such session.
    async fn session(&self, session: &str) -> Result<Option<SessionInfo>, StoreError>;

    /// Copies a session into a new one named `name`: its conversation up to a message, or all of it, and its context
    /// blocks.
    ///
    /// # Errors
    ///
    /// If there is no such session or message, or the name is taken.
    async fn fork(&self, session: &str, message: Option<&str>, name: &str) -> Result<(), StoreError>;

    /// Gives a session another name.
    ///
    /// # Errors
    ///
    /// If there is no such session, another process that lives has it, or the name is taken.
    async fn rename(&self, session: &str, name: &str) -> Result<(), StoreError>;

    /// Deletes a session with all that belongs to it; false if there was none.
    ///
    /// # Errors
    ///
    /// If another process that lives has it.
    async fn delete(&self, session: &str) -> Result<bool, StoreError>;

    /// All messages of a session with their branches, and its summaries.
    ///
    /// # Errors
    ///
    /// If there is no such session, or a message cannot be read.
    async fn export(&self, session: &str) -> Result<Vec<Entry>, StoreError>;

    /// Makes a session of what another one was exported as; all of it, or nothing.
    ///
    /// # Errors
    ///
    /// If there is a session of that name, a message comes twice, or what it answers does not come before it.
    async fn import(&self, session: &str, entries: Vec<Entry>) -> Result<(), StoreError>;

    /// The value of an extension's key.
    async fn value(&self, extension: &str, key: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Sets an extension's key. False, and nothing changed, if its keys and values would be larger than `limit`
    /// bytes together.
    async fn set_value(
        &self,
        extension: &str,
        key: &str,
        value: &[u8],
        limit: u64,
    ) -> Result<bool, StoreError>;

    /// Removes an extension's key; false if there was none.
    async fn delete_value(&self, extension: &str, key: &str) -> Result<bool, StoreError>;

    /// An extension's keys that start with `prefix`, sorted by their bytes.
    async fn keys(&self, extension: &str, prefix: &str) -> Result<Vec<String>, StoreError>;

    /// Adds to a whole number that is kept as decimal text, in one step; a missing one counts as 0.
    async fn increment(
        &self,
        extension: &str,
        key: &str,
        delta: i64,
        limit: u64,
    ) -> Result<Increment, StoreError>;

    /// What was noted of a session under a key; none if nothing was.
    async fn noted(&self, session: &str, key: &str) -> Result<Option<String>, StoreError>;

    /// Notes something of a session under a key, in place of what was there, until the session is deleted; none forgets
    /// it. A copy of the session does not have it.
    async fn set_noted(&self, session: &str, key: &str, text: Option<&str>) -> Result<(), StoreError>;

    /// The text of a session's context block; none if there is no such block.
    async fn context(&self, session: &str, label: &str) -> Result<Option<String>, StoreError>;

    /// Sets the text of a session's context block. With `create`, it is made if it is not there; without, false is
    /// returned and nothing changed.
    async fn set_context(
        &self,
        session: &str,
        label: &str,
        text: &str,
        create: bool,
    ) -> Result<bool, StoreError>;

    /// What the system prompt says of a session's context blocks, as it was kept; none if it is to be rendered anew.
    async fn context_prompt(&self, session: &str) -> Result<Option<String>, StoreError>;

    /// Keeps what the system prompt says of a session's context blocks, until its messages are deleted; none has it
    /// rendered anew. A session without a message keeps nothing.
    async fn set_context_prompt(&self, session: &str, prompt: Option<&str>) -> Result<(), StoreError>;

    /// What is kept of an extension's health, and how long ago it was written, in milliseconds.
    async fn health(&self, extension: &str) -> Result<Option<(String, u64)>, StoreError>;

    /// Keeps an extension's health, in place of what was there.
    async fn set_health(&self, extension: &str, health: &str) -> Result<(), StoreError>;
}

/// What a client's request says beyond its message (`think.md` §1.3).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LastRequest {
    /// Custom fields, an object.
    pub body: Option<Json>,
    /// Tools that the client runs.
    pub client_tools: Vec<ToolDefinition>,
}

/// What a client sends.
pub struct Incoming {
    /// Says what is to be stored, from the conversation as it is then.
    pub reconcile: Box<Reconcile>,
    /// The turn that is to answer; noted with the messages, and with what the request says beyond them.
    pub turn: TurnRecord,
    /// The id of the only message that `reconcile` looks for; none if it is to be told of all. A long conversation is not
    /// read for a new message.
    pub only: Option<String>,
    /// Custom fields, an object.
    pub body: Option<Json>,
    /// Tools that the client runs; without them those of its last request stay.
    pub client_tools: Option<Vec<ToolDefinition>>,
}

/// Makes the messages to be stored of the conversation.
pub type Reconcile = dyn FnOnce(&[UiMessage]) -> Vec<UiMessage> + Send;

/// What came of [`Store::receive`].
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    /// The messages that are new or have changed.
    pub stored: Vec<UiMessage>,
    /// What the request says beyond them, as it is kept.
    pub last: LastRequest,
}

/// What came of [`Store::increment`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Increment {
    /// The sum, stored.
    Sum(i64),
    /// What is there is no whole number, or the sum does not fit 64 bits. Nothing has changed.
    NotANumber,
    /// The extension's keys and values would be larger than its limit. Nothing has changed.
    Full,
}

/// Why the store did not do it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file, or its folder, cannot be opened.
    #[error("cannot open the database {}: {reason}", .file.display())]
    Open {
        /// Which.
        file: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file was written by a newer host.
    #[error(
        "the database {} was written by a newer version of lathe (schema {found}, this version knows {known}); use that version, or another --data folder", .file.display()
    )]
    Newer {
        /// Which.
        file: PathBuf,
        /// Its schema.
        found: i64,
        /// What this host knows.
        known: i64,
    },
    /// A row is not what this host writes.
    #[error("message \"{message}\" of session \"{session}\" cannot be read: {reason}")]
    Row {
        /// Where.
        session: String,
        /// Which.
        message: String,
        /// What is wrong.
        reason: String,
    },
    /// A message was to answer one that is not there.
    #[error("session \"{session}\" has no message \"{parent}\" that could be answered")]
    Parent {
        /// Where.
        session: String,
        /// Which is missing.
        parent: String,
    },
    /// Another process has the session.
    #[error("session \"{session}\" is in use by another process ({holder})")]
    Held {
        /// Which.
        session: String,
        /// Who has it.
        holder: String,
    },
    /// There is no such session.
    #[error("there is no session \"{0}\"")]
    NoSession(String),
    /// There is a session of that name already.
    #[error("there is a session \"{0}\" already")]
    Taken(String),
    /// There is no such message.
    #[error("session \"{session}\" has no message \"{message}\"")]
    Missing {
        /// Where.
        session: String,
        /// Which.
        message: String,
    },
    /// The store was closed, or its thread could not go on.
    #[error("the database is closed")]
    Closed,
    /// Nothing was written, in the database's words.
    #[error("the database could not write: {0}")]
    Commit(String),
    /// Anything else, in the database's words.
    #[error("the database failed: {0}")]
    Database(#[from] rusqlite::Error),
}
