use std::io::IsTerminal;

use anstream::ColorChoice;
use tracing_subscriber::EnvFilter;

use super::problem::Problem;

/// The log goes to standard error: warnings, and what `LATHE_LOG` lets through.
pub(super) fn start(trace: bool) -> Result<(), Problem> {
    let default = if trace { "warn,lathe::guest=info" } else { "warn" };
    let filter = match std::env::var("LATHE_LOG") {
        Ok(filter) if !filter.trim().is_empty() => EnvFilter::try_new(&filter).map_err(|error| {
            Problem::new(format!("LATHE_LOG is no log filter: {error}"))
                .hint("such as LATHE_LOG=info, or LATHE_LOG=warn,lathe=debug")
        })?,
        _ => EnvFilter::new(default),
    };
    let stderr = std::io::stderr();
    let color = stderr.is_terminal() && anstream::AutoStream::choice(&stderr) != ColorChoice::Never;
    tracing_subscriber::fmt()
        .compact()
        .without_time()
        .with_ansi(color)
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .init();
    Ok(())
}
