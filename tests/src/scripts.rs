//! Extensions in JavaScript and Python, built by the real binary. What goes wrong here panics: it is a test that fails.

#![allow(clippy::expect_used, clippy::panic, reason = "for tests alone")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::binary::{lathe, ran};
use crate::guests::target;

/// Builds the extension of a folder, and returns its file. Compilers and components are kept below the target folder, so
/// that only the first run fetches and compiles.
///
/// # Errors
///
/// Why it cannot be tried on this machine: Node.js or Python is not there, or the registry cannot be reached.
///
/// # Panics
///
/// If it does not build.
pub fn script(folder: &Path) -> Result<PathBuf, String> {
    let name = folder.file_name().and_then(|name| name.to_str()).expect("a folder has a name");
    let scripts = target().join("scripts");
    let place = scripts.join(name);
    std::fs::create_dir_all(&place).expect("a folder");
    // A link, so that the component lies beside it and not in the repository.
    let link = place.join(name);
    let _ = std::fs::remove_file(&link);
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.canonicalize().expect("it is there"), &link)
        .or_else(|error| if link.is_dir() { Ok(()) } else { Err(error) })
        .expect("a link");
    let config = scripts.join("lathe.toml");
    std::fs::write(&config, "data = \"data\"\n").expect("it can be written");
    let mut command = Command::new(lathe());
    command.arg("--config").arg(&config).arg("build").arg(&place).stdin(Stdio::null());
    let done = ran(command);
    if done.code == Some(0) {
        return Ok(place.join(format!("{name}.wasm")));
    }
    let unavailable = ["error: cannot run ", " cannot be fetched:"];
    assert!(unavailable.iter().any(|words| done.err.contains(words)), "{name} does not build:\n{}", done.err);
    Err(done.err)
}
