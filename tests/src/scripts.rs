//! Extensions in JavaScript and Python, built and tested by the real binary. What goes wrong here panics: it is a test that
//! fails.

#![allow(clippy::expect_used, clippy::panic, reason = "for tests alone")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::binary::{Ran, lathe, ran};
use crate::guests::target;

/// The mirrors have less to store in, to see whose configuration it is.
const CONFIG: &str = "data = \"data\"\n\
    [extension.mirror-js.limits]\nstorage-bytes = 4000\n[extension.mirror-py.limits]\nstorage-bytes = 4000\n";

/// The data folder that keeps compilers and components below the target folder, so that only the first run fetches and
/// compiles.
#[must_use]
pub fn data() -> PathBuf {
    target().join("scripts/data")
}

/// Builds the extension of a folder, and returns its file.
///
/// # Errors
///
/// Why it cannot be tried on this machine: Node.js or Python is not there, or the registry cannot be reached.
///
/// # Panics
///
/// If it does not build.
pub fn script(folder: &Path) -> Result<PathBuf, String> {
    let (place, done) = run(&["build"], folder);
    let name = place.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if done.code == Some(0) {
        return Ok(place.join(format!("{name}.wasm")));
    }
    Err(unavailable(&done).unwrap_or_else(|| panic!("{name} does not build:\n{}", done.err)))
}

/// Builds the extension of a folder and runs its tests in the sandbox.
///
/// # Errors
///
/// As above.
pub fn sandboxed(folder: &Path) -> Result<Ran, String> {
    let (_, done) = run(&["test", "--sandbox"], folder);
    unavailable(&done).map_or(Ok(done), Err)
}

/// Why a command could not be tried on this machine, if that is what it has said.
#[must_use]
pub fn unavailable(done: &Ran) -> Option<String> {
    let words = ["error: cannot run ", " cannot be fetched:"];
    words.iter().any(|words| done.err.contains(words)).then(|| done.err.clone())
}

/// A command of the binary for an extension, with a link to it, so that its component lies beside that and not in the
/// repository. Returns the folder of the link.
fn run(args: &[&str], folder: &Path) -> (PathBuf, Ran) {
    let name = folder.file_name().and_then(|name| name.to_str()).expect("a folder has a name");
    let scripts = target().join("scripts");
    let place = scripts.join(name);
    std::fs::create_dir_all(&place).expect("a folder");
    let link = place.join(name);
    let _ = std::fs::remove_file(&link);
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.canonicalize().expect("it is there"), &link)
        .or_else(|error| if link.is_dir() { Ok(()) } else { Err(error) })
        .expect("a link");
    let config = scripts.join("lathe.toml");
    // Another test may be reading it.
    if !std::fs::read_to_string(&config).is_ok_and(|there| there == CONFIG) {
        let part = scripts.join(format!(".{name}.toml"));
        std::fs::write(&part, CONFIG).expect("it can be written");
        std::fs::rename(part, &config).expect("it can be put there");
    }
    let mut command = Command::new(lathe());
    command.arg("--config").arg(&config).args(args).arg(&place).stdin(Stdio::null());
    (place, ran(command))
}
