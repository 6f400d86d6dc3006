//! What is asked of cargo, rustc and rustup.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde::Deserialize;
use tokio::process::Command;

use super::problem::Problem;

/// What extensions are built for.
pub(super) const TARGET: &str = "wasm32-wasip2";

/// The profile that a workspace may have for its extensions; `release` where it has none.
const PROFILE: &str = "guest";

/// A workspace, as `cargo metadata` tells it.
#[derive(Debug, Deserialize)]
pub(super) struct Workspace {
    pub(super) workspace_root: PathBuf,
    pub(super) packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Package {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
struct Target {
    crate_types: Vec<String>,
}

/// A line of cargo's messages; only artifacts are of interest.
#[derive(Debug, Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    package_id: String,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

impl Package {
    /// Whether it has a library that can become an extension.
    pub(super) fn is_extension(&self) -> bool {
        self.targets.iter().any(|target| target.crate_types.iter().any(|kind| kind == "cdylib"))
    }
}

impl Workspace {
    /// The workspace of a crate. The error is cargo's.
    pub(super) async fn of(folder: &Path) -> Result<Self, Problem> {
        let mut cargo = command("cargo", folder);
        cargo.args(["metadata", "--no-deps", "--format-version", "1"]);
        let output = run(&mut cargo, "cargo").await?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(Problem::new(said.strip_prefix("error: ").unwrap_or(&said)));
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| Problem::new(format!("cannot read what `cargo metadata` says: {error}")))
    }

    pub(super) fn profile(&self) -> &'static str {
        let manifest = std::fs::read_to_string(self.workspace_root.join("Cargo.toml")).unwrap_or_default();
        let manifest: toml::Table = manifest.parse().unwrap_or_default();
        let profile = manifest.get("profile").and_then(|profiles| profiles.get(PROFILE));
        if profile.is_some() { PROFILE } else { "release" }
    }

    /// `cargo build` of these packages, its messages on standard output. One that fails does not stop the others.
    pub(super) fn build(&self, packages: &[&str]) -> Command {
        let mut cargo = command("cargo", &self.workspace_root);
        cargo.args(["build", "--lib", "--keep-going", "--target", TARGET, "--profile", self.profile()]);
        cargo.arg("--message-format=json-render-diagnostics");
        for package in packages {
            cargo.args(["--package", package]);
        }
        cargo
    }
}

/// Whether a folder holds a package. A workspace may have none of its own.
pub(super) fn is_crate(folder: &Path) -> bool {
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    match manifest.parse::<toml::Table>() {
        Ok(manifest) => manifest.contains_key("package"),
        // Cargo says better what is wrong with it.
        Err(_) => true,
    }
}

/// `cargo test` of the package in this folder.
pub(super) fn test(folder: &Path) -> Command {
    let mut cargo = command("cargo", folder);
    cargo.arg("test");
    cargo
}

/// The package whose component is built, and its file, out of a line of cargo's messages.
pub(super) fn built(line: &str) -> Option<(String, PathBuf)> {
    let message: Message = serde_json::from_str(line).ok()?;
    let file =
        message.filenames.into_iter().find(|file| file.extension().is_some_and(|ext| ext == "wasm"))?;
    (message.reason == "compiler-artifact").then_some((message.package_id, file))
}

/// Makes sure that the toolchain of this folder can build for [`TARGET`].
pub(super) async fn ensure_target(folder: &Path, say: impl FnOnce(&str)) -> Result<(), Problem> {
    if has_target(folder).await? {
        return Ok(());
    }
    say(&format!("the Rust target {TARGET} is missing: rustup target add {TARGET}"));
    let mut rustup = command("rustup", folder);
    rustup.args(["target", "add", TARGET]);
    let missing = format!("the Rust target {TARGET} is not installed");
    match rustup.output().await {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(Problem::new(format!("{missing}, and `rustup target add {TARGET}` failed:\n{}", said.trim()))
                .hint("it needs the network; once it has worked, building needs none"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Problem::new(format!("{missing}, and there is no rustup to add it")).hint(format!(
                "install Rust by rustup (https://rustup.rs), or the standard library of {TARGET} for the toolchain that is there"
            )))
        }
        Err(error) => Err(Problem::new(format!("{missing}, and rustup does not run: {error}"))),
    }
}

async fn has_target(folder: &Path) -> Result<bool, Problem> {
    let mut rustc = command("rustc", folder);
    rustc.args(["--print", "sysroot"]);
    let output = run(&mut rustc, "rustc").await?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Problem::new(format!("rustc does not run in {}:\n{said}", folder.display())));
    }
    let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    Ok(sysroot.join("lib/rustlib").join(TARGET).join("lib").is_dir())
}

async fn run(command: &mut Command, name: &str) -> Result<Output, Problem> {
    command.output().await.map_err(|error| missing(name, &error))
}

pub(super) fn missing(name: &str, error: &io::Error) -> Problem {
    Problem::new(format!("cannot run {name}: {error}"))
        .hint("building extensions needs Rust (https://rustup.rs); `lathe run` does not build")
}

/// A command of the toolchain that is set for `folder`.
///
/// What cargo and its user have set for the build of this host does not hold for guests: a changed environment would
/// rebuild them, and flags for this machine's processor do not fit theirs. `CARGO_TARGET_DIR`, `CARGO_HOME`, wrappers
/// and the like stay.
fn command(program: &str, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).stdin(Stdio::null()).kill_on_drop(true);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_of_the_host) {
            command.env_remove(&name);
        }
    }
    command
}

fn is_of_the_host(variable: &str) -> bool {
    const NAMES: [&str; 8] = [
        "CARGO",
        "CARGO_BUILD_RUSTFLAGS",
        "CARGO_BUILD_TARGET",
        "CARGO_CRATE_NAME",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_PRIMARY_PACKAGE",
        "OUT_DIR",
        "RUSTFLAGS",
    ];
    const PREFIXES: [&str; 5] =
        ["CARGO_BIN_", "CARGO_CFG_", "CARGO_FEATURE_", "CARGO_MANIFEST_", "CARGO_PKG_"];
    NAMES.contains(&variable) || PREFIXES.iter().any(|prefix| variable.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_components_count_as_built() {
        let line = |reason: &str, file: &str| {
            built(&format!(
                r#"{{"reason":"{reason}","package_id":"p#a@1","filenames":["/t/x.rlib","{file}"]}}"#
            ))
        };
        assert_eq!(line("compiler-artifact", "/t/a.wasm"), Some(("p#a@1".into(), "/t/a.wasm".into())));
        assert_eq!(line("compiler-artifact", "/t/liba.so"), None);
        assert_eq!(line("build-script-executed", "/t/a.wasm"), None);
        assert_eq!(built("no JSON"), None);
    }

    #[test]
    fn the_hosts_own_build_is_forgotten_and_the_users_places_are_kept() {
        for name in ["RUSTFLAGS", "CARGO_MANIFEST_DIR", "CARGO_PKG_VERSION_MAJOR", "CARGO_BUILD_TARGET"] {
            assert!(is_of_the_host(name), "{name}");
        }
        for name in ["PATH", "CARGO_HOME", "CARGO_TARGET_DIR", "RUSTC_WRAPPER", "RUSTUP_TOOLCHAIN"] {
            assert!(!is_of_the_host(name), "{name}");
        }
    }
}
