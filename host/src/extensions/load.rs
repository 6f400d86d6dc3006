use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::StreamExt;
use parking_lot::Mutex;
use tokio::time::Instant;
use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

use super::advice;
use super::bindings::ExtensionPre;
use super::bridge::NoBridge;
use super::cache::{self, Cache, Entry};
use super::contract;
use super::engine::Sandbox;
use super::error::{LoadError, LoadReason};
use super::extension::{Extension, ExtensionSettings};
use super::health::Keeper;
use super::instance::{Instance, guarded};
use super::limits::Limits;
use super::manifest::Manifest;
use super::meter::Meter;
use super::network::{Resolver, SystemResolver, Transport};
use super::pool::Pool;
use super::rights::{Rights, Surroundings};
use super::state::{Identity, State};
use super::wasi::Fixed;
use super::workspace;
use crate::hooks::Failure;
use crate::tools::check_against;
use crate::turn::{Json, JsonObject};

/// Told of what takes long while extensions are loaded.
pub trait Progress: Send + Sync {
    /// A file has to be compiled.
    fn compiling(&self, _file: &Path) {}
    /// A file is compiled, or could not be.
    fn compiled(&self, _file: &Path) {}
}

/// No one is told.
impl Progress for () {}

/// Loads extensions: the engine, the cache, and what the operator has set.
pub struct Loader {
    sandbox: Sandbox,
    cache: Option<Cache>,
    settings: BTreeMap<String, ExtensionSettings>,
    order: Vec<String>,
    progress: Box<dyn Progress>,
    surroundings: Surroundings,
    own: Vec<PathBuf>,
}

/// What a folder of extensions came to.
#[derive(Debug, Default)]
pub struct Loaded {
    /// In the order in which they are called.
    pub extensions: Vec<Arc<Extension>>,
    /// The files that were not loaded.
    pub errors: Vec<LoadError>,
    /// How many had to be compiled.
    pub compiled: usize,
    /// How long it took, in milliseconds.
    pub duration_ms: f64,
}

/// The component's own view of one file, before anything is decided about it.
struct Opened {
    file: PathBuf,
    digest: String,
    manifest: Manifest,
    pre: ExtensionPre<State>,
    compiled: bool,
}

