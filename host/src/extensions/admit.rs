//! Which of the extensions that were found are let in, and in which order.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::advice;
use super::bindings::ExtensionPre;
use super::cache::Cache;
use super::error::{LoadError, LoadReason};
use super::extension::Extension;
use super::health::Keeper;
use super::load::{Loader, is_enabled};
use super::manifest::Manifest;
use super::pool::Pool;
use super::rights::Rights;
use super::state::State;
use super::workspace;
use crate::tools::check_against;
use crate::turn::Json;

/// What a folder of extensions came to.
#[derive(Debug, Default)]
pub struct Loaded {
    /// In the order in which they are called.
    pub extensions: Vec<Arc<Extension>>,
    /// Those that the operator has disabled.
    pub disabled: Vec<Found>,
    /// The files that were not loaded.
    pub errors: Vec<LoadError>,
    /// What is other than it was loaded before; all are new the first time.
    pub changes: Changes,
    /// How many had to be compiled.
    pub compiled: usize,
    /// How long it took, in milliseconds.
    pub duration_ms: f64,
}

/// An extension that is there and not loaded, as one that the operator has disabled.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Where it is from.
    pub file: PathBuf,
    /// SHA-256 of the file, in hexadecimal.
    pub digest: String,
    /// What it says of itself.
    pub manifest: Manifest,
}

/// What is other than it was, by the extensions' names. As text: `added a, reloaded b, removed c`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Not there before, or enabled.
    pub added: Vec<String>,
    /// With other code, settings, limits or rights.
    pub reloaded: Vec<String>,
    /// Not there any more, or disabled.
    pub removed: Vec<String>,
}

/// The component's own view of one file, before anything is decided about it.
pub(super) struct Opened {
    pub(super) file: PathBuf,
    pub(super) digest: String,
    pub(super) manifest: Manifest,
    /// None of one that is disabled.
    pub(super) pre: Option<ExtensionPre<State>>,
    pub(super) compiled: bool,
    /// What was loaded from the same bytes of this file before.
    pub(super) before: Option<Arc<Extension>>,
}

/// The names that are taken.
#[derive(Default)]
struct Taken {
    /// By prefix: the extension's name and file.
    prefixes: HashMap<String, (String, PathBuf)>,
    /// By the name in which a model is offered it: the extension's.
    tools: HashMap<String, String>,
}

impl Changes {
    /// Whether all is as it was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.reloaded.is_empty() && self.removed.is_empty()
    }

    fn between(before: &[Arc<Extension>], now: &[Arc<Extension>]) -> Self {
        let name = |extension: &Arc<Extension>| extension.manifest.name.clone();
        let mut old: HashMap<String, &Arc<Extension>> =
            before.iter().map(|extension| (name(extension), extension)).collect();
        let mut changes = Self::default();
        for extension in now {
            match old.remove(&extension.manifest.name) {
                None => changes.added.push(name(extension)),
                Some(before) if !Arc::ptr_eq(before, extension) => changes.reloaded.push(name(extension)),
                Some(_) => {}
            }
        }
        changes.removed = old.into_keys().collect();
        changes.removed.sort();
        changes
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [("added", &self.added), ("reloaded", &self.reloaded), ("removed", &self.removed)];
        let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
        let parts: Vec<String> = parts.map(|(what, names)| format!("{what} {}", names.join(", "))).collect();
        f.write_str(&parts.join("; "))
    }
}

impl Loader {
    /// Puts what was opened in order, and lets in what may stand beside those before it.
    pub(super) fn arrange(
        &self,
        opened: Vec<Result<Opened, LoadError>>,
        before: &[Arc<Extension>],
        begun: Instant,
    ) -> Loaded {
        let mut loaded = Loaded::default();
        let mut fit = Vec::new();
        for result in opened {
            match result {
                Ok(opened) => fit.push(opened),
                Err(error) => loaded.errors.push(error),
            }
        }
        let places: HashMap<&String, usize> =
            self.order.iter().enumerate().rev().map(|(place, name)| (name, place)).collect();
        fit.sort_by_key(|opened| places.get(&opened.manifest.name).copied().unwrap_or(usize::MAX));
        let mut taken = Taken::default();
        for opened in fit {
            loaded.compiled += usize::from(opened.compiled);
            let Opened { file, digest, manifest, .. } = &opened;
            let Some(pre) = opened.pre.clone().filter(|_| is_enabled(&self.settings, manifest)) else {
                let (file, digest, manifest) = (file.clone(), digest.clone(), manifest.clone());
                loaded.disabled.push(Found { file, digest, manifest });
                continue;
            };
            match self.check_settings(manifest).and_then(|()| taken.take(&opened)) {
                Ok(()) => loaded.extensions.push(self.admit(opened, pre)),
                Err(reason) => {
                    let file = opened.file.clone();
                    loaded.errors.push(LoadError { file, reason, kept: false });
                }
            }
        }
        loaded.changes = Changes::between(before, &loaded.extensions);
        loaded.duration_ms = begun.elapsed().as_secs_f64() * 1e3;
        loaded
    }

