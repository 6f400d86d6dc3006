//! What is loaded from a folder, and what is not.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;

use lathe::extensions::{LoadReason, Loaded, Loader, Progress};
use lathe_tests::guests::guest;
use lathe_tests::house::settings;
use tempfile::TempDir;

fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

fn good(package: &str) -> Vec<u8> {
    std::fs::read(guest(package)).unwrap()
}

async fn load(folder: &Path) -> Loaded {
    Loader::new().unwrap().load_dir(folder).await.unwrap()
}

fn names(loaded: &Loaded) -> Vec<&str> {
    loaded.extensions.iter().map(|extension| &*extension.manifest.name).collect()
}

/// A component that exports these interfaces, empty.
fn exporting(names: &[&str]) -> Vec<u8> {
    let exports: String =
        names.iter().map(|name| format!("(instance)(export \"{name}\" (instance 0))")).collect();
    wat::parse_str(format!("(component {exports})")).unwrap()
}

#[tokio::test]
async fn every_unusable_file_is_named_and_the_others_load() {
    let calc = good("calc");
    let folder = folder(&[
        ("a-text.wasm", b"not wasm at all"),
        ("b-empty.wasm", b""),
        ("c-module.wasm", &wat::parse_str("(module)").unwrap()),
        ("d-cut.wasm", &calc[..calc.len() / 2]),
        ("e-world.wasm", &wat::parse_str("(component)").unwrap()),
        ("f-version.wasm", &exporting(&["lathe:extension/extension-manifest@9.9.0"])),
        ("g-calc.wasm", &calc),
        ("h-again.wasm", &calc),
        ("i-clock.wasm", &good("clock")),
        ("notes.txt", b"not an extension"),
    ]);
    let loaded = load(folder.path()).await;
    assert_eq!(names(&loaded), ["calc", "clock"]);
    let kinds: Vec<(String, &str)> = loaded
        .errors
        .iter()
        .map(|error| {
            let kind = match error.reason {
                LoadReason::NotWasm => "not wasm",
                LoadReason::CoreModule => "module",
                LoadReason::Invalid(_) => "invalid",
                LoadReason::World { .. } => "world",
                LoadReason::Version { .. } => "version",
                LoadReason::NameClash { .. } => "clash",
                _ => "other",
            };
            (error.file.file_stem().unwrap().to_string_lossy().into_owned(), kind)
        })
        .collect();
    let expected = [
        ("a-text", "not wasm"),
        ("b-empty", "not wasm"),
        ("c-module", "module"),
        ("d-cut", "invalid"),
        ("e-world", "world"),
        ("f-version", "version"),
        ("h-again", "clash"),
    ];
    assert_eq!(kinds, expected.map(|(file, kind)| (file.to_owned(), kind)));
    let version = loaded.errors[5].to_string();
    assert!(
        version.contains("9.9.0") && version.contains("0.1.0") && version.contains("f-version.wasm"),
        "{version}"
    );
}

#[tokio::test]
async fn order_is_by_file_name_unless_set() {
    let folder =
        folder(&[("1.wasm", &good("meter")), ("2.wasm", &good("calc")), ("3.wasm", &good("house-rules"))]);
    assert_eq!(names(&load(folder.path()).await), ["meter", "calc", "house-rules"]);
    let ordered = Loader::new().unwrap().order(vec!["house-rules".into(), "nobody".into()]);
    assert_eq!(names(&ordered.load_dir(folder.path()).await.unwrap()), ["house-rules", "meter", "calc"]);
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_an_error() {
    let error = Loader::new().unwrap().load_dir(Path::new("/nowhere")).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

#[derive(Default, Clone)]
struct Count(Arc<std::sync::atomic::AtomicUsize>);

impl Progress for Count {
    fn compiling(&self, _: &Path) {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

#[tokio::test]
async fn compiled_code_is_kept_and_what_is_wrong_with_it_is_a_miss() {
    let extensions = folder(&[("calc.wasm", &good("calc"))]);
    let cache = tempfile::tempdir().unwrap();
    let load = async || {
        let compiling = Count::default();
        let loader = Loader::new().unwrap().cache(cache.path().join("c")).progress(compiling.clone());
        let loaded = loader.load_dir(extensions.path()).await.unwrap();
        assert_eq!(names(&loaded), ["calc"]);
        assert_eq!(compiling.0.load(std::sync::atomic::Ordering::Relaxed), loaded.compiled);
        loaded.compiled
    };
    assert_eq!(load().await, 1);
    assert_eq!(load().await, 0);
    let files = || std::fs::read_dir(cache.path().join("c")).unwrap().map(|entry| entry.unwrap().path());
    assert_eq!(files().count(), 2);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(cache.path().join("c")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
    for suffix in ["cwasm", "json"] {
        let file = files().find(|file| file.extension().unwrap() == suffix).unwrap();
        std::fs::write(&file, b"\0").unwrap();
        assert_eq!(load().await, 1, "a broken .{suffix} is compiled again");
        assert_eq!(load().await, 0);
    }
    std::fs::write(
        extensions.path().join("calc.wasm"),
        good("calc").iter().chain(b"\0\x02\x01x").copied().collect::<Vec<u8>>(),
    )
    .unwrap();
    assert_eq!(load().await, 1, "a changed component is compiled again");
}

#[tokio::test]
async fn a_cache_that_cannot_be_written_costs_only_time() {
    let extensions = folder(&[("calc.wasm", &good("calc"))]);
    let blocked = folder(&[("file", b"")]);
    let loader = Loader::new().unwrap().cache(blocked.path().join("file/cache"));
    assert_eq!(names(&loader.load_dir(extensions.path()).await.unwrap()), ["calc"]);
}

#[tokio::test]
async fn interfaces_are_told_without_running_anything() {
    let interfaces = Loader::new().unwrap().interfaces(&guest("calc")).await.unwrap();
    for export in ["extension-manifest", "tools", "hooks"] {
        let name = format!("lathe:extension/{export}@0.1.0");
        assert!(interfaces.exports.contains(&name), "{interfaces:?}");
    }
    assert!(interfaces.imports.iter().any(|name| name.starts_with("wasi:cli/")), "{interfaces:?}");
}

#[tokio::test]
async fn settings_must_fit_the_schema() {
    let folder = folder(&[("calc.wasm", &good("calc")), ("rules.wasm", &good("house-rules"))]);
    let load = async |set: serde_json::Value| {
        let settings = [settings("house-rules", &set)].into();
        Loader::new().unwrap().settings(settings).load_dir(folder.path()).await.unwrap()
    };
    assert_eq!(names(&load(serde_json::json!({"maxSteps": 1})).await), ["calc", "house-rules"]);
    let loaded = load(serde_json::json!({"maxSteps": 0})).await;
    assert_eq!(names(&loaded), ["calc"], "the others load");
    let error = loaded.errors[0].to_string();
    assert!(
        error.contains("rules.wasm") && error.contains("\"house-rules\"") && error.contains("maxSteps"),
        "{error}"
    );
    assert!(error.contains("[extension.house-rules.settings]"), "{error}");
    let error = load(serde_json::json!({"rule": []})).await.errors[0].to_string();
    assert!(error.contains("rule"), "{error}");
}
