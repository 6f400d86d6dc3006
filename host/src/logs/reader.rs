use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{LogLine, file};

/// Reads an extension's log, from its beginning as far as it is kept, then what is added to it.
#[derive(Debug)]
pub struct LogReader {
    path: PathBuf,
    /// What is read before the first line of `path`.
    older: Option<PathBuf>,
    open: Option<File>,
    /// The beginning of a line that is still being written.
    rest: Vec<u8>,
}

impl LogReader {
    /// Of the log of `extension` in that folder, which need not be there.
    #[must_use]
    pub fn new(folder: &Path, extension: &str) -> Self {
        Self {
            path: file::current(folder, extension),
            older: Some(file::old(folder, extension)),
            open: None,
            rest: Vec::new(),
        }
    }

    /// What is new since it was called last. A line that is none is passed over.
    ///
    /// # Errors
    ///
    /// If a file is there and cannot be read.
    pub fn read(&mut self) -> io::Result<Vec<LogLine>> {
        let mut bytes = std::mem::take(&mut self.rest);
        if let Some(older) = self.older.take()
            && let Some(mut file) = open(&older)?
        {
            file.read_to_end(&mut bytes)?;
        }
        if let Some(file) = &mut self.open {
            file.read_to_end(&mut bytes)?;
        }
        if !self.is_current()? {
            // What was added to the old file before its name was taken from it.
            if let Some(mut file) = self.open.take() {
                file.read_to_end(&mut bytes)?;
            }
            self.open = open(&self.path)?;
            if let Some(file) = &mut self.open {
                file.read_to_end(&mut bytes)?;
            }
        }
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.rest = bytes.split_off(end);
        let lines = bytes.split(|byte| *byte == b'\n');
        Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    /// Whether the open file is the one that is being written.
    fn is_current(&self) -> io::Result<bool> {
        let Some(open) = &self.open else { return Ok(false) };
        match fs::metadata(&self.path) {
            Ok(there) => same(&open.metadata()?, &there),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(unix)]
fn same(one: &fs::Metadata, other: &fs::Metadata) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

#[cfg(not(unix))]
fn same(one: &fs::Metadata, other: &fs::Metadata) -> io::Result<bool> {
    Ok(one.created()? == other.created()?)
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
