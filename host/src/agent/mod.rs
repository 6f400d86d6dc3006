//! What an embedder sees: an agent, its sessions, and the turns in them.

#[cfg(feature = "server")]
mod attend;
mod blocks;
mod builder;
mod compact;
mod concurrency;
mod continuation;
mod error;
mod live;
mod output;
mod reconcile;
mod recover;
mod request;
mod session;
mod sessions;
mod stability;
mod stream;
mod submissions;
mod tree;
mod turns;

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

#[cfg(feature = "server")]
pub(crate) use crate::driver::ClientAnswer;
pub use crate::driver::{
    ChatEvent, QueueMode, RecoveryEvent, Retry, SessionEvent, TranscriptEvent, TurnEvent, Watcher,
};
#[cfg(feature = "server")]
pub(crate) use attend::Left;
pub use builder::{AgentBuilder, MAX_STEPS};
pub use concurrency::Concurrency;
pub use error::{AnswerError, BuildError, EntryError, SessionError};
pub use request::ChatRequest;
pub use session::Session;
pub use stream::{Skipped, TurnResult, TurnStream};
pub use submissions::{Receipt, SubmitError, SubmitOptions};

use crate::driver::Setup;
use crate::extensions::{BridgeError, Extension, reset_health};
use crate::hooks::SessionConfig;
use crate::store::Store;
use live::Live;

/// A model, a system prompt, tools, hooks and extensions: built once, for any number of sessions.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::Arc;
/// use lathe::{Agent, store::SqliteStore};
///
/// let folder = tempfile::tempdir()?;
/// let store = Arc::new(SqliteStore::open(&folder.path().join("lathe.db")).await?);
/// let agent = Agent::builder(store).system("You are brief.").build()?;
/// let session = agent.session("ada").await?;
/// let result = session.send("Hello!").await?.finish().await;
/// assert!(result.text.contains("demo"));
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone)]
pub struct Agent {
    setup: Arc<Setup>,
    system: String,
    concurrency: Concurrency,
    /// The sessions that somebody holds.
    sessions: Arc<Mutex<HashMap<String, Weak<Live>>>>,
}

impl Agent {
    /// Begins an agent whose sessions are kept in `store`.
    #[must_use]
    pub fn builder(store: Arc<dyn Store>) -> AgentBuilder {
        AgentBuilder::new(store)
    }

    fn new(setup: Setup, system: String, concurrency: Concurrency) -> Self {
        Self { setup: Arc::new(setup), system, concurrency, sessions: Arc::default() }
    }

    /// Opens a session; a conversation of that name goes on. All who hold one name share its turns.
    ///
    /// # Errors
    ///
    /// If the name is not usable, or a `configure_session` hook fails.
    pub async fn session(&self, name: &str) -> Result<Session, SessionError> {
        let session = self.asleep(name).await?;
        session.live.resume().await?;
        Ok(session)
    }

    /// As [`session`](Self::session), but what an earlier process has left in it waits for [`Session::wake`].
    pub(crate) async fn asleep(&self, name: &str) -> Result<Session, SessionError> {
        Self::check_name(name)?;
        if let Some(live) = self.live(name) {
            live.claim().await?;
            return Ok(Session::new(live));
        }
        let mut config = SessionConfig { name: name.to_owned(), system: self.system.clone() };
        for hooks in self.setup.hooks.iter() {
            config = hooks.configure_session(config).await?;
        }
        let opened = Live::new(self.setup.clone(), name.to_owned(), config.system, self.concurrency);
        let live = {
            let mut sessions = self.sessions.lock();
            sessions.retain(|_, live| live.strong_count() > 0);
            // Somebody else may have been quicker.
            sessions.get(name).and_then(Weak::upgrade).unwrap_or_else(|| {
                let live = Arc::new(opened);
                sessions.insert(name.to_owned(), Arc::downgrade(&live));
                live
            })
        };
        live.claim().await?;
        Ok(Session::new(live))
    }

    /// Opens every session in which an earlier process has left something to do: turns that were cut off or waited, and
    /// submissions. They go on by themselves. A session that cannot be opened is passed over, and said in the log.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn recover(&self) -> Result<Vec<Session>, SessionError> {
        let mut sessions = Vec::new();
        for name in self.interrupted().await? {
            match self.session(&name).await {
                Ok(session) => sessions.push(session),
                Err(error) => tracing::error!("an interrupted session is left alone: {error}"),
            }
        }
        Ok(sessions)
    }

    /// The id of the model that is asked unless a hook chooses another, as `provider:name`.
    #[must_use]
    pub fn model(&self) -> &str {
        self.setup.model.id()
    }

    /// Takes over what is kept of the extensions' health, of those that were not called yet.
    pub async fn refresh_health(&self) {
        for extension in self.extensions() {
            extension.refresh_health(&*self.setup.bridge).await;
        }
    }

    /// Ends the quarantine of an extension and forgets its strikes, in use or not; what it has cost is kept. False if
    /// nothing is known of an extension of that name.
    ///
    /// # Errors
    ///
    /// If what is kept cannot be read or written.
    pub async fn reset_health(&self, name: &str) -> Result<bool, BridgeError> {
        let extensions = self.extensions();
        match extensions.iter().find(|extension| extension.manifest.name == name) {
            Some(extension) => extension.reset_health(&*self.setup.bridge).await.map(|()| true),
            None => reset_health(&*self.setup.bridge, name).await,
        }
    }

    /// The sessions that [`recover`](Self::recover) opens.
    pub(crate) async fn interrupted(&self) -> Result<Vec<String>, SessionError> {
        Ok(self.setup.store.interrupted().await?)
    }

    /// The extensions that the next turn to begin works with, in the order in which they are called.
    #[must_use]
    pub fn extensions(&self) -> Vec<Arc<Extension>> {
        self.setup.active().extensions.clone()
    }

    /// Puts other extensions in the place of those in use, all at once. A turn that runs goes on with those that it began
    /// with, its tool calls too; every turn that begins later has the new ones, also where it runs calls that were
    /// approved before. An extension that is left out is gone from memory when the last turn that uses it has ended. What
    /// extensions have stored is kept by name, so that a new version finds it.
    ///
    /// # Errors
    ///
    /// If two tools have one name. Nothing has changed then.
    pub fn set_extensions(
        &self,
        extensions: impl IntoIterator<Item = Arc<Extension>>,
    ) -> Result<(), BuildError> {
        Ok(self.setup.set_extensions(extensions.into_iter().collect())?)
    }

    /// Refuses what is no name for a session.
    pub(crate) fn check_name(name: &str) -> Result<(), SessionError> {
        if name.is_empty() || name.chars().count() > 200 || name.chars().any(char::is_control) {
            return Err(SessionError::Name(name.to_owned()));
        }
        Ok(())
    }

    fn live(&self, name: &str) -> Option<Arc<Live>> {
        self.sessions.lock().get(name).and_then(Weak::upgrade)
    }
}
