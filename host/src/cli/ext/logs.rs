use std::io::{ErrorKind, Write};
use std::time::Duration;

use super::find;
use crate::cli::Done;
use crate::cli::args::LogsArgs;
use crate::cli::problem::Problem;
use crate::cli::style::clean;
use crate::config::Config;
use crate::extensions::{LogRecord, LogSource};
use crate::logs::{LogLine, LogReader, logged};

/// How often the file is looked at while it is followed.
const LOOK: Duration = Duration::from_millis(200);

pub(super) async fn run(args: LogsArgs, mut config: Config) -> Result<Done, Problem> {
    let LogsArgs { name, follow, json, last, mut place } = args;
    place.clone().apply(&mut config);
    let folder = config.logs();
    if !logged(&folder).contains(&name) {
        // The data folder is as it was typed, also for the second time.
        place.data = None;
        find(place, &mut config, &name).await?;
    }
    let mut reader = LogReader::new(&folder, &name);
    let mut lines = read(&mut reader)?;
    if let Some(last) = last {
        lines.drain(..lines.len().saturating_sub(last));
    }
    loop {
        let text: String =
            lines.iter().map(|line| if json { as_json(line) } else { in_words(line) }).collect();
        if !print(&text)? || !follow {
            return Ok(Done::Well);
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            Ok(()) = tokio::signal::ctrl_c() => return Ok(Done::Well),
        }
        lines = read(&mut reader)?;
    }
}

fn read(reader: &mut LogReader) -> Result<Vec<LogLine>, Problem> {
    reader.read().map_err(|error| Problem::new(format!("cannot read the log: {error}")))
}

/// False if nobody reads any more.
fn print(text: &str) -> Result<bool, Problem> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Problem::new(format!("cannot write to standard output: {error}"))),
    }
}

fn as_json(line: &LogLine) -> String {
    serde_json::to_string(line).unwrap_or_default() + "\n"
}

/// When, how important, where; then what. What the host says is marked.
fn in_words(line: &LogLine) -> String {
    let LogRecord { level, source, session, request_id, message, .. } = &line.record;
    let host = if *source == LogSource::Host { "[host] " } else { "" };
    let place = if session.is_empty() { String::new() } else { format!("{session} {request_id} ") };
    format!(
        "{} {:<5} {}{host}{}\n",
        line.time,
        level.name(),
        clean(&place),
        clean(message).replace('\n', "\n  ")
    )
}
