//! The extensions of a recorded case, made of the probe.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use lathe::extensions::{Extension, ExtensionSettings, Limits, Loaded, Loader};
use serde_json::Value;

use crate::probe::Template;

/// As in the recordings.
const HOOK_TIMEOUT_MS: u64 = 1_000;

/// Writes the extensions into a folder and loads them: their files, in their order, and what came of them.
///
/// # Errors
///
/// If a file cannot be written, or nothing can be loaded at all.
pub async fn try_load(
    probe: &Template,
    extensions: &[Value],
    folder: &Path,
) -> anyhow::Result<(Vec<PathBuf>, Loaded)> {
    let mut files = Vec::new();
    let mut settings = BTreeMap::new();
    for (number, extension) in extensions.iter().enumerate() {
        let file = folder.join(format!("{number:03}.wasm"));
        probe.write(extension, &file)?;
        files.push(file);
        let limits = Limits { hook_timeout_ms: HOOK_TIMEOUT_MS, ..Default::default() };
        let name = extension["name"].as_str().unwrap_or_default().to_owned();
        settings.insert(name, ExtensionSettings { limits, ..Default::default() });
    }
    let loader = Loader::new()?.cache(std::env::temp_dir().join("lathe-tests-cache")).settings(settings);
    let loaded = loader.load_files(files.clone()).await;
    Ok((files, loaded))
}

/// The extensions of a case, all of which are to load.
///
/// # Errors
///
/// If one does not.
pub async fn load(
    probe: &Template,
    extensions: &Value,
    folder: &Path,
) -> anyhow::Result<Vec<Arc<Extension>>> {
    let extensions = extensions.as_array().map(Vec::as_slice).unwrap_or_default();
    let (_, loaded) = try_load(probe, extensions, folder).await?;
    if let Some(error) = loaded.errors.first() {
        bail!("{}: {}", error.file.display(), error.reason);
    }
    Ok(loaded.extensions)
}
