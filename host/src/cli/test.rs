mod script;

use std::io;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::Done;
use super::args::TestArgs;
use super::build::{self, Project, Report};
use super::cargo::{self, Workspace};
use super::problem::{self, Problem};
use super::sandbox;
use super::style::{DOUBTFUL, bold, dim, say};
use crate::config::Config;

/// Runs the tests of each extension as its language does: they are ordinary ones, and their host is on the author's side. What
/// tells it to use the sandbox is the environment, so that the same tests do both.
pub(super) async fn run(args: TestArgs, config: &Config) -> Result<Done, Problem> {
    let dir = build::place_of(args.dir, config);
    if args.sandbox {
        build::folder(&dir, &config.data, Report::Changes).await?;
    }
    let unreadable = |error: io::Error| problem::folder(&dir, &error);
    let crates = build::crates(&dir).map_err(unreadable)?;
    let projects = Project::all(&dir).map_err(unreadable)?;
    if crates.is_empty() && projects.is_empty() {
        return Err(Problem::new(format!("there is no extension to test in {}", dir.display()))
            .hint("`lathe new NAME` makes one with tests"));
    }
    let mut done = Done::Well;
    for folder in crates {
        let mut cargo = cargo::test(&folder);
        if args.sandbox {
            let Some(name) = extension(&folder).await? else { continue };
            sandboxed(&mut cargo, &component(&dir, &name)?, config)?;
        }
        done = done.max(ended(cargo, |_, error| cargo::missing("cargo", error)).await?);
    }
    for (folder, project) in projects {
        let project = match project {
            Ok(project) => project,
            Err(why) => {
                Problem::new(format!("{} could not be tested: {why}", folder.display())).print();
                done = Done::TurnFailed;
                continue;
            }
        };
        let name = &project.about.name;
        let Some(mut tests) = script::command(&project)? else {
            say(&format!("{} {name} has no tests: no *.test.js", bold(DOUBTFUL, "warning:")));
            continue;
        };
        if args.sandbox {
            sandboxed(&mut tests, &component(&dir, name)?, config)?;
        }
        say(&dim(&format!("testing {name}")).to_string());
        let missing = |command: &Command, error: &_| project.language.missing("testing", command, error);
        done = done.max(ended(tests, missing).await?);
    }
    Ok(done)
}

/// Runs it to its end.
async fn ended(
    mut tests: Command,
    missing: impl FnOnce(&Command, &io::Error) -> Problem,
) -> Result<Done, Problem> {
    let status = tests.status().await.map_err(|error| missing(&tests, &error))?;
    Ok(if status.success() { Done::Well } else { Done::TurnFailed })
}

/// The name of the extension in this folder. None if its crate cannot become one; the build has said so.
async fn extension(folder: &Path) -> Result<Option<String>, Problem> {
    let manifest = folder.join("Cargo.toml").canonicalize().ok();
    let packages = Workspace::of(folder).await?.packages;
    let own = packages.into_iter().find(|package| package.manifest_path.canonicalize().ok() == manifest);
    Ok(own.filter(cargo::Package::is_extension).map(|package| package.name))
}

/// Has the host of the tests use this binary, with this component, and with the limits and the compile cache of here.
fn sandboxed(tests: &mut Command, component: &Path, config: &Config) -> Result<(), Problem> {
    let lost = |error: io::Error| Problem::new(format!("cannot tell where this process is: {error}"));
    let lathe = std::env::current_exe().map_err(lost)?;
    tests.env("LATHE_SANDBOX", lathe).env("LATHE_SANDBOX_FILE", component);
    tests.env(sandbox::DATA, std::path::absolute(&config.data).map_err(lost)?);
    if let Some(file) = &config.file {
        tests.env(sandbox::CONFIG, std::path::absolute(file).map_err(lost)?);
    }
    Ok(())
}

/// Where the build has put it; whole, since tests run in the folder of their extension.
fn component(dir: &Path, name: &str) -> Result<PathBuf, Problem> {
    let file = dir.join(name).with_extension("wasm");
    file.canonicalize().map_err(|error| Problem::new(format!("cannot find {}: {error}", file.display())))
}
