//! Extensions that change while a host runs.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::args::Place;
use super::build::{self, Report};
use super::host;
use super::print::Printer;
use super::problem::Problem;
use super::watch::{Change, Watch};
use crate::agent::Agent;
use crate::config::Config;
use crate::extensions::{Folder, Loaded};

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
}

impl Reload {
    pub(super) fn new(
        agent: Agent,
        folder: Option<Folder>,
        config: Config,
        place: Place,
        asked: u64,
    ) -> Self {
        Self { agent, folder, data: config.data.clone(), config, place, asked, watch: None }
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
        match Config::load(self.config.file.as_deref()) {
            Ok(mut config) => {
                self.place.clone().apply(&mut config);
                self.config = config;
            }
            Err(error) => {
                Problem::from(error).print();
                printer.note("the configuration stays as it was");
            }
        }
        match self.load().await {
            Ok(loaded) => {
                let changes = loaded.changes.clone();
                printer.failed(&loaded);
                if let Err(error) = self.agent.set_extensions(loaded.extensions) {
                    Problem::from(error).print();
                    return false;
                }
                if !changes.is_empty() {
                    printer.note(&changes.to_string());
                }
                !changes.is_empty()
            }
            Err(problem) => {
                problem.print();
                false
            }
        }
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
