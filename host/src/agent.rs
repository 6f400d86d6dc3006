//! What an embedder sees: an agent, its sessions, and the turns in them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

use crate::driver::{Ended, EventSender, FindModel, Setup, StoreBridge, TurnDriver};
pub use crate::driver::{Retry, TurnEvent};
use crate::extensions::{Bridge, Extension};
use crate::hooks::{HookError, Hooks, SessionConfig};
use crate::model::{DemoModel, LanguageModel};
use crate::store::Store;
use crate::tools::{NameTaken, Tool, ToolSet};
use crate::turn::{ChatStage, Trigger, TurnEnd, TurnStart, TurnStatus, UiMessage, Usage};

/// The most steps of a turn, unless set.
pub const MAX_STEPS: u32 = 10;

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
/// let result = session.send("Hello!").finish().await;
/// assert!(result.text.contains("demo"));
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Clone)]
pub struct Agent {
    setup: Arc<Setup>,
    system: String,
    /// One turn at a time in a session, first come, first served.
    sessions: Arc<Mutex<HashMap<String, Arc<AsyncMutex<()>>>>>,
}

/// Builds an [`Agent`].
pub struct AgentBuilder {
    model: Arc<dyn LanguageModel>,
    models: Box<FindModel>,
    system: String,
    max_steps: u32,
    tools: Vec<Arc<dyn Tool>>,
    hooks: Vec<Arc<dyn Hooks>>,
    extensions: Vec<Arc<Extension>>,
    store: Arc<dyn Store>,
}

/// Why an agent cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Two tools have one name.
    #[error(transparent)]
    Tool(#[from] NameTaken),
}

impl AgentBuilder {
    /// The model that is asked; the demo model unless set.
    #[must_use]
    pub fn model(mut self, model: Arc<dyn LanguageModel>) -> Self {
        self.model = model;
        self
    }

    /// Finds the other models that hooks may ask for by id; none unless set.
    #[must_use]
    pub fn models(
        mut self,
        find: impl Fn(&str) -> Result<Arc<dyn LanguageModel>, String> + Send + Sync + 'static,
    ) -> Self {
        self.models = Box::new(find);
        self
    }

    /// The system prompt; empty unless set.
    #[must_use]
    pub fn system(mut self, system: impl Into<String>) -> Self {
        self.system = system.into();
        self
    }

    /// The most steps of a turn; [`MAX_STEPS`] unless set, at least 1.
    #[must_use]
    pub fn max_steps(mut self, steps: u32) -> Self {
        self.max_steps = steps.max(1);
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds built-in hooks, after those that are there.
    #[must_use]
    pub fn hooks(mut self, hooks: Arc<dyn Hooks>) -> Self {
        self.hooks.push(hooks);
        self
    }

    /// Adds extensions, in the order in which they are called.
    #[must_use]
    pub fn extensions(mut self, extensions: impl IntoIterator<Item = Arc<Extension>>) -> Self {
        self.extensions.extend(extensions);
        self
    }

    /// Builds it.
    ///
    /// # Errors
    ///
    /// If two tools have one name.
    pub fn build(self) -> Result<Agent, BuildError> {
        let bridge: Arc<dyn Bridge> = Arc::new(StoreBridge(self.store.clone()));
        let mut tools = ToolSet::default();
        let of_extensions = self.extensions.iter().flat_map(|extension| extension.tools(&bridge));
        for tool in self.tools.into_iter().chain(of_extensions) {
            tools.add(tool)?;
        }
        let setup = Setup {
            model: self.model,
            models: self.models,
            max_steps: self.max_steps,
            tools,
            hooks: self.hooks.into(),
            extensions: self.extensions,
            store: self.store,
            bridge,
        };
        Ok(Agent { setup: Arc::new(setup), system: self.system, sessions: Arc::default() })
    }
}

/// Why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The name is not usable.
    #[error("\"{}\" is no name for a session: it needs 1 to 200 characters, none of them a control character", .0.escape_debug())]
    Name(String),
    /// A `configure_session` hook failed.
    #[error("the session could not be set up: {0}")]
    Hook(String),
}

impl From<HookError> for SessionError {
    fn from(error: HookError) -> Self {
        Self::Hook(error.to_string())
    }
}

impl Agent {
    /// Begins an agent whose sessions are kept in `store`.
    #[must_use]
    pub fn builder(store: Arc<dyn Store>) -> AgentBuilder {
        AgentBuilder {
            model: Arc::new(DemoModel::new()),
            models: Box::new(|id| Err(format!("there is no model \"{id}\""))),
            system: String::new(),
            max_steps: MAX_STEPS,
            tools: Vec::new(),
            hooks: Vec::new(),
            extensions: Vec::new(),
            store,
        }
    }

