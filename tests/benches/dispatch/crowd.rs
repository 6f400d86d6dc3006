//! Twenty extensions, compiled before.

use std::path::{Path, PathBuf};

use lathe::extensions::{Loaded, Loader};
use lathe_tests::guests::guest;
use lathe_tests::probe::Template;
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// How many.
pub(crate) const EXTENSIONS: usize = 20;

/// A folder with the examples and, for the rest, probes that are each another extension.
pub(crate) struct Crowd(TempDir);

impl Crowd {
    pub(crate) fn new(runtime: &Runtime) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let examples = ["calc", "clock", "house-rules", "meter"];
        for name in examples {
            std::fs::copy(guest(name), folder.path().join(format!("{name}.wasm"))).unwrap();
        }
        let probe = Template::read(&guest("probe")).unwrap();
        for number in examples.len()..EXTENSIONS {
            let name = format!("probe-{number}");
            let plan =
                json!({ "name": name, "hooks": { "onChunk": {} }, "tools": { "echo": { "echo": true } } });
            probe.write(&plan, &folder.path().join(format!("{name}.wasm"))).unwrap();
        }
        let compiled = runtime.block_on(load(folder.path())).compiled;
        assert_eq!(compiled, EXTENSIONS);
        Self(folder)
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.0.path().to_owned()
    }
}

/// Loads a crowd as a new process does, engine included.
pub(crate) async fn load(folder: &Path) -> Loaded {
    let loader = Loader::new().unwrap().cache(folder.join("cache"));
    let loaded = loader.load_dir(folder).await.unwrap();
    assert_eq!(loaded.extensions.len(), EXTENSIONS, "{:?}", loaded.errors);
    loaded
}
