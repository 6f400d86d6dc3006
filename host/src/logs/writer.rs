use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use super::{LogLine, file};
use crate::extensions::{LogLevel, LogRecord, LogSource};

/// Records that wait to be written; further ones are dropped and counted. 4,096: four instances that log as much as they
/// may at once, at most 16 MiB.
const WAITING: usize = 4_096;

/// Bytes of lines that are gathered for one write: a quarter of a file.
const BATCH: usize = 256 << 10;

/// Keeps what extensions log, in one file for each of them. Clones write to the same.
#[derive(Clone, Debug)]
pub struct Logs {
    waiting: mpsc::Sender<Entry>,
    dropped: Arc<Dropped>,
}

/// How many records were dropped, by extension.
type Dropped = Mutex<BTreeMap<String, u64>>;

#[derive(Debug)]
enum Entry {
    Line(String, LogLine),
    Flush(oneshot::Sender<()>),
}

impl Logs {
    /// Writes into this folder, which is made when there is something to write.
    ///
    /// # Errors
    ///
    /// If no thread can be started.
    pub fn new(folder: PathBuf) -> io::Result<Self> {
        let (waiting, entries) = mpsc::channel(WAITING);
        let dropped = Arc::<Dropped>::default();
        let writer = Writer { folder, dropped: dropped.clone(), failed: false };
        std::thread::Builder::new().name("lathe-logs".into()).spawn(move || writer.run(entries))?;
        Ok(Self { waiting, dropped })
    }

    /// Has a record written. If too many wait, it is dropped, and its log says so later.
    pub fn log(&self, extension: &str, record: LogRecord) {
        let line = LogLine { time: now(), record };
        if self.waiting.try_send(Entry::Line(extension.to_owned(), line)).is_err() {
            *self.dropped.lock().entry(extension.to_owned()).or_default() += 1;
        }
    }

    /// Waits until everything that was logged before is written.
    pub async fn flush(&self) {
        let (reply, written) = oneshot::channel();
        if self.waiting.send(Entry::Flush(reply)).await.is_ok() {
            let _ = written.await;
        }
    }
}

fn now() -> String {
    format!("{:.3}", Timestamp::now())
}

struct Writer {
    folder: PathBuf,
    dropped: Arc<Dropped>,
    /// Whether the last write failed: that is told once.
    failed: bool,
}

impl Writer {
    /// Until nobody logs any more.
    fn run(mut self, mut entries: mpsc::Receiver<Entry>) {
        while let Some(first) = entries.blocking_recv() {
            let mut lines: BTreeMap<String, Vec<u8>> = BTreeMap::new();
            let mut flushed = Vec::new();
            let mut bytes = 0;
            let mut next = Some(first);
            while let Some(entry) = next {
                match entry {
                    Entry::Line(extension, line) => {
                        bytes += add(lines.entry(extension).or_default(), &line);
                    }
                    Entry::Flush(reply) => flushed.push(reply),
                }
                next = if bytes < BATCH { entries.try_recv().ok() } else { None };
            }
            for (extension, count) in std::mem::take(&mut *self.dropped.lock()) {
                let record = LogRecord {
                    level: LogLevel::Warn,
                    source: LogSource::Host,
                    session: String::new(),
                    request_id: String::new(),
                    failure: None,
                    message: format!("{count} log records were dropped: too many came at once"),
                };
                add(lines.entry(extension).or_default(), &LogLine { time: now(), record });
            }
            for (extension, lines) in lines {
                let written = file::append(&self.folder, &extension, &lines);
                self.tell(&self.folder.clone(), written.err());
            }
            for reply in flushed {
                let _ = reply.send(());
            }
        }
    }

    fn tell(&mut self, folder: &Path, error: Option<io::Error>) {
        let failed = error.is_some();
        if let Some(error) = error.filter(|_| !self.failed) {
            tracing::warn!(folder = %folder.display(), "what extensions log cannot be kept: {error}");
        }
        self.failed = failed;
    }
}

/// Says how many bytes it has added.
fn add(lines: &mut Vec<u8>, line: &LogLine) -> usize {
    let before = lines.len();
    if serde_json::to_writer(&mut *lines, line).is_ok() {
        lines.push(b'\n');
    }
    lines.len() - before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logs::LogReader;

    fn says(message: &str) -> LogRecord {
        LogRecord {
            level: LogLevel::Info,
            source: LogSource::Guest,
            session: "s".into(),
            request_id: "r".into(),
            failure: None,
            message: message.into(),
        }
    }

    fn messages(reader: &mut LogReader) -> Vec<String> {
        reader.read().unwrap().into_iter().map(|line| line.record.message).collect()
    }

    #[tokio::test]
    async fn what_is_logged_is_found_in_order_by_extension_and_over_restarts() {
        let folder = tempfile::tempdir().unwrap();
        let logs = Logs::new(folder.path().join("logs")).unwrap();
        for (extension, message) in [("a", "1"), ("b", "2"), ("a", "3\n4")] {
            logs.log(extension, says(message));
        }
        logs.flush().await;
        let again = Logs::new(folder.path().join("logs")).unwrap();
        again.log("a", says("5"));
        again.flush().await;
        let mut reader = LogReader::new(&folder.path().join("logs"), "a");
        assert_eq!(messages(&mut reader), ["1", "3\n4", "5"]);
        assert_eq!(file::logged(&folder.path().join("logs")), ["a", "b"]);
        logs.log("a", says("6"));
        logs.flush().await;
        assert_eq!(messages(&mut reader), ["6"], "what came since");
    }

    #[tokio::test]
    async fn the_files_stay_small_and_a_reader_follows_from_one_to_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let logs = Logs::new(folder.path().into()).unwrap();
        let mut reader = LogReader::new(folder.path(), "a");
        let mut read = Vec::new();
        let padding = "x".repeat(4_000);
        for round in 0..8 {
            for number in 0..100 {
                logs.log("a", says(&format!("{round}/{number} {padding}")));
            }
            logs.flush().await;
            read.extend(messages(&mut reader));
        }
        assert_eq!(read.len(), 800, "none was missed");
        assert!(read.last().unwrap().starts_with("7/99 "));
        let sizes: Vec<u64> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|file| file.unwrap().metadata().unwrap().len())
            .collect();
        assert_eq!(sizes.len(), 2);
        assert!(sizes.iter().all(|size| *size <= 1 << 20), "{sizes:?}");
        let kept = messages(&mut LogReader::new(folder.path(), "a"));
        assert!(kept.len() < 800 && kept == read[800 - kept.len()..], "the newest are kept");
    }

    #[test]
    fn a_flood_is_cut_off_and_counted() {
        let folder = tempfile::tempdir().unwrap();
        let (waiting, entries) = mpsc::channel(2);
        let dropped = Arc::<Dropped>::default();
        let logs = Logs { waiting, dropped: dropped.clone() };
        for number in 0..5 {
            logs.log("a", says(&number.to_string()));
        }
        drop(logs);
        Writer { folder: folder.path().into(), dropped, failed: false }.run(entries);
        let kept = messages(&mut LogReader::new(folder.path(), "a"));
        assert_eq!(kept, ["0", "1", "3 log records were dropped: too many came at once"]);
    }
}