    /// Opens a session; a conversation of that name goes on.
    ///
    /// # Errors
    ///
    /// If the name is not usable, or a `configure_session` hook fails.
    pub async fn session(&self, name: &str) -> Result<Session, SessionError> {
        if name.is_empty() || name.chars().count() > 200 || name.chars().any(char::is_control) {
            return Err(SessionError::Name(name.to_owned()));
        }
        let mut config = SessionConfig { name: name.to_owned(), system: self.system.clone() };
        for hooks in self.setup.hooks.iter() {
            config = hooks.configure_session(config).await?;
        }
        let turns = {
            let mut sessions = self.sessions.lock();
            // Nobody holds these any more.
            sessions.retain(|_, turns| Arc::strong_count(turns) > 1);
            sessions.entry(name.to_owned()).or_default().clone()
        };
        Ok(Session { setup: self.setup.clone(), name: name.to_owned(), system: config.system, turns })
    }
}

/// One conversation.
#[derive(Clone)]
pub struct Session {
    setup: Arc<Setup>,
    name: String,
    system: String,
    turns: Arc<AsyncMutex<()>>,
}

impl Session {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Starts a turn with a user's message. It waits for the turns before it, and runs whether or not its stream is
    /// read. Must be called within a tokio runtime.
    #[must_use = "dropping the stream cancels the turn"]
    pub fn send(&self, text: impl Into<String>) -> TurnStream {
        let (sender, events) = mpsc::unbounded_channel();
        let cancel = CancellationToken::new();
        let start = TurnStart {
            request_id: Uuid::now_v7().to_string(),
            message_id: Uuid::now_v7().to_string(),
            trigger: Trigger::Programmatic,
            continuation: false,
            body: None,
            max_steps: self.setup.max_steps,
        };
        let request_id = start.request_id.clone();
        let driver = TurnDriver::new(
            self.setup.clone(),
            self.name.clone(),
            self.system.clone(),
            Some(UiMessage::user(Uuid::now_v7().to_string(), text)),
            start,
            EventSender(sender),
            cancel.clone(),
        );
        let turns = self.turns.clone();
        let task = tokio::spawn(async move {
            let _turn = turns.lock().await;
            driver.run().await
        });
        TurnStream { request_id, events, task, cancel: cancel.drop_guard() }
    }
}

/// A turn that runs. Dropping it cancels the turn; what was said by then is stored.
pub struct TurnStream {
    request_id: String,
    events: mpsc::UnboundedReceiver<TurnEvent>,
    task: JoinHandle<Ended>,
    cancel: DropGuard,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnResult {
    /// The host's id of the turn.
    pub request_id: String,
    /// In one word.
    pub status: TurnStatus,
    /// What happened, with [`TurnStatus::Error`].
    pub error: Option<String>,
    /// Where it failed, if that was outside the model's stream.
    pub stage: Option<ChatStage>,
    /// The answer as stored; none if there is none.
    pub message: Option<UiMessage>,
    /// The answer's text.
    pub text: String,
    /// Of all steps together.
    pub usage: Usage,
    /// How many steps it took.
    pub steps: usize,
}

impl TurnStream {
    /// The next event; none once the turn is over.
    pub async fn next(&mut self) -> Option<TurnEvent> {
        self.events.recv().await
    }

    /// Cancels the turn. It still ends properly: read on, or [`finish`](Self::finish).
    pub fn cancel(&self) {
        self.cancel.token().cancel();
    }

    /// Waits for the end. Events that were not read are lost.
    pub async fn finish(self) -> TurnResult {
        // Kept until the turn is over: dropping it cancels.
        let _cancel = self.cancel;
        match self.task.await {
            Ok(Ended { end: TurnEnd { status, error, stage }, machine }) => {
                let message = machine.message();
                TurnResult {
                    request_id: self.request_id,
                    status,
                    error,
                    stage,
                    text: message.as_ref().map(UiMessage::text).unwrap_or_default(),
                    message,
                    usage: machine.total_usage(),
                    steps: machine.steps().len(),
                }
            }
            // A panic of ours, or the runtime is shutting down.
            Err(error) => TurnResult {
                request_id: self.request_id,
                status: TurnStatus::Error,
                error: Some(format!("the turn broke off: {error}")),
                stage: None,
                message: None,
                text: String::new(),
                usage: Usage::default(),
                steps: 0,
            },
        }
    }
}
