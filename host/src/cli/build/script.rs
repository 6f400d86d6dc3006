//! From a folder of JavaScript or Python to a component.

use std::io;
use std::path::{Path, PathBuf};

use super::super::problem::{self, Problem};
use super::super::style::dim;
use super::project::Project;
use super::source::Source;
use super::{Report, could_not, place, say, tools};

/// Builds the extension in `dir`, or else those directly below it, and puts their components into `dir`. Says how many
/// there were, and how many of them have failed.
pub(super) async fn build(dir: &Path, data: &Path, report: Report) -> Result<(usize, usize), Problem> {
    let projects = Project::all(dir).map_err(|error| problem::folder(dir, &error))?;
    let total = projects.len();
    let mut failed = 0;
    for (folder, project) in projects {
        let built = match project {
            Ok(project) => one(&project, dir, data, report).await?,
            Err(why) => Err(why),
        };
        if let Err(why) = built {
            failed += 1;
            could_not(&folder.display().to_string(), &why);
        }
    }
    Ok((total, failed))
}

/// Builds one. The inner error is its own; the outer one would be that of each.
async fn one(
    project: &Project,
    dir: &Path,
    data: &Path,
    report: Report,
) -> Result<Result<(), String>, Problem> {
    let language = project.language;
    let name = &project.about.name;
    let source = match Source::of(project) {
        Ok(source) => source,
        Err(error) => return Ok(Err(format!("its sources cannot be read: {error}"))),
    };
    let component = kept(data, name, &source.digest(language.compiler()));
    if !component.is_file() {
        // Elsewhere than here, where the compiler stands.
        let data = std::path::absolute(data).map_err(|error| Problem::new(error.to_string()))?;
        let tool = tools::ensure(language, &data, say_dim).await?;
        say_dim(&format!("compiling {name} from {}", language.name()));
        if let Err(why) = compile(project, &source, &tool, &data, &component).await? {
            return Ok(Err(why));
        }
    }
    Ok(place(&component, name, dir, report).map_err(|error| format!("{}: {error}", dir.display())))
}

async fn compile(
    project: &Project,
    source: &Source,
    tool: &Path,
    data: &Path,
    component: &Path,
) -> Result<Result<(), String>, Problem> {
    let stage = match staged(source, data) {
        Ok(stage) => stage,
        Err(error) => return Ok(Err(format!("{}: {error}", data.display()))),
    };
    let out = stage.path().join(".out.wasm");
    if let Err(why) = tools::compile(project.language, tool, stage.path(), &out).await? {
        return Ok(Err(why));
    }
    forget(component, &project.about.name);
    Ok(std::fs::rename(&out, component).map_err(|error| format!("{}: {error}", component.display())))
}

/// A folder for the compiler, with all that goes into the component.
fn staged(source: &Source, data: &Path) -> io::Result<tempfile::TempDir> {
    let folder = data.join("build");
    std::fs::create_dir_all(&folder)?;
    let stage = tempfile::Builder::new().prefix(".part-").tempdir_in(folder)?;
    source.write(stage.path())?;
    Ok(stage)
}

/// Where the component of these sources is kept: while they stay as they are, nothing is compiled.
fn kept(data: &Path, name: &str, digest: &str) -> PathBuf {
    let digest: String = digest.chars().take(32).collect();
    data.join("build").join(format!("{name}.{digest}.wasm"))
}

/// Removes the components of earlier sources: each is megabytes.
fn forget(component: &Path, name: &str) {
    let folder = component.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    for entry in folder.into_iter().flatten().flatten() {
        let file = entry.file_name();
        if file.to_str().and_then(|file| file.strip_prefix(name)).is_some_and(|rest| rest.starts_with('.')) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn say_dim(line: &str) {
    say(&dim(line).to_string());
}
