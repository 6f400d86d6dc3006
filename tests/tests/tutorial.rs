//! `docs/extensions.md`, typed into an empty folder: its files are those of an example, its commands say what it shows.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

use lathe_tests::binary::{Folder, Ran, ran};
use lathe_tests::docs::{Block, blocks, matches};
use lathe_tests::guests::{root, target};

/// The page as an author follows it.
struct Reader {
    folder: Folder,
    /// Where the author is.
    place: PathBuf,
}

impl Reader {
    fn new() -> Self {
        let folder = Folder::new();
        std::os::unix::fs::symlink(lathe_tests::binary::lathe(), folder.path().join("lathe")).unwrap();
        Self { place: folder.path().to_owned(), folder }
    }

    /// A command, as a shell reads it.
    fn types(&mut self, typed: &str) -> Option<Ran> {
        if let Some(folder) = typed.strip_prefix("cd ") {
            self.place.push(folder);
            return None;
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", typed]).current_dir(&self.place);
        let cargo = Path::new(env!("CARGO")).parent().unwrap().to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = [self.folder.path().to_owned(), cargo].into_iter().chain(std::env::split_paths(&path));
        shell.env("PATH", std::env::join_paths(path).unwrap());
        for (name, _) in std::env::vars_os() {
            let of_the_test = ["CARGO_PKG", "CARGO_MANIFEST"];
            if name.to_str().is_some_and(|name| of_the_test.iter().any(|of| name.starts_with(of))) {
                shell.env_remove(name);
            }
        }
        // Kept between runs, and shared with the test of `lathe new`: what is fetched is all that it needs.
        shell.env("CARGO_TARGET_DIR", target().join("author")).env("CARGO_NET_OFFLINE", "true");
        shell.env_remove("LATHE_LOG").stdin(std::process::Stdio::null());
        Some(ran(shell))
    }

    fn follows(&mut self, console: &str) {
        let mut said = None;
        for line in console.lines() {
            if let Some(typed) = line.strip_prefix("$ ") {
                said = self.types(typed).map(|ran| (typed.to_owned(), Said::of(&ran), ran));
            } else {
                let (typed, said, ran) = said.as_mut().unwrap();
                assert!(said.has(line), "`{typed}` does not say `{line}`:\n{}\n{}", ran.out, ran.err);
            }
        }
    }
}

/// The lines of both streams that were not asked for yet. Within each, their order counts.
struct Said([Vec<String>; 2]);

impl Said {
    fn of(ran: &Ran) -> Self {
        Self([&ran.out, &ran.err].map(|text| text.lines().map(str::to_owned).collect()))
    }

    fn has(&mut self, line: &str) -> bool {
        for stream in &mut self.0 {
            if let Some(at) = stream.iter().position(|said| matches(line, said)) {
                stream.drain(..=at);
                return true;
            }
        }
        false
    }
}

#[test]
fn the_tutorial_does_what_it_says() {
    let page = std::fs::read_to_string(root().join("docs/extensions.md")).unwrap();
    let mut reader = Reader::new();
    let (mut files, mut consoles) = (0, 0);
    for Block { file, language, text } in blocks(&page) {
        match (file, language) {
            (Some(file), _) => {
                let original = std::fs::read_to_string(root().join(file)).unwrap();
                assert_eq!(text, original, "docs/extensions.md shows another {file}");
                reader.folder.write(file.strip_prefix("examples/").unwrap(), text);
                files += 1;
            }
            (None, "console") => {
                reader.follows(&text);
                consoles += 1;
            }
            (None, other) => panic!("a block of {other} that nobody looks at:\n{text}"),
        }
    }
    assert!(files >= 5 && consoles >= 8, "{files} files, {consoles} consoles");
}
