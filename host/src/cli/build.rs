//! From a folder of crates, and of extensions in JavaScript and Python, to a folder of components.

mod project;
mod script;
mod source;
pub(super) mod template;
mod tools;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

use super::Done;
use super::cargo::{self, Package, Workspace};
use super::problem::{self, Problem};
use super::style::{BAD, DOUBTFUL, GOOD, bold, clean, dim, say};
use crate::config::Config;
use crate::extensions;

pub(super) use project::{Language, Project};
pub(super) use source::SIDE;

/// Which crates are told of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// All of them.
    All,
    /// Those whose component has changed.
    Changes,
}

pub(super) async fn run(dir: Option<PathBuf>, config: &Config) -> Result<Done, Problem> {
    let dir = place_of(dir, config);
    if folder(&dir, &config.data, Report::All).await? == 0 {
        say(&dim(&format!(
            "no crate and no extension in JavaScript or Python directly below {}",
            dir.display()
        ))
        .to_string());
    }
    Ok(Done::Well)
}

/// The folder that is meant: the one that was typed, or this one if it holds an extension, or else that of the extensions.
pub(super) fn place_of(dir: Option<PathBuf>, config: &Config) -> PathBuf {
    let here = Path::new(".");
    let is_one = || cargo::is_crate(here) || project::Project::of(here).is_some();
    dir.unwrap_or_else(|| if is_one() { here.to_owned() } else { config.extensions_dir().to_owned() })
}

/// Builds each crate and each other extension directly below `dir`, or `dir` itself if it is one, and puts its component
/// into `dir`. Says how many there were. `data` keeps the compilers that are not Rust's, and what they have made.
pub(super) async fn folder(dir: &Path, data: &Path, report: Report) -> Result<usize, Problem> {
    let crates = crates(dir).map_err(|error| problem::folder(dir, &error))?;
    let total = crates.len();
    let mut failed = 0;
    for (workspace, members) in by_workspace(crates, &mut failed).await {
        let packages: Vec<&Package> =
            members.iter().filter_map(|index| workspace.packages.get(*index)).collect();
        cargo::ensure_target(&workspace.workspace_root, say).await?;
        failed += build(&workspace, packages, dir, report).await?;
    }
    let (scripts, broken) = script::build(dir, data, report).await?;
    let (total, failed) = (total + scripts, failed + broken);
    if failed > 0 {
        let extensions = match (scripts, total) {
            (0, 1) => "crate",
            (0, _) => "crates",
            (_, 1) => "extension",
            _ => "extensions",
        };
        return Err(Problem::new(format!("{failed} of {total} {extensions} could not be built")).hint(
            format!("`lathe build {}` tries again; what there is runs by `lathe run`", dir.display()),
        ));
    }
    Ok(total)
}

/// The folder itself, if it holds a crate; or else those directly below that do, by name.
pub(super) fn crates(dir: &Path) -> io::Result<Vec<PathBuf>> {
    if cargo::is_crate(dir) {
        return Ok(vec![dir.to_owned()]);
    }
    let mut crates = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let folder = entry?.path();
        if cargo::is_crate(&folder) {
            crates.push(folder);
        }
    }
    crates.sort();
    Ok(crates)
}

/// Each workspace once, with the places of those of its packages that are to be built.
async fn by_workspace(crates: Vec<PathBuf>, failed: &mut usize) -> Vec<(Workspace, Vec<usize>)> {
    let mut found: Vec<(Workspace, Vec<usize>)> = Vec::new();
    for folder in crates {
        let manifest = folder.join("Cargo.toml");
        if found.iter_mut().any(|(workspace, members)| claim(workspace, members, &manifest)) {
            continue;
        }
        let mut members = Vec::new();
        match Workspace::of(&folder).await {
            Ok(workspace) if claim(&workspace, &mut members, &manifest) => found.push((workspace, members)),
            Ok(_) => {
                *failed += 1;
                could_not(&folder.display().to_string(), "it holds no package");
            }
            Err(problem) => {
                *failed += 1;
                could_not(&folder.display().to_string(), problem.message());
            }
        }
    }
    found
}

