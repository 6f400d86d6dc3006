//! Traces for OpenTelemetry, where the binary can send them.

use super::args::Command;
use super::problem::Problem;
use crate::config::Config;

/// Where the traces of a command go that runs turns.
pub(super) fn collector(command: &Command, config: &Config) -> Option<String> {
    let typed = match command {
        Command::Dev(args) => &args.turn.otlp,
        Command::Run(args) => &args.otlp,
        Command::Serve(args) => &args.otlp,
        _ => return None,
    };
    typed.clone().or(config.telemetry.otlp.clone())
}

#[cfg(feature = "otel")]
pub(super) use crate::telemetry::Exporter;

/// Sends traces to that address.
#[cfg(feature = "otel")]
pub(super) fn exporter(url: &str) -> Result<Exporter, Problem> {
    Exporter::new(url).map_err(|error| {
        Problem::new(error.to_string())
            .hint("such as http://localhost:4318, where a collector takes OTLP over HTTP")
    })
}

/// What a binary without OpenTelemetry has in its place: there is none.
#[cfg(not(feature = "otel"))]
pub(super) enum Exporter {}

#[cfg(not(feature = "otel"))]
pub(super) fn exporter(url: &str) -> Result<Exporter, Problem> {
    Err(Problem::new(format!("no traces can be sent to {url}: this lathe was built without OpenTelemetry"))
        .hint("cargo install --path host --features otel builds one with it"))
}

#[cfg(not(feature = "otel"))]
impl Exporter {
    pub(super) fn layer(&self) -> tracing_subscriber::layer::Identity {
        match *self {}
    }

    pub(super) fn close(self) -> Result<(), std::convert::Infallible> {
        match self {}
    }
}

#[cfg(all(test, not(feature = "otel")))]
mod tests {
    #[test]
    fn it_says_how_to_get_one_that_can() {
        let problem = super::exporter("http://localhost:4318").err().unwrap();
        assert!(problem.message().contains("built without OpenTelemetry"), "{problem:?}");
    }
}
