//! What the clients need: Node.js, npm, Chromium, and their packages.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use lathe_tests::guests::root;

const NODE: u32 = 20;

/// Says what to install if it is missing or old.
pub(crate) fn node() -> anyhow::Result<()> {
    let node = version("node").context("install Node.js 20 or newer (Debian: apt-get install nodejs)")?;
    let major = node.trim_start_matches('v').split('.').next().and_then(|major| major.parse().ok());
    ensure!(major >= Some(NODE), "node is {node}; install Node.js {NODE} or newer");
    version("npm").context("install npm, which has the clients (Debian: apt-get install npm)")?;
    Ok(())
}

/// Says what to install if it is not where `lib/browser.mjs` looks for it.
pub(crate) fn browser() -> anyhow::Result<()> {
    let chromium =
        std::env::var_os("LATHE_CHROMIUM").map_or_else(|| "/usr/bin/chromium".into(), PathBuf::from);
    ensure!(
        chromium.is_file(),
        "{} is not there: install Chromium (Debian: apt-get install chromium), or say in LATHE_CHROMIUM where it is",
        chromium.display()
    );
    Ok(())
}

fn version(program: &str) -> anyhow::Result<String> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("{program} cannot be run"))?;
    ensure!(output.status.success(), "{program} --version failed");
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The folder of the scripts.
pub(crate) fn folder() -> PathBuf {
    root().join("tests/clients")
}

/// Installs what `package-lock.json` says, unless that is there already. No script of a package is run.
pub(crate) fn packages() -> anyhow::Result<()> {
    let folder = folder();
    let wanted = read(&folder.join("package-lock.json"))?;
    let installed = folder.join("node_modules/.installed-lock.json");
    if std::fs::read(&installed).is_ok_and(|lock| lock == wanted) {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    let status = npm.current_dir(&folder).stdin(Stdio::null()).status().context("npm cannot be run")?;
    ensure!(status.success(), "npm ci failed in {}: is the registry within reach?", folder.display());
    std::fs::write(&installed, wanted).with_context(|| installed.display().to_string())
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(file).with_context(|| file.display().to_string())
}
