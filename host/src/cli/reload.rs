//! Extensions that change while a host runs.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::args::Place;
use super::build::{self, Report};
use super::ext::{self, There};
use super::host;
use super::print::Printer;
use super::problem::Problem;
use super::watch::{Change, Watch};
use crate::agent::Agent;
use crate::config::Config;
use crate::extensions::{Folder, Found, LoadError, Loaded};

/// Beside the extensions in use: what else there is, and what the configuration says.
#[derive(Debug)]
pub(super) struct Rest {
    pub(super) disabled: Vec<Found>,
    pub(super) errors: Vec<LoadError>,
    pub(super) config: Config,
}

/// Takes the extensions anew, between turns, once somebody asks for it.
pub(super) struct Reload {
    agent: Agent,
    /// None as long as there is no folder and none is named.
    folder: Option<Folder>,
    config: Config,
    place: Place,
    data: PathBuf,
    asked: u64,
    watch: Option<Watch>,
    rest: Arc<Mutex<Rest>>,
}

impl Reload {
    pub(super) fn new(agent: Agent, folder: Option<Folder>, rest: Rest, place: Place, asked: u64) -> Self {
        let (config, data) = (rest.config.clone(), rest.config.data.clone());
        Self { agent, folder, data, config, place, asked, watch: None, rest: Arc::new(Mutex::new(rest)) }
    }

    /// What the configuration said when it was read last.
    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// What there is beside the extensions in use, always as it was loaded last.
    pub(super) fn rest(&self) -> Arc<Mutex<Rest>> {
        self.rest.clone()
    }

    /// What there is in the folder.
    pub(super) async fn there(&self) -> Result<There, Problem> {
        ext::there(self.folder.as_ref()).await
    }

    /// Asks the other hosts of this data folder to take their extensions anew.
    pub(super) fn ask_others(&mut self) -> Result<(), Problem> {
        ask(&self.data)?;
        self.asked = asked(&self.data);
        Ok(())
    }

    /// From now on, what changes in the folder is built, and loaded too.
    pub(super) fn watch(&mut self) -> Result<(), Problem> {
        let file = self.config.file.clone().unwrap_or_else(|| crate::config::FILE.into());
        self.watch = Some(Watch::new(self.config.extensions_dir(), &file)?);
        Ok(())
    }

    /// Waits for a change of what is watched; without a watch, for ever.
    pub(super) async fn changed(&mut self) -> Change {
        match &mut self.watch {
            Some(watch) => watch.wait().await,
            None => std::future::pending().await,
        }
    }

    /// Does what is due before a turn. One look at a file if nothing is.
    pub(super) async fn due(&mut self, printer: &mut Printer) {
        let seen = self.watch.as_mut().and_then(Watch::seen);
        let asked = asked(&self.data);
        if asked != self.asked || seen.is_some() {
            self.asked = asked;
            self.take(seen.unwrap_or_default(), printer).await;
        }
    }

    /// Builds what is to be built, and loads the folder with what the configuration says now. Whatever is wrong, the
    /// extensions in use stay so. Says whether they are other ones now.
    pub(super) async fn take(&mut self, change: Change, printer: &mut Printer) -> bool {
        if change.sources
            && let Err(problem) =
                build::folder(self.config.extensions_dir(), &self.config.data, Report::Changes).await
        {
            problem.print();
        }
        if let Err(problem) = self.configure() {
            problem.print();
            printer.note("the configuration stays as it was");
        }
        self.renew(printer).await.unwrap_or_else(|problem| {
            problem.print();
            false
        })
    }

    /// Reads what the configuration says now.
    pub(super) fn configure(&mut self) -> Result<(), Problem> {
        let mut config = Config::load(self.config.file.as_deref())?;
        self.place.clone().apply(&mut config);
        self.config = config;
        Ok(())
    }

    /// Loads the folder with what the configuration said last, for turns that begin then. Says whether the extensions are
    /// other ones now.
    pub(super) async fn renew(&mut self, printer: &mut Printer) -> Result<bool, Problem> {
        let loaded = self.load().await?;
        printer.failed(&loaded);
        let Loaded { extensions, disabled, errors, changes, .. } = loaded;
        self.agent.set_extensions(extensions)?;
        *self.rest.lock() = Rest { disabled, errors, config: self.config.clone() };
        if !changes.is_empty() {
            printer.note(&changes.to_string());
        }
        Ok(!changes.is_empty())
    }

    async fn load(&mut self) -> Result<Loaded, Problem> {
        let Some(folder) = &mut self.folder else {
            self.folder = host::folder(&self.config)?;
            return match &mut self.folder {
                Some(folder) => host::load(folder).await,
                None => Ok(Loaded::default()),
            };
        };
        let config = &self.config;
        folder.set(
            config.extensions_dir().to_owned(),
            config.extension_settings(),
            config.extensions.order.clone(),
        );
        host::load(folder).await
    }
}

/// By its length hosts see that their extensions are to be taken anew: it grows by a byte each time somebody asks.
fn file(data: &Path) -> PathBuf {
    data.join("reload")
}

/// How often hosts of this data folder have been asked to take their extensions anew.
pub(super) fn asked(data: &Path) -> u64 {
    std::fs::metadata(file(data)).map_or(0, |metadata| metadata.len())
}

/// Asks the hosts of this data folder to take their extensions anew before their next turn. False if there is no such
/// folder, and so no host.
pub(super) fn ask(data: &Path) -> Result<bool, Problem> {
    let grown =
        OpenOptions::new().create(true).append(true).open(file(data)).and_then(|mut f| f.write_all(b"."));
    match grown {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Problem::new(format!("cannot write {}: {error}", file(data).display()))
            .hint("hosts that run take no notice until they are started again")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wish_is_seen_and_a_folder_without_a_host_is_told() {
        let data = tempfile::tempdir().unwrap();
        assert_eq!(asked(data.path()), 0);
        for count in 1..4 {
            assert!(ask(data.path()).unwrap());
            assert_eq!(asked(data.path()), count);
        }
        assert!(!ask(&data.path().join("none")).unwrap());
    }
}
