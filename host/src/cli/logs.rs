use std::io::IsTerminal;
use std::sync::Arc;

use anstream::ColorChoice;
use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use super::problem::Problem;
use super::telemetry::Exporter;
use crate::extensions::BACKTRACE;

/// What is to be logged: warnings, and what `LATHE_LOG` lets through.
pub(super) fn wanted(trace: bool) -> Result<EnvFilter, Problem> {
    filter(if trace { "warn,lathe::guest=info" } else { "warn" })
}

/// The log goes to standard error, and what `exporter` takes goes there.
pub(super) fn start(filter: EnvFilter, exporter: Option<&Exporter>) {
    tracing_subscriber::registry().with(printed(filter)).with(exporter.map(Exporter::layer)).init();
}

/// The log of single calls: all that the guest says, and no failure, which is the command's own to tell. To standard
/// error unless it is `kept` for later; backtraces always are.
pub(super) fn of_calls(kept: bool) -> Result<Log, Problem> {
    let said = "warn,lathe::extensions::tool=error,lathe::extensions::worker=error,lathe::guest=trace";
    let log = Log::default();
    let traces = EnvFilter::new(format!("off,{BACKTRACE}=debug"));
    if kept {
        let lines = log.lines.clone();
        let keep = Keep(lines).with_filter(filter(&format!("{said},{BACKTRACE}=off"))?);
        tracing_subscriber::registry()
            .with(keep)
            .with(Keep(log.backtrace.clone()).with_filter(traces))
            .init();
    } else {
        let traces = Keep(log.backtrace.clone()).with_filter(traces);
        tracing_subscriber::registry().with(printed(filter(said)?)).with(traces).init();
    }
    Ok(log)
}

/// What has been logged and not printed.
#[derive(Default)]
pub(super) struct Log {
    lines: Lines,
    backtrace: Lines,
}

impl Log {
    /// Each as its level and its text.
    pub(super) fn lines(&self) -> Vec<(Level, String)> {
        self.lines.lock().clone()
    }

    /// Where the last guest that trapped was: a line for each function, innermost first.
    pub(super) fn backtrace(&self) -> Vec<String> {
        let traces = self.backtrace.lock();
        // The first line is a heading.
        let frames = traces.last().map(|(_, trace)| trace.lines().skip(1).map(|line| line.trim().to_owned()));
        frames.map(Iterator::collect).unwrap_or_default()
    }
}

type Lines = Arc<Mutex<Vec<(Level, String)>>>;

/// Keeps what is logged.
struct Keep(Lines);

impl<S: Subscriber> Layer<S> for Keep {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        struct Message(String);
        impl Visit for Message {
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                if field.name() == "message" {
                    self.0 = format!("{value:?}");
                }
            }
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        self.0.lock().push((*event.metadata().level(), message.0));
    }
}

/// Spans that are for traces alone say nothing new in a log.
const TRACES: &str = "gen_ai=off";

fn filter(default: &str) -> Result<EnvFilter, Problem> {
    match std::env::var("LATHE_LOG") {
        Ok(filter) if !filter.trim().is_empty() => {
            EnvFilter::try_new(format!("{filter},{TRACES}")).map_err(|error| {
                Problem::new(format!("LATHE_LOG is no log filter: {error}"))
                    .hint("such as LATHE_LOG=info, or LATHE_LOG=warn,lathe=debug")
            })
        }
        _ => Ok(EnvFilter::new(format!("{default},{TRACES}"))),
    }
}

fn printed<S: Subscriber + for<'a> tracing_subscriber::registry::LookupSpan<'a>>(
    filter: EnvFilter,
) -> impl Layer<S> {
    let stderr = std::io::stderr();
    let color = stderr.is_terminal() && anstream::AutoStream::choice(&stderr) != ColorChoice::Never;
    let lines = tracing_subscriber::fmt::layer().compact().without_time().with_ansi(color);
    lines.with_writer(std::io::stderr).with_filter(filter)
}