    /// Whether what the operator has set is what the extension says it takes.
    fn check_settings(&self, manifest: &Manifest) -> Result<(), LoadReason> {
        let Some(schema) = &manifest.settings_schema else { return Ok(()) };
        let set = self.settings.get(&manifest.name).map(|set| set.settings.clone()).unwrap_or_default();
        check_against(schema, &Json::Object(set))
            .map_err(|error| LoadReason::Settings { name: manifest.name.clone(), reason: error.to_string() })
    }

    /// Gives it what the operator has set. Where nothing is other than before, it is the one that was there before.
    fn admit(&self, opened: Opened, pre: ExtensionPre<State>) -> Arc<Extension> {
        let Opened { file, digest, manifest, before, .. } = opened;
        let settings = self.settings.get(&manifest.name).cloned().unwrap_or_default();
        let before = match before {
            Some(before) if before.settings == settings => return before,
            before => before,
        };
        let mut grant = settings.grant.within(&manifest);
        let mut lines = advice::missing(&manifest, &grant, &settings);
        lines.extend(advice::idle(&manifest, &settings.grant));
        let cache = self.cache.as_ref().map(Cache::folder);
        let own = self.own.iter().map(PathBuf::as_path).chain(cache).chain(file.parent());
        if let Some(Err(why)) = grant.workspace.as_ref().map(|workspace| workspace::check(workspace, own)) {
            grant.workspace = None;
            lines.push(format!("{why}; it runs without"));
        }
        for line in lines {
            tracing::warn!(extension = &*manifest.name, "{line}");
        }
        let rights = Rights::new(&manifest, grant.clone(), &self.surroundings);
        // The same code goes on with its strikes, and with the room that its running instances take up.
        let (keeper, pool) = match &before {
            Some(before) if before.limits == settings.limits => (before.keeper.clone(), before.pool.clone()),
            Some(before) => {
                (Arc::new(before.keeper.with_limits(&settings.limits)), Pool::new(settings.limits.instances))
            }
            None => (
                Arc::new(Keeper::new(&manifest.name, &digest, &settings.limits)),
                Pool::new(settings.limits.instances),
            ),
        };
        Arc::new(Extension {
            identity: Extension::identity(&manifest, &settings, rights),
            limits: settings.limits.clone(),
            listeners: Mutex::default(),
            all: self.sandbox.pool.clone(),
            settings,
            pool,
            keeper,
            grant,
            file,
            digest,
            manifest,
            pre,
        })
    }
}

impl Taken {
    /// Takes an extension's names, all or none.
    fn take(&mut self, opened: &Opened) -> Result<(), LoadReason> {
        let Opened { file, manifest, .. } = opened;
        let prefix = manifest.prefix();
        if let Some((other, other_file)) = self.prefixes.get(&prefix) {
            return Err(LoadReason::NameClash {
                name: manifest.name.clone(),
                other: other.clone(),
                other_file: other_file.clone(),
            });
        }
        let tools: Vec<String> = manifest.tools.iter().map(|tool| manifest.tool_name(tool)).collect();
        for tool in &tools {
            if let Some(other) = self.tools.get(tool) {
                return Err(LoadReason::ToolClash { tool: tool.clone(), other: other.clone() });
            }
        }
        self.prefixes.insert(prefix, (manifest.name.clone(), file.clone()));
        self.tools.extend(tools.into_iter().map(|tool| (tool, manifest.name.clone())));
        Ok(())
    }
}
