//! What changes in the folder of the extensions, and in the configuration.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use notify::event::ModifyKind;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use super::problem::Problem;

/// After a change, how long nothing more may come until it counts as done. 200 ms: an editor or a compiler writes several
/// files one after the other.
const QUIET: Duration = Duration::from_millis(200);

/// What has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// A crate: components are to be built.
    pub(super) sources: bool,
}

/// Watches the crates and components of a folder, and one more file.
pub(super) struct Watch {
    watcher: RecommendedWatcher,
    changed: mpsc::UnboundedReceiver<PathBuf>,
    /// Absolute.
    dir: PathBuf,
    file: PathBuf,
    watched: HashSet<PathBuf>,
}

impl Watch {
    pub(super) fn new(dir: &Path, file: &Path) -> Result<Self, Problem> {
        let (sender, changed) = mpsc::unbounded_channel();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| match event {
            Ok(event) if is_change(event.kind) => {
                for path in event.paths {
                    let _ = sender.send(path);
                }
            }
            Ok(_) => {}
            Err(error) => tracing::warn!("changes of the extensions may be missed: {error}"),
        });
        let watcher = watcher.map_err(|error| cannot(dir, &error))?;
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let (dir, file) = (absolute(dir), absolute(file));
        let mut watch = Self { watcher, changed, file, dir: dir.clone(), watched: HashSet::new() };
        if dir.is_dir() {
            watch.add(&dir)?;
        }
        // The folder, since editors put a new file in the place of the old one.
        if let Some(folder) = watch.file.parent().map(Path::to_owned) {
            watch.watch(&folder)?;
        }
        Ok(watch)
    }

    /// What has changed since it was asked last, if anything.
    pub(super) fn seen(&mut self) -> Option<Change> {
        let mut seen = None;
        while let Ok(path) = self.changed.try_recv() {
            self.note(&path, &mut seen);
        }
        seen
    }

    /// Waits for a change, and until nothing more comes.
    pub(super) async fn wait(&mut self) -> Change {
        let mut seen = None;
        loop {
            let next = self.changed.recv();
            let path = if seen.is_none() {
                next.await
            } else {
                tokio::time::timeout(QUIET, next).await.ok().flatten()
            };
            match (path, seen) {
                (Some(path), _) => self.note(&path, &mut seen),
                (None, Some(seen)) => return seen,
                // The watcher is gone: nothing will ever come.
                (None, None) => std::future::pending().await,
            }
        }
    }

    fn note(&mut self, path: &Path, seen: &mut Option<Change>) {
        let Some(sources) = self.concerns(path) else { return };
        seen.get_or_insert_default().sources |= sources;
        if path.is_dir()
            && let Err(problem) = self.add(path)
        {
            tracing::warn!("{}", problem.message());
        }
    }

    /// Whether a change of that file matters: and if so, whether components are to be built for it.
    fn concerns(&self, path: &Path) -> Option<bool> {
        if path == self.file {
            return Some(false);
        }
        let inside = path.strip_prefix(&self.dir).ok()?;
        if inside.components().any(|part| matches!(part, Component::Normal(name) if is_passed_over(name))) {
            return None;
        }
        let is_component = path.extension().is_some_and(|extension| extension == "wasm");
        let is_direct = inside.components().count() == 1;
        match (is_component, is_direct) {
            (true, direct) => direct.then_some(false),
            // A file beside the crates is none of theirs.
            (false, true) => path.is_dir().then_some(true),
            (false, false) => Some(true),
        }
    }

    /// Watches a folder and those below it, one by one: what cargo writes is not to be watched.
    fn add(&mut self, folder: &Path) -> Result<(), Problem> {
        self.watch(folder)?;
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            // A crate may be a link; further in, links could lead round in circles.
            let is_dir = path.is_dir() && (!path.is_symlink() || folder == self.dir);
            if is_dir && !is_passed_over(&entry.file_name()) {
                self.add(&path)?;
            }
        }
        Ok(())
    }

    fn watch(&mut self, folder: &Path) -> Result<(), Problem> {
        if self.watched.insert(folder.to_owned()) {
            let watched = self.watcher.watch(folder, RecursiveMode::NonRecursive);
            watched.map_err(|error| cannot(folder, &error))?;
        }
        Ok(())
    }
}

fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Create(_) | EventKind::Remove(_) => true,
        EventKind::Modify(kind) => !matches!(kind, ModifyKind::Metadata(_)),
        _ => false,
    }
}

/// What cargo builds, and what is hidden.
fn is_passed_over(name: &OsStr) -> bool {
    name == "target" || name.as_encoded_bytes().starts_with(b".")
}

fn cannot(folder: &Path, error: &notify::Error) -> Problem {
    Problem::new(format!("cannot watch {}: {error}", folder.display()))
        .hint("`lathe ext reload` has a host take its extensions anew; on Linux fs.inotify.max_user_watches is the limit")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn crates_components_and_the_configuration_are_told_apart_and_the_rest_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        // As the system names it: events do, too.
        let root = folder.path().canonicalize().unwrap();
        let dir = root.join("extensions");
        for name in ["calc/src", "calc/target/release", ".cache"] {
            std::fs::create_dir_all(dir.join(name)).unwrap();
        }
        let mut watch = Watch::new(&dir, &root.join("lathe.toml")).unwrap();
        for (file, sources) in [
            ("extensions/calc.wasm", false),
            ("extensions/calc/src/lib.rs", true),
            ("lathe.toml", false),
            ("extensions/new", true),
        ] {
            for other in
                ["extensions/calc/target/x", "extensions/.cache/x", "other.toml", "extensions/notes.txt"]
            {
                std::fs::write(root.join(other), file).unwrap();
            }
            if file == "extensions/new" {
                std::fs::create_dir(root.join(file)).unwrap();
            } else {
                std::fs::write(root.join(file), "x").unwrap();
            }
            assert_eq!(watch.wait().await, Change { sources }, "{file}");
        }
        std::fs::write(dir.join("new/Cargo.toml"), "x").unwrap();
        assert_eq!(watch.wait().await, Change { sources: true }, "a folder that came later is watched, too");
        assert_eq!(watch.seen(), None);
    }
}