/// True if the crate is one of the workspace's; it is then built, if it can become an extension.
fn claim(workspace: &Workspace, members: &mut Vec<usize>, manifest: &Path) -> bool {
    let same = |package: &Package| match (package.manifest_path.canonicalize(), manifest.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    };
    let Some(index) = workspace.packages.iter().position(same) else { return false };
    let package = &workspace.packages[index];
    if package.is_extension() {
        members.push(index);
    } else {
        say(&format!(
            "{} {} is passed over: an extension's Cargo.toml has `crate-type = [\"cdylib\"]` under [lib]",
            bold(DOUBTFUL, "warning:"),
            package.name
        ));
    }
    true
}

/// Builds what is left of a workspace in one go. Says how many have failed.
async fn build(
    workspace: &Workspace,
    mut packages: Vec<&Package>,
    dir: &Path,
    report: Report,
) -> Result<usize, Problem> {
    if packages.is_empty() {
        return Ok(0);
    }
    let ids: Vec<&str> = packages.iter().map(|package| package.id.as_str()).collect();
    // Where someone watches, cargo shows its own progress; else its words count only if something fails.
    let watched = io::stderr().is_terminal();
    let mut cargo = workspace.build(&ids);
    cargo.stdout(Stdio::piped()).stderr(if watched { Stdio::inherit() } else { Stdio::piped() });
    let mut child = cargo.spawn().map_err(|error| cargo::missing("cargo", &error))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let words = tokio::spawn(async move {
        let mut words = Vec::new();
        if let Some(mut stderr) = stderr {
            let _ = stderr.read_to_end(&mut words).await;
        }
        words
    });
    let mut unplaced = 0;
    if let Some(stdout) = stdout {
        let mut lines = BufReader::new(stdout).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let Some((id, file)) = cargo::built(&line) else { continue };
            let Some(index) = packages.iter().position(|package| package.id == id) else { continue };
            let package = packages.remove(index);
            if let Err(error) = place(&file, &package.name, dir, report) {
                unplaced += 1;
                could_not(&package.name, &format!("{}: {error}", dir.display()));
            }
        }
    }
    let status = child.wait().await;
    let words = words.await.unwrap_or_default();
    if !packages.is_empty() || !status.is_ok_and(|status| status.success()) {
        let _ = anstream::stderr().write_all(&words);
    }
    for package in &packages {
        could_not(&package.name, "see above");
    }
    Ok(packages.len() + unplaced)
}

/// Puts a component into the folder under its package's name, if it is not there already.
fn place(built: &Path, name: &str, dir: &Path, report: Report) -> io::Result<()> {
    let bytes = std::fs::read(built)?;
    if let Some((version, current)) = extensions::outdated(&bytes) {
        say(&format!(
            "{} {name} is built for lathe:extension@{version}, and {current} is current; a newer `lathe-guest` has it",
            bold(DOUBTFUL, "warning:")
        ));
    }
    let file = dir.join(name).with_extension("wasm");
    if std::fs::read(&file).is_ok_and(|there| there == bytes) {
        if report == Report::All {
            say(&dim(&format!("{} is up to date", file.display())).to_string());
        }
        return Ok(());
    }
    // Renamed into place: whoever loads the folder meanwhile finds the old file or the new one.
    let mut temporary = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file; temporary ones are for their owner alone.
        temporary.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut part = temporary.prefix(&format!(".{name}-")).suffix(".part").tempfile_in(dir)?;
    part.write_all(&bytes)?;
    part.persist(&file)?;
    say(&format!("{} {}, {} kB", bold(GOOD, "built"), file.display(), bytes.len().div_ceil(1000)));
    Ok(())
}

fn could_not(name: &str, why: &str) {
    say(&format!("{} {name} could not be built: {}", bold(BAD, "error:"), clean(why)));
}
