//! The example extensions and the tests' own guests, compiled.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The repository.
#[must_use]
pub fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Where cargo builds.
#[must_use]
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Builds the crates once in this process, and returns the file of one of them. Cargo itself keeps processes that do so
/// at the same time apart.
///
/// # Panics
///
/// If they do not build.
#[must_use]
pub fn guest(package: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        built(&[
            "bench",
            "calc",
            "clock",
            "courier",
            "gate",
            "greeter",
            "house-rules",
            "meter",
            "probe",
            "rogue",
        ])
    });
    folder.join(format!("{}.wasm", package.replace('-', "_")))
}

/// The guest with the feature `http` of `lathe-guest`, as above. Built alone, or cargo would give the feature to the others
/// too.
///
/// # Panics
///
/// As above.
#[must_use]
pub fn messenger() -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| built(&["messenger"])).join("messenger.wasm")
}

#[allow(clippy::expect_used, reason = "a test fails by panicking")]
fn built(packages: &[&str]) -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root()).args(["build", "--profile", "guest", "--target", "wasm32-wasip2", "--quiet"]);
    for package in packages {
        cargo.args(["-p", package]);
    }
    let done = cargo.stdin(Stdio::null()).status().expect("cargo runs");
    assert!(done.success(), "the guests do not build");
    target().join("wasm32-wasip2/guest")
}