impl Loader {
    /// Compiles everything anew, sets nothing.
    ///
    /// # Errors
    ///
    /// If this machine cannot run compiled WebAssembly.
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self {
            sandbox: Sandbox::new()?,
            cache: None,
            settings: BTreeMap::new(),
            order: Vec::new(),
            progress: Box::new(()),
            surroundings: Surroundings {
                variable: Box::new(|name| std::env::var(name).ok()),
                resolver: Arc::new(SystemResolver),
                fixed: None,
                transport: None,
            },
            own: Vec::new(),
        })
    }

    /// Keeps compiled code in this folder.
    #[must_use]
    pub fn cache(mut self, folder: PathBuf) -> Self {
        self.cache = Some(Cache::new(folder, self.sandbox.fingerprint()));
        self
    }

    /// What the operator has set, by extension name.
    #[must_use]
    pub fn settings(mut self, settings: BTreeMap<String, ExtensionSettings>) -> Self {
        self.settings = settings;
        self
    }

    /// The names of extensions that come first, in this order; the others follow by file name.
    #[must_use]
    pub fn order(mut self, order: Vec<String>) -> Self {
        self.order = order;
        self
    }

    /// Instances of all extensions together at once, for turns, and as many for tool calls; a call beyond that waits,
    /// within its own time. 2,000 unless set.
    #[must_use]
    pub fn instances(mut self, instances: usize) -> Self {
        self.sandbox.pool = Pool::new(instances);
        self
    }

    /// Whom to tell of long work.
    #[must_use]
    pub fn progress(mut self, progress: impl Progress + 'static) -> Self {
        self.progress = Box::new(progress);
        self
    }

    /// Where granted environment variables and secret headers come from; the environment of the process unless set.
    #[must_use]
    pub fn environment(mut self, read: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        self.surroundings.variable = Box::new(read);
        self
    }

    /// Who finds the addresses of hosts; the system unless set.
    #[must_use]
    pub fn resolver(mut self, resolver: impl Resolver + 'static) -> Self {
        self.surroundings.resolver = Arc::new(resolver);
        self
    }

    /// What answers the requests of extensions in place of the network.
    #[must_use]
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.surroundings.transport = Some(Arc::new(transport));
        self
    }

    /// Files and folders of the host that no extension may write, whatever is granted: a workspace that has one of them in
    /// it is for reading alone. The compile cache and the extensions' own folder are such without being named.
    #[must_use]
    pub fn own(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.own.extend(paths);
        self
    }

    /// Gives guests a clock that stands still and chance that repeats itself.
    #[must_use]
    pub fn fixed(mut self, fixed: Fixed) -> Self {
        self.surroundings.fixed = Some(fixed);
        self
    }

    /// Loads every `*.wasm` of a folder. A file that cannot be loaded is reported and passed over.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read.
    pub async fn load_dir(&self, folder: &Path) -> std::io::Result<Loaded> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "wasm"))
            .collect();
        files.sort();
        Ok(self.load_files(files).await)
    }

    /// Loads these files.
    pub async fn load_files(&self, files: Vec<PathBuf>) -> Loaded {
        let begun = Instant::now();
        let opened: Vec<Result<Opened, LoadError>> = futures::stream::iter(files)
            .map(|file| async { self.open(&file).await.map_err(|reason| LoadError { file, reason }) })
            .buffered(std::thread::available_parallelism().map_or(1, usize::from))
            .collect()
            .await;
        let mut loaded = Loaded::default();
        let mut fit = Vec::new();
        for result in opened {
            match result {
                Ok(opened) => fit.push(opened),
                Err(error) => loaded.errors.push(error),
            }
        }
        let place = |opened: &Opened| {
            let name = &opened.manifest.name;
            self.order.iter().position(|listed| listed == name).unwrap_or(usize::MAX)
        };
        fit.sort_by_key(place);
        for opened in fit {
            loaded.compiled += usize::from(opened.compiled);
            let file = opened.file.clone();
            match self.admit(opened, &loaded.extensions) {
                Ok(extension) => loaded.extensions.push(Arc::new(extension)),
                Err(reason) => loaded.errors.push(LoadError { file, reason }),
            }
        }
        loaded.duration_ms = begun.elapsed().as_secs_f64() * 1e3;
        loaded
    }

    /// Compiled code and manifest of a file, from the cache or from the file itself.
    async fn open(&self, file: &Path) -> Result<Opened, LoadReason> {
        let bytes = tokio::fs::read(file).await.map_err(|error| LoadReason::Read(error.to_string()))?;
        let (sandbox, cache) = (self.sandbox.clone(), self.cache.clone());
        // Off the runtime's threads, and several files at once: it is all computing.
        let (bytes, digest, cached) = blocking(move || {
            let digest = cache::digest(&bytes);
            let entry = cache.and_then(|cache| cache.get(&sandbox.engine, &digest));
            let cached = entry.map(|entry| link(&sandbox, &entry.component).map(|pre| (pre, entry.manifest)));
            (bytes, digest, cached)
        })
        .await?;
        let compiled = cached.is_none();
        let (pre, manifest) = match cached {
            Some(cached) => cached?,
            None => self.compile(file, &digest, bytes).await?,
        };
        Ok(Opened { file: file.to_owned(), digest, manifest, pre, compiled })
    }

    async fn compile(
        &self,
        file: &Path,
        digest: &str,
        bytes: Vec<u8>,
    ) -> Result<(ExtensionPre<State>, Manifest), LoadReason> {
        check_header(&bytes)?;
        self.progress.compiling(file);
        let sandbox = self.sandbox.clone();
        let compiled = blocking(move || {
            let component = Component::from_binary(&sandbox.engine, &bytes)
                .map_err(|error| LoadReason::Invalid(format!("{error:#}")))?;
            check_world(&sandbox.engine, &component)?;
            let pre = link(&sandbox, &component)?;
            Ok((component, pre))
        })
        .await
        .flatten();
        self.progress.compiled(file);
        let (component, pre) = compiled?;
        let manifest = self.describe(&pre).await.map_err(LoadReason::Describe)?;
        let entry = Entry { component, manifest: Manifest::check(manifest)? };
        if let Some(cache) = &self.cache {
            cache.put(digest, &entry);
        }
        Ok((pre, entry.manifest))
    }

    async fn describe(
        &self,
        pre: &ExtensionPre<State>,
    ) -> Result<super::bindings::exports::lathe::extension::extension_manifest::Manifest, Failure> {
        let limits = Limits::default();
        let identity = Identity {
            extension: "describe".into(),
            session: "".into(),
            settings: "{}".into(),
            storage_bytes: 0,
            rights: Arc::new(Rights::none(&self.surroundings)),
        };
        let state = State::new(identity, &limits, Arc::new(NoBridge)).map_err(Failure::Link)?;
        let mut meter = Meter::new(limits.fuel_per_call, Limits::DESCRIBE_TIMEOUT);
        let mut instance = Instance::new(&self.sandbox, pre, state, &limits, None, &mut meter).await?;
        guarded!(&mut instance, &mut meter, &limits, |guest, store| {
            guest.lathe_extension_extension_manifest().call_describe(store)
        })
    }

    /// Decides whether it may stand beside the ones that are there.
    fn admit(&self, opened: Opened, there: &[Arc<Extension>]) -> Result<Extension, LoadReason> {
        let Opened { file, digest, manifest, pre, .. } = opened;
        let prefix = manifest.prefix();
        if let Some(other) = there.iter().find(|other| other.manifest.prefix() == prefix) {
            return Err(LoadReason::NameClash {
                name: manifest.name,
                other: other.manifest.name.clone(),
                other_file: other.file.clone(),
            });
        }
        for tool in &manifest.tools {
            let tool = manifest.tool_name(tool);
            let offers = |other: &Extension| {
                other.manifest.tools.iter().any(|theirs| other.manifest.tool_name(theirs) == tool)
            };
            if let Some(other) = there.iter().find(|other| offers(other)) {
                return Err(LoadReason::ToolClash { tool, other: other.manifest.name.clone() });
            }
        }
        let settings = self.settings.get(&manifest.name).cloned().unwrap_or_default();
        check_settings(&manifest, &settings.settings)?;
        let mut grant = settings.grant.within(&manifest);
        let mut lines = advice::missing(&manifest, &grant, &settings);
        lines.extend(advice::idle(&manifest, &settings.grant, &grant));
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
        Ok(Extension {
            identity: Extension::identity(&manifest, &settings, rights),
            pool: Pool::new(settings.limits.instances),
            keeper: Arc::new(Keeper::new(&manifest.name, &digest, &settings.limits)),
            listeners: Mutex::default(),
            limits: settings.limits,
            grant,
            sandbox: self.sandbox.clone(),
            file,
            digest,
            manifest,
            pre,
        })
    }

    /// What a file imports and exports, by name, without running anything of it.
    ///
    /// # Errors
    ///
    /// If it is no component.
    pub async fn interfaces(&self, file: &Path) -> Result<Interfaces, LoadError> {
        let failed = |reason| LoadError { file: file.to_owned(), reason };
        let bytes =
            tokio::fs::read(file).await.map_err(|error| failed(LoadReason::Read(error.to_string())))?;
        check_header(&bytes).map_err(failed)?;
        let engine = &self.sandbox.engine;
        let component = Component::from_binary(engine, &bytes)
            .map_err(|error| failed(LoadReason::Invalid(format!("{error:#}"))))?;
        let names = component.component_type();
        Ok(Interfaces {
            imports: names.imports(engine).map(|(name, _)| name.to_owned()).collect(),
            exports: names.exports(engine).map(|(name, _)| name.to_owned()).collect(),
        })
    }
}

