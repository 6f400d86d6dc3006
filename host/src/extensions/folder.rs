use std::collections::{BTreeMap, HashMap};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use tokio::time::Instant;

use super::admit::{Found, Loaded, Opened};
use super::error::LoadError;
use super::extension::{Extension, ExtensionSettings};
use super::load::{Loader, components, in_parallel, is_enabled};

/// A folder of extensions that is loaded time and again: a file that is as it was is not opened a second time.
///
/// ```no_run
/// # async fn example(agent: &lathe::Agent) -> Result<(), Box<dyn std::error::Error>> {
/// use lathe::extensions::{Folder, Loader};
///
/// let mut folder = Folder::new(Loader::new()?, "extensions".into());
/// agent.set_extensions(folder.load().await?.extensions)?;
/// // Later, when something may have changed:
/// let loaded = folder.load().await?;
/// println!("{}", loaded.changes);
/// agent.set_extensions(loaded.extensions)?;
/// # Ok(())
/// # }
/// ```
pub struct Folder {
    loader: Loader,
    dir: PathBuf,
    known: HashMap<PathBuf, Known>,
    /// As they were loaded last, in the order in which they are called.
    extensions: Vec<Arc<Extension>>,
}

/// What is known of a file.
struct Known {
    /// As it was when it was read; none if it is to be read again in any case.
    stamp: Option<Stamp>,
    was: Was,
}

enum Was {
    Loaded(Arc<Extension>),
    Disabled(Box<Found>),
}

/// By this a file is told from what it was, without reading it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
    /// Inode and time of change: they show what a tool does that sets the other time back.
    #[cfg(unix)]
    changed: (u64, i64, i64),
}

impl Folder {
    /// Nothing is loaded yet.
    #[must_use]
    pub fn new(loader: Loader, dir: PathBuf) -> Self {
        Self { loader, dir, known: HashMap::new(), extensions: Vec::new() }
    }

    /// Where it is.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What the operator has set, from the next load on: the folder, what is set by extension name, and the names of those
    /// that come first.
    pub fn set(&mut self, dir: PathBuf, settings: BTreeMap<String, ExtensionSettings>, order: Vec<String>) {
        self.dir = dir;
        self.loader.settings = Arc::new(settings);
        self.loader.order = order;
    }

    /// Loads it as it is now: what [`Loader::load_dir`] would make of it. An extension whose file, settings, limits and
    /// grant are as they were is the one that it was, with its health. Of a file that cannot be loaded any more, as while it
    /// is being written, the last version that could stays in use, with the settings, limits and grant of now; its error
    /// says so. A file that is gone is gone.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read. What is loaded stays known.
    pub async fn load(&mut self) -> std::io::Result<Loaded> {
        let begun = Instant::now();
        let files = components(&self.dir)?;
        let stamps: Vec<Option<Stamp>> = files.iter().map(|file| Stamp::of(file)).collect();
        let work = files.iter().zip(&stamps).map(|(file, stamp)| self.open(file, *stamp));
        let found: Vec<Result<Opened, LoadError>> = in_parallel(work).await;
        let mut stamps: HashMap<PathBuf, Option<Stamp>> = files.into_iter().zip(stamps).collect();
        let mut opened = Vec::with_capacity(found.len());
        for mut found in found {
            if let Err(error) = &mut found
                && let Some(kept) = self.known.get(&error.file).and_then(Known::reopen)
            {
                error.kept = true;
                // It may be whole at any time.
                stamps.remove(&error.file);
                opened.push(Ok(kept));
            }
            opened.push(found);
        }
        let loaded = self.loader.arrange(opened, &self.extensions, begun);
        let running = loaded.extensions.iter().map(|one| (one.file.clone(), Was::Loaded(one.clone())));
        let disabled =
            loaded.disabled.iter().map(|one| (one.file.clone(), Was::Disabled(Box::new(one.clone()))));
        self.known = running
            .chain(disabled)
            .map(|(file, was)| {
                let stamp = stamps.get(&file).copied().flatten();
                (file, Known { stamp, was })
            })
            .collect();
        self.extensions.clone_from(&loaded.extensions);
        Ok(loaded)
    }

    /// What there is in it, with nothing of it loaded, and the files that are no extensions.
    ///
    /// # Errors
    ///
    /// If the folder cannot be read.
    pub async fn find(&self) -> std::io::Result<(Vec<Found>, Vec<LoadError>)> {
        self.loader.find(&self.dir).await
    }

    async fn open(&self, file: &Path, stamp: Option<Stamp>) -> Result<Opened, LoadError> {
        let known = self.known.get(file);
        let unchanged = known.filter(|known| known.stamp.is_some() && known.stamp == stamp);
        if let Some(opened) = unchanged.and_then(|known| known.reopen_or_disabled(&self.loader)) {
            return Ok(opened);
        }
        let opened = self.loader.open(file).await;
        let opened = opened.map_err(|reason| LoadError { file: file.to_owned(), reason, kept: false })?;
        let before = match known {
            Some(Known { was: Was::Loaded(before), .. }) if before.digest == opened.digest => {
                Some(before.clone())
            }
            _ => None,
        };
        Ok(Opened { before, ..opened })
    }
}

impl Known {
    /// The extension as it was loaded.
    fn reopen(&self) -> Option<Opened> {
        let Was::Loaded(extension) = &self.was else { return None };
        Some(Opened {
            file: extension.file.clone(),
            digest: extension.digest.clone(),
            manifest: extension.manifest.clone(),
            pre: Some(extension.pre.clone()),
            compiled: false,
            before: Some(extension.clone()),
        })
    }

    /// The same; of a disabled one, what is known as long as it stays disabled.
    fn reopen_or_disabled(&self, loader: &Loader) -> Option<Opened> {
        match &self.was {
            Was::Disabled(disabled) if !is_enabled(&loader.settings, &disabled.manifest) => Some(Opened {
                file: disabled.file.clone(),
                digest: disabled.digest.clone(),
                manifest: disabled.manifest.clone(),
                pre: None,
                compiled: false,
                before: None,
            }),
            _ => self.reopen(),
        }
    }
}

impl Stamp {
    fn of(file: &Path) -> Option<Self> {
        std::fs::metadata(file).ok().map(|metadata| Self::new(&metadata))
    }

    fn new(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Self {
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            changed: (metadata.ino(), metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}
