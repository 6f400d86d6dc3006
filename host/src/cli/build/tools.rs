//! The compilers: fetched from their registry on first use, pinned by version and checksum, kept in the data folder.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use super::super::problem::Problem;
use super::project::Language;
use super::source::ENTRY;

const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };
const PYTHON: &str = if cfg!(windows) { "python" } else { "python3" };

const BUILDING: &str = "building";

/// The compiler's own command is made for where pip has put it first; this one is not.
const COMPONENTIZE_PY: &str = "import sys; from componentize_py import script; sys.exit(script())";

impl Language {
    /// The compiler, as its folder is called.
    pub(super) fn compiler(self) -> &'static str {
        match self {
            Self::JavaScript => "componentize-qjs-0.4.5",
            Self::Python => "componentize-py-0.25.1",
        }
    }

    /// What names it, with checksums of its packages.
    fn lock(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::JavaScript => &[
                ("package.json", include_str!("tools/package.json")),
                ("package-lock.json", include_str!("tools/package-lock.json")),
            ],
            Self::Python => &[("requirements.txt", include_str!("tools/requirements.txt"))],
        }
    }

    /// Fetches it into the folder of its lock.
    fn install(self, folder: &Path) -> Command {
        let mut command = match self {
            Self::JavaScript => {
                let mut npm = Command::new(NPM);
                // No script of a package is run, and `ci` would insist on packages for systems that have none.
                npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
                npm
            }
            Self::Python => {
                let mut pip = Command::new(PYTHON);
                pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
                pip.args(["--require-hashes", "--no-deps", "--only-binary", ":all:"]);
                pip.args(["--target", ".", "--requirement", "requirements.txt"]);
                pip
            }
        };
        quiet(&mut command, folder);
        command
    }

    /// Compiles what lies in `source` to `out`.
    fn compile(self, tool: &Path, source: &Path, out: &Path) -> Command {
        let mut command = match self {
            Self::JavaScript => {
                let mut node = Command::new("node");
                node.arg(tool.join("node_modules/componentize-qjs/bin/componentize-qjs"));
                node.args(["--wit", "wit", "--world", "extension", "--module-root", ".", "--js"]);
                node.arg(format!("{ENTRY}.js"));
                // The host's functions are synchronous, as the contract has them.
                node.args(["--sync", "--output"]).arg(out);
                node
            }
            Self::Python => {
                let mut python = Command::new(PYTHON);
                python.args(["-c", COMPONENTIZE_PY, "--wit-path", "wit", "--world", "extension"]);
                python.args(["componentize", "--python-path", ".", "--output"]).arg(out).arg(ENTRY);
                // Else it looks for packages of whoever runs it.
                python.env("PYTHONPATH", tool).env("VIRTUAL_ENV", source);
                python
            }
        };
        quiet(&mut command, source);
        command
    }

    /// What to do about a program that cannot be run for it; `doing` is what it was needed for.
    pub(in crate::cli) fn missing(self, doing: &str, command: &Command, error: &io::Error) -> Problem {
        let needed = match self {
            Self::JavaScript => "Node.js 18 or newer with npm (https://nodejs.org)",
            Self::Python => "Python 3.10 or newer with pip (https://www.python.org)",
        };
        let program = command.as_std().get_program().display();
        Problem::new(format!("cannot run {program}: {error}"))
            .hint(format!("{doing} extensions in {} needs {needed}; `lathe run` does not", self.name()))
    }

    /// Runs the tests of an extension in its folder; the files of them where the language does not find them itself.
    pub(in crate::cli) fn test(self, folder: &Path, files: &[PathBuf]) -> Command {
        let mut command = match self {
            Self::JavaScript => {
                let mut node = Command::new("node");
                node.arg("--test").args(files);
                node
            }
            Self::Python => {
                let mut python = Command::new(PYTHON);
                // -B: what is compiled on the way is not kept.
                python.args(["-B", "-m", "unittest"]);
                python
            }
        };
        quiet(&mut command, folder);
        command
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::JavaScript => "JavaScript",
            Self::Python => "Python",
        }
    }
}

fn quiet(command: &mut Command, folder: &Path) {
    command.current_dir(folder).stdin(Stdio::null()).kill_on_drop(true);
}

/// Makes sure that a compiler is there, and returns its folder.
pub(super) async fn ensure(
    language: Language,
    data: &Path,
    say: impl FnOnce(&str),
) -> Result<PathBuf, Problem> {
    let compiler = language.compiler();
    let folder = data.join("tools").join(compiler);
    if folder.is_dir() {
        return Ok(folder);
    }
    say(&format!("fetching {compiler}, once, into {}", folder.display()));
    let unwritable = |error: io::Error| {
        Problem::new(format!("cannot keep {compiler} in {}: {error}", folder.display()))
            .hint("the data folder is `data` in lathe.toml")
    };
    let tools = data.join("tools");
    std::fs::create_dir_all(&tools).map_err(unwritable)?;
    let part = tempfile::Builder::new().prefix(".part-").tempdir_in(&tools).map_err(unwritable)?;
    for (name, text) in language.lock() {
        std::fs::write(part.path().join(name), text).map_err(unwritable)?;
    }
    let mut install = language.install(part.path());
    let output = install.output().await.map_err(|error| language.missing(BUILDING, &install, &error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Problem::new(format!("{compiler} cannot be fetched:\n{said}"))
            .hint("it needs the network; once it has worked, building needs none"));
    }
    // Renamed into place: what is there is whole. Another build may have been faster.
    let whole = part.keep();
    if let Err(error) = std::fs::rename(&whole, &folder) {
        let _ = std::fs::remove_dir_all(&whole);
        if !folder.is_dir() {
            return Err(unwritable(error));
        }
    }
    Ok(folder)
}

/// Compiles what lies in `source` to `out`. The inner error is what the compiler says.
pub(super) async fn compile(
    language: Language,
    tool: &Path,
    source: &Path,
    out: &Path,
) -> Result<Result<(), String>, Problem> {
    let mut compile = language.compile(tool, source, out);
    let output = compile.output().await.map_err(|error| language.missing(BUILDING, &compile, &error))?;
    if output.status.success() && out.is_file() {
        return Ok(Ok(()));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Ok(Err(format!("{} says:\n{}", language.compiler(), said.trim())))
}
