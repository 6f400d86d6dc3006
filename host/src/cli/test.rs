use std::path::{Path, PathBuf};

use super::Done;
use super::args::TestArgs;
use super::build::{self, Report};
use super::cargo::{self, Workspace};
use super::problem::{self, Problem};
use crate::config::Config;

/// Runs `cargo test` in each crate: its tests are ordinary ones, and their host is in `lathe-guest`. What tells it to use the
/// sandbox is the environment, so that the same test programs do both.
pub(super) async fn run(args: TestArgs, config: &Config) -> Result<Done, Problem> {
    let dir = build::place_of(args.dir, config);
    if args.sandbox {
        build::folder(&dir, &config.data, Report::Changes).await?;
    }
    let crates = build::crates(&dir).map_err(|error| problem::folder(&dir, &error))?;
    if crates.is_empty() {
        return Err(Problem::new(format!("there is no crate in {}", dir.display()))
            .hint("`lathe new NAME` makes an extension with tests"));
    }
    let mut done = Done::Well;
    for folder in crates {
        let mut cargo = cargo::test(&folder);
        if args.sandbox {
            let Some(name) = extension(&folder).await? else { continue };
            let lathe = std::env::current_exe()
                .map_err(|error| Problem::new(format!("cannot tell where this binary is: {error}")))?;
            cargo.env("LATHE_SANDBOX", lathe).env("LATHE_SANDBOX_FILE", component(&dir, &name)?);
        }
        let status = cargo.status().await.map_err(|error| cargo::missing("cargo", &error))?;
        if !status.success() {
            done = Done::TurnFailed;
        }
    }
    Ok(done)
}

/// The name of the extension in this folder. None if its crate cannot become one; the build has said so.
async fn extension(folder: &Path) -> Result<Option<String>, Problem> {
    let manifest = folder.join("Cargo.toml").canonicalize().ok();
    let packages = Workspace::of(folder).await?.packages;
    let own = packages.into_iter().find(|package| package.manifest_path.canonicalize().ok() == manifest);
    Ok(own.filter(cargo::Package::is_extension).map(|package| package.name))
}

/// Where the build has put it; whole, since tests run in the folder of their crate.
fn component(dir: &Path, name: &str) -> Result<PathBuf, Problem> {
    let file = dir.join(name).with_extension("wasm");
    file.canonicalize().map_err(|error| Problem::new(format!("cannot find {}: {error}", file.display())))
}
