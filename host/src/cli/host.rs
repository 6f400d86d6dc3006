use std::sync::Arc;
use std::time::Duration;

use super::args::Place;
use super::print::Printer;
use super::problem::{self, Problem};
use super::progress::Bar;
use super::reload::{self, Reload, Rest};
use crate::agent::{Agent, BuildError, Session, SessionError};
use crate::config::Config;
use crate::extensions::{Folder, Loaded, Loader};
use crate::logs::Logs;
use crate::model::resolve;
use crate::store::{SqliteStore, StoreError};

/// An agent as the configuration describes it, with one session open.
pub(super) struct Host {
    pub(super) session: Session,
    pub(super) reload: Reload,
    files: Files,
}

/// What is to be closed in the end.
pub(super) struct Files {
    store: SqliteStore,
    logs: Logs,
}

impl Files {
    pub(super) fn logs(&self) -> &Logs {
        &self.logs
    }

    pub(super) async fn close(self) {
        self.logs.flush().await;
        self.store.close().await;
    }
}

impl Host {
    /// `place` is what was typed in the place of what the configuration says, which it says already.
    pub(super) async fn open(
        config: Config,
        place: Place,
        session: &str,
        printer: &mut Printer,
    ) -> Result<Self, Problem> {
        let (agent, reload, files) = Self::build(config, place, printer).await?;
        Ok(Self { session: agent.session(session).await?, reload, files })
    }

    /// The same without a session.
    pub(super) async fn build(
        config: Config,
        place: Place,
        printer: &mut Printer,
    ) -> Result<(Agent, Reload, Files), Problem> {
        let providers = config.providers.clone();
        let models = move |id: &str| resolve(id, &providers, &|name| std::env::var(name).ok());
        // What is quickly told first: the model, then the database, then the extensions.
        let model = models(&config.model)?;
        let store = SqliteStore::open(&config.database()).await?;
        let logs = Logs::new(config.logs())
            .map_err(|error| Problem::new(format!("cannot start a thread for the logs: {error}")))?;
        // Before the extensions: what is asked for while they load is not lost.
        let asked = reload::asked(&config.data);
        let mut folder = folder(&config)?;
        let loaded = match &mut folder {
            Some(folder) => load(folder).await?,
            None => Loaded::default(),
        };
        printer.loaded(&loaded, &config);
        let Loaded { extensions, disabled, errors, .. } = loaded;
        let mut agent = Agent::builder(Arc::new(store.clone()))
            .model(model)
            .models(move |id| models(id).map_err(|error| error.to_string()))
            .system(&config.system)
            .max_steps(config.max_steps.get())
            .chat_recovery(config.recovery.budget())
            .context_overflow(config.context_overflow.policy())
            .extensions(extensions)
            .logs(logs.clone())
            .trace_content(config.telemetry.content);
        if let Some(name) = &config.server.agent {
            agent = agent.name(name);
        }
        if let Some(tokens) = config.compact_after {
            agent = agent.compact_after(tokens.get());
        }
        if let Some(ms) = config.stall_timeout_ms {
            agent = agent.chat_stream_stall_timeout(Duration::from_millis(ms.get()));
        }
        let agent = agent.build()?;
        let rest = Rest { disabled, errors, config };
        let reload = Reload::new(agent.clone(), folder, rest, place, asked);
        Ok((agent, reload, Files { store, logs }))
    }

    pub(super) async fn close(self) {
        self.files.close().await;
    }
}

pub(super) fn loader(config: &Config) -> Result<Loader, Problem> {
    let loader = Loader::new()
        .map_err(|error| Problem::new(format!("this machine cannot run compiled WebAssembly: {error:#}")))?;
    let loader = match config.extensions.instances {
        Some(instances) => loader.instances(instances.get()),
        None => loader,
    };
    Ok(loader
        .cache(config.cache())
        .settings(config.extension_settings())
        .order(config.extensions.order.clone())
        .own(config.file.iter().chain([&config.data]).cloned())
        .progress(Bar::default()))
}

/// The folder of the extensions. Only one that somebody has named must be there.
pub(super) fn folder(config: &Config) -> Result<Option<Folder>, Problem> {
    let dir = config.extensions_dir();
    if config.extensions.dir.is_none() && !dir.exists() {
        return Ok(None);
    }
    Ok(Some(Folder::new(loader(config)?, dir.to_owned())))
}

pub(super) async fn load(folder: &mut Folder) -> Result<Loaded, Problem> {
    let loaded = folder.load().await;
    loaded.map_err(|error| problem::folder(folder.dir(), &error))
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let hint = match &error {
            StoreError::Row { .. }
            | StoreError::Database(_)
            | StoreError::Commit(_)
            | StoreError::Open { .. } => {
                "`lathe doctor` looks the database over; --data DIR keeps everything in another folder"
            }
            StoreError::Taken(_) => "`lathe sessions list` shows the names",
            StoreError::Held { .. } => "end that process, or use another session with --session NAME",
            _ => "--data DIR keeps everything in another folder",
        };
        Self::new(error.to_string()).hint(hint)
    }
}

impl From<BuildError> for Problem {
    fn from(error: BuildError) -> Self {
        Self::new(error.to_string()).hint("`lathe ext list` shows which extension has which tools")
    }
}

impl From<SessionError> for Problem {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Name(_) => Self::new(error.to_string()).hint("a name such as `work` will do"),
            SessionError::Store(error) => error.into(),
            SessionError::Hook(_) | SessionError::InUse(_) => Self::new(error.to_string()),
        }
    }
}
