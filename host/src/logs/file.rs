//! The files of one folder: `NAME.jsonl`, and `NAME.1.jsonl` with what was before.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Bytes of a file after which a new one is begun. 1 MiB: some ten thousand lines; with the old file, twice that is kept.
const SIZE: u64 = 1 << 20;

pub(super) fn current(folder: &Path, extension: &str) -> PathBuf {
    folder.join(format!("{extension}.jsonl"))
}

pub(super) fn old(folder: &Path, extension: &str) -> PathBuf {
    folder.join(format!("{extension}.1.jsonl"))
}

/// The names of extensions that have logs in this folder, sorted.
#[must_use]
pub fn logged(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".jsonl").map(str::to_owned))
        .filter(|name| !name.contains('.'))
        .collect();
    names.sort();
    names
}

/// Adds whole lines in one write, so that hosts that share a folder do not mix theirs. The file is open no longer than
/// that: there may be a thousand of them.
pub(super) fn append(folder: &Path, extension: &str, lines: &[u8]) -> io::Result<()> {
    let path = current(folder, extension);
    let mut file = open(folder, &path)?;
    let length = file.metadata()?.len();
    if length > 0 && length + lines.len() as u64 > SIZE {
        fs::rename(&path, old(folder, extension))?;
        file = open(folder, &path)?;
    }
    file.write_all(lines)
}

fn open(folder: &Path, path: &Path) -> io::Result<File> {
    let open = || OpenOptions::new().create(true).append(true).open(path);
    match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut builder = DirBuilder::new();
            builder.recursive(true);
            // What extensions say of conversations is the owner's.
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(folder)?;
            open()
        }
        opened => opened,
    }
}
