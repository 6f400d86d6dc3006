//! The real `lathe` binary, run in folders of its own. What goes wrong here panics: it is a test that fails.

#![allow(clippy::expect_used, reason = "for tests alone")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::guests::guest;

/// The binary that cargo has built beside the tests.
#[must_use]
pub fn lathe() -> PathBuf {
    built("lathe-under-test")
}

/// The binary of that name that cargo has built beside the tests.
#[must_use]
pub fn built(name: &str) -> PathBuf {
    // <target>/<profile>/deps/<test>
    let test = std::env::current_exe().expect("a test has a file");
    let profile = test.ancestors().nth(2).expect("cargo's layout");
    profile.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// A new folder to run the binary in, with nothing in it.
pub struct Folder(tempfile::TempDir);

/// How a run of the binary ended.
#[derive(Debug, PartialEq, Eq)]
pub struct Ran {
    /// The exit code; none if it was killed.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Default for Folder {
    fn default() -> Self {
        Self::new()
    }
}

impl Folder {
    /// A new one.
    #[must_use]
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file into it.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let file = self.path().join(name);
        std::fs::create_dir_all(file.parent().expect("it is in the folder")).expect("a folder");
        std::fs::write(&file, content).expect("it can be written");
        file
    }

    /// With these examples in its folder `extensions`.
    #[must_use]
    pub fn with(self, examples: &[&str]) -> Self {
        for name in examples {
            let bytes = std::fs::read(guest(name)).expect("it is built");
            self.write(&format!("extensions/{name}.wasm"), bytes);
        }
        self
    }

    /// The binary, to be run in it. The environment has no keys and no wishes.
    #[must_use]
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(lathe());
        command.current_dir(self.path()).args(args).stdin(Stdio::null());
        for name in
            ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "LATHE_LOG", "OPENAI_API_KEY", "OPENAI_BASE_URL"]
        {
            command.env_remove(name);
        }
        command
    }

    /// Runs the binary in it, with nothing on standard input.
    #[must_use]
    pub fn lathe(&self, args: &[&str]) -> Ran {
        ran(self.command(args))
    }

    /// Runs the binary in it with this on standard input.
    #[must_use]
    pub fn lathe_with(&self, args: &[&str], input: &[u8]) -> Ran {
        let mut command = self.command(args);
        // A file, not a pipe: nothing to be written while it runs.
        let file = std::fs::File::open(self.write(".stdin", input)).expect("it was written");
        command.stdin(file);
        ran(command)
    }
}

/// Runs a command to its end.
#[must_use]
pub fn ran(mut command: Command) -> Ran {
    let Output { status, stdout, stderr } = command.output().expect("it starts");
    Ran {
        code: status.code(),
        out: String::from_utf8(stdout).expect("UTF-8"),
        err: String::from_utf8(stderr).expect("UTF-8"),
    }
}
