use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::StreamExt;
use tokio::time::Instant;
use wasmtime::Engine;
use wasmtime::component::Component;
use wasmtime::component::types::ComponentItem;

use super::admit::{Found, Loaded, Opened};
use super::bindings::ExtensionPre;
use super::bridge::NoBridge;
use super::cache::{self, Cache, Entry};
use super::contract;
use super::engine::{INSTANCES, Sandbox, Side};
use super::error::{LoadError, LoadReason};
use super::extension::ExtensionSettings;
use super::instance::{Instance, guarded};
use super::limits::Limits;
use super::manifest::Manifest;
use super::meter::Meter;
use super::network::{Resolver, SystemResolver, Transport};
use super::pool::Pool;
use super::rights::{Rights, Surroundings};
use super::state::{Identity, State};
use super::wasi::Fixed;
use crate::hooks::Failure;

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
    pub(super) sandbox: Sandbox,
    pub(super) cache: Option<Cache>,
    pub(super) settings: Arc<BTreeMap<String, ExtensionSettings>>,
    pub(super) order: Vec<String>,
    progress: Box<dyn Progress>,
    pub(super) surroundings: Surroundings,
    pub(super) own: Vec<PathBuf>,
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
            settings: Arc::default(),
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
        self.settings = Arc::new(settings);
        self
    }

    /// The names of extensions that come first, in this order; the others follow by file name.
    #[must_use]
    pub fn order(mut self, order: Vec<String>) -> Self {
        self.order = order;
        self
    }

    /// Instances of all extensions together at once, for turns, and as many for tool calls; a call beyond that waits,
    /// within its own time. 2,000 unless set, which is also the most.
    #[must_use]
    pub fn instances(mut self, instances: usize) -> Self {
        self.sandbox.pool = Pool::new(instances.min(INSTANCES as usize));
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
        Ok(self.load_files(components(folder)?).await)
    }

    /// What there is in a folder, with nothing of it loaded, and the files that are no extensions.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read.
    pub async fn find(&self, folder: &Path) -> std::io::Result<(Vec<Found>, Vec<LoadError>)> {
        let files = components(folder)?.into_iter();
        let opened: Vec<_> =
            in_parallel(files.map(|file| async { (self.open_if(&file, |_| false).await, file) })).await;
        let (mut found, mut errors) = (Vec::new(), Vec::new());
        for (opened, file) in opened {
            match opened {
                Ok(Opened { digest, manifest, .. }) => found.push(Found { file, digest, manifest }),
                Err(reason) => errors.push(LoadError { file, reason, kept: false }),
            }
        }
        Ok((found, errors))
    }

    /// Loads these files.
    pub async fn load_files(&self, files: Vec<PathBuf>) -> Loaded {
        let begun = Instant::now();
        let files = files.into_iter().map(|file| async { (self.open(&file).await, file) });
        let opened: Vec<_> = in_parallel(files).await;
        let opened = opened
            .into_iter()
            .map(|(opened, file)| opened.map_err(|reason| LoadError { file, reason, kept: false }));
        self.arrange(opened.collect(), &[], begun)
    }

    /// Compiled code and manifest of a file, from the cache or from the file itself.
    pub(super) async fn open(&self, file: &Path) -> Result<Opened, LoadReason> {
        let settings = self.settings.clone();
        self.open_if(file, move |manifest| is_enabled(&settings, manifest)).await
    }

    /// The same, without the code where it is not wanted.
    async fn open_if(
        &self,
        file: &Path,
        wanted: impl Fn(&Manifest) -> bool + Clone + Send + 'static,
    ) -> Result<Opened, LoadReason> {
        let bytes = tokio::fs::read(file).await.map_err(|error| LoadReason::Read(error.to_string()))?;
        let (sandbox, cache, has_use) = (self.sandbox.clone(), self.cache.clone(), wanted.clone());
        // Off the runtime's threads, and several files at once: it is all computing.
        let (bytes, digest, cached) = blocking(move || {
            let digest = cache::digest(&bytes);
            let cached = cache.and_then(|cache| {
                let manifest = cache.manifest(&digest)?;
                if !has_use(&manifest) {
                    return Some(Ok((None, manifest)));
                }
                let (component, side) = cache.component(&sandbox, &digest)?;
                Some(link(side, &component).map(|pre| (Some(pre), manifest)))
            });
            (bytes, digest, cached)
        })
        .await?;
        let compiled = cached.is_none();
        let (pre, manifest) = match cached {
            Some(cached) => cached?,
            None => {
                let (pre, manifest) = self.compile(file, &digest, bytes).await?;
                (wanted(&manifest).then_some(pre), manifest)
            }
        };
        Ok(Opened { file: file.to_owned(), digest, manifest, pre, compiled, before: None })
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
            let (component, side) =
                sandbox.compile(&bytes).map_err(|error| LoadReason::Invalid(format!("{error:#}")))?;
            check_world(&side.engine, &component)?;
            let pre = link(side, &component)?;
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
            request_id: "".into(),
            settings: "{}".into(),
            storage_bytes: 0,
            rights: Arc::new(Rights::none(&self.surroundings)),
        };
        let state = State::new(identity, &limits, Arc::new(NoBridge)).map_err(Failure::Link)?;
        let mut meter = Meter::new(limits.fuel_per_call, Limits::DESCRIBE_TIMEOUT);
        let mut instance = Instance::new(pre, state, &limits, None, &mut meter).await?;
        guarded!(&mut instance, &mut meter, &limits, |guest, store| {
            guest.lathe_extension_extension_manifest().call_describe(store)
        })
    }

    /// What a file imports and exports, by name, without running anything of it.
    ///
    /// # Errors
    ///
    /// If it is no component.
    pub async fn interfaces(&self, file: &Path) -> Result<Interfaces, LoadError> {
        let failed = |reason| LoadError { file: file.to_owned(), reason, kept: false };
        let bytes =
            tokio::fs::read(file).await.map_err(|error| failed(LoadReason::Read(error.to_string())))?;
        check_header(&bytes).map_err(failed)?;
        let engine = self.sandbox.engine();
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

/// The `*.wasm` of a folder, by name.
pub(super) fn components(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "wasm"))
        .collect();
    files.sort();
    Ok(files)
}

/// Waits for all, in their order. No more are under way at once than there are processors: that bounds the files that
/// are open and held in memory, and the compilations.
pub(super) async fn in_parallel<F: Future>(work: impl Iterator<Item = F>) -> Vec<F::Output> {
    let most = std::thread::available_parallelism().map_or(1, usize::from);
    futures::stream::iter(work).buffered(most).collect().await
}

/// Whether the operator wants it loaded.
pub(super) fn is_enabled(settings: &BTreeMap<String, ExtensionSettings>, manifest: &Manifest) -> bool {
    settings.get(&manifest.name).is_none_or(|settings| settings.enabled)
}

/// Computes on a thread where that holds nobody up.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, LoadReason> {
    tokio::task::spawn_blocking(work).await.map_err(|error| LoadReason::Invalid(error.to_string()))
}

fn link(side: &Side, component: &Component) -> Result<ExtensionPre<State>, LoadReason> {
    side.link(component).map_err(|error| LoadReason::Link(format!("{error:#}")))
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