/// What a component asks for and offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interfaces {
    /// By full name.
    pub imports: Vec<String>,
    /// By full name.
    pub exports: Vec<String>,
}

/// Computes on a thread where that holds nobody up.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, LoadReason> {
    tokio::task::spawn_blocking(work).await.map_err(|error| LoadReason::Invalid(error.to_string()))
}

fn link(sandbox: &Sandbox, component: &Component) -> Result<ExtensionPre<State>, LoadReason> {
    let linked = sandbox.linker.instantiate_pre(component).and_then(ExtensionPre::new);
    linked.map_err(|error| LoadReason::Link(format!("{error:#}")))
}

/// Tells what is no component from what is a broken one, by the first eight bytes.
fn check_header(bytes: &[u8]) -> Result<(), LoadReason> {
    if !bytes.starts_with(b"\0asm") {
        return Err(LoadReason::NotWasm);
    }
    match bytes.get(4..8) {
        Some([1, 0, 0, 0]) => Err(LoadReason::CoreModule),
        _ => Ok(()),
    }
}

/// Whether it was made for a contract of this host's, told by the names of what it exports.
fn check_world(engine: &Engine, component: &Component) -> Result<(), LoadReason> {
    let names = component.component_type();
    let exports: Vec<String> = names
        .exports(engine)
        .filter(|(_, item)| matches!(item.ty, ComponentItem::ComponentInstance(_)))
        .map(|(name, _)| name.to_owned())
        .collect();
    contract::check(&exports)
}

/// Whether the operator's settings fit the schema that the extension has for them.
fn check_settings(manifest: &Manifest, settings: &JsonObject) -> Result<(), LoadReason> {
    let Some(schema) = &manifest.settings_schema else { return Ok(()) };
    let refused = |error: crate::turn::InvalidInput| LoadReason::Settings {
        name: manifest.name.clone(),
        reason: error.to_string(),
    };
    check_against(schema, &Json::Object(settings.clone())).map_err(refused)
}
