//! Compiled code on disk, so that a second start does not compile.
//!
//! A file's name holds the digest of the component and the fingerprint of the engine, so that a changed component, a
//! new version of the host or another CPU simply does not find it. Whatever goes wrong here is a miss, never an error:
//! the component is there and can be compiled again.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use super::engine::{Sandbox, Side};
use super::manifest::Manifest;

/// The folder of compiled components, owned by the host alone.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    folder: PathBuf,
    fingerprint: u64,
}

/// A compiled component and what it said of itself.
pub(super) struct Entry {
    pub(super) component: Component,
    pub(super) manifest: Manifest,
}

impl Cache {
    pub(super) fn new(folder: PathBuf, fingerprint: u64) -> Self {
        Self { folder, fingerprint }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, digest: &str, suffix: &str) -> PathBuf {
        self.folder.join(format!("{digest}-{:016x}.{suffix}", self.fingerprint))
    }

    pub(super) fn manifest(&self, digest: &str) -> Option<Manifest> {
        serde_json::from_slice(&fs::read(self.path(digest, "json")).ok()?).ok()
    }

    /// The compiled code, and the side that has what the component asks for.
    pub(super) fn component<'a>(&self, sandbox: &'a Sandbox, digest: &str) -> Option<(Component, &'a Side)> {
        let path = self.path(digest, "cwasm");
        sandbox.sides().find_map(|side| Some((load_compiled(&side.engine, &path).ok()?, side)))
    }

    /// Keeps an entry. The manifest goes last: an entry without one is not found.
    pub(super) fn put(&self, digest: &str, entry: &Entry) {
        let written = || -> anyhow::Result<()> {
            create_private(&self.folder)?;
            self.write(digest, "cwasm", &entry.component.serialize()?)?;
            self.write(digest, "json", &serde_json::to_vec(&entry.manifest)?)
        };
        if let Err(error) = written() {
            tracing::warn!(
                folder = %self.folder.display(),
                "cannot keep compiled code, so the next start compiles again: {error:#}"
            );
        }
    }

    /// Under another name first: whoever maps the old file must not see it change.
    fn write(&self, digest: &str, suffix: &str, bytes: &[u8]) -> anyhow::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(bytes)?;
        file.persist(self.path(digest, suffix))?;
        Ok(())
    }
}

/// The SHA-256 of a component's bytes, in hexadecimal.
pub(super) fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[allow(unsafe_code, reason = "wasmtime cannot check compiled code; only this host writes into this folder")]
fn load_compiled(engine: &Engine, path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: the file was made by `Component::serialize` of this engine version and configuration: its name holds
    // the fingerprint, the folder is the host's own (0700), and files are only ever renamed into it whole. wasmtime
    // checks version and configuration again.
    unsafe { Component::deserialize_file(engine, path) }
}
