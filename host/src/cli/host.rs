use std::sync::Arc;

use super::print::Printer;
use super::problem::{self, Problem};
use super::progress::Bar;
use crate::agent::{Agent, BuildError, Session, SessionError};
use crate::config::Config;
use crate::extensions::{Loaded, Loader};
use crate::model::resolve;
use crate::store::{SqliteStore, StoreError};

/// An agent as the configuration describes it, with one session open.
pub(super) struct Host {
    pub(super) session: Session,
    store: SqliteStore,
}

impl Host {
    pub(super) async fn open(config: &Config, session: &str, printer: &mut Printer) -> Result<Self, Problem> {
        let providers = config.providers.clone();
        let models = move |id: &str| resolve(id, &providers, &|name| std::env::var(name).ok());
        // What is quickly told first: the model, then the database, then the extensions.
        let model = models(&config.model)?;
        let store = SqliteStore::open(&config.database()).await?;
        let loaded = load(config).await?;
        printer.loaded(&loaded, config);
        let agent = Agent::builder(Arc::new(store.clone()))
            .model(model)
            .models(move |id| models(id).map_err(|error| error.to_string()))
            .system(&config.system)
            .max_steps(config.max_steps.get())
            .extensions(loaded.extensions)
            .build()?;
        Ok(Self { session: agent.session(session).await?, store })
    }

    pub(super) async fn close(self) {
        self.store.close().await;
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
        .progress(Bar::new()))
}

/// The extensions of the folder. Only one that somebody has named must be there.
pub(super) async fn load(config: &Config) -> Result<Loaded, Problem> {
    let dir = config.extensions_dir();
    if config.extensions.dir.is_none() && !dir.exists() {
        return Ok(Loaded::default());
    }
    loader(config)?.load_dir(dir).await.map_err(|error| problem::folder(dir, &error))
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::new(error.to_string()).hint("--data DIR keeps everything in another folder")
    }
}

impl From<BuildError> for Problem {
    fn from(error: BuildError) -> Self {
        Self::new(error.to_string()).hint("`lathe ext list` shows which extension has which tools")
    }
}

impl From<SessionError> for Problem {
    fn from(error: SessionError) -> Self {
        Self::new(error.to_string()).hint("such as --session work")
    }
}
