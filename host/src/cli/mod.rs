//! The `lathe` binary: what can be typed, and what is printed for it.
//!
//! No logic of its own but for the building of extension crates. May use everything; nothing uses it.

mod approvals;
mod args;
mod budget;
mod build;
mod call;
mod cargo;
mod chat;
mod dev;
mod doctor;
mod ext;
mod guest;
mod host;
mod input;
mod inspect;
mod logs;
mod new;
mod operator;
mod print;
mod problem;
mod progress;
mod reload;
mod run;
mod sandbox;
mod serve;
mod sessions;
mod snapshot;
mod snippet;
mod style;
mod telemetry;
mod test;
mod watch;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use problem::Problem;

use crate::config::Config;

/// What a command comes to, but for a [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Done {
    /// All is well: exit code 0.
    Well,
    /// A turn ended in an error, or was cancelled; or a call or a test failed: 1.
    TurnFailed,
    /// Told to stop for the second time: 130, as a shell says of a process ended by Ctrl-C.
    Interrupted,
}

impl From<Done> for ExitCode {
    fn from(done: Done) -> Self {
        Self::from(match done {
            Done::Well => 0,
            Done::TurnFailed => 1,
            Done::Interrupted => 130,
        })
    }
}

/// Runs the command line that the process was started with.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Of help and of mistakes alike; a closed pipe is no one's loss.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        }
    };
    match start(cli) {
        Ok(done) => done.into(),
        Err(problem) => {
            problem.print();
            ExitCode::from(2)
        }
    }
}

fn start(cli: Cli) -> Result<Done, Problem> {
    let trace = match &cli.command {
        Command::Dev(args) => args.turn.trace,
        Command::Run(args) => args.trace,
        _ => false,
    };
    // Those that call one extension set their log up once it is loaded.
    let logged = !matches!(&cli.command, Command::Call(_) | Command::Budget(_));
    let filter = logged.then(|| logs::wanted(trace)).transpose()?;
    let config = Config::load(cli.config.as_deref())?;
    let collector = telemetry::collector(&cli.command, &config);
    let exporter = collector.as_deref().map(telemetry::exporter).transpose()?;
    if let Some(filter) = filter {
        logs::start(filter, exporter.as_ref());
    }
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|error| Problem::new(format!("cannot start the async runtime: {error}")))?;
    let done = runtime.block_on(async {
        match cli.command {
            Command::Dev(args) => Box::pin(dev::run(args, config)).await,
            Command::Run(args) => Box::pin(run::run(args, config)).await,
            Command::Serve(args) => Box::pin(serve::run(args, config)).await,
            Command::Build { dir } => build::run(dir, &config).await,
            Command::Ext(command) => Box::pin(ext::run(command, config)).await,
            Command::New(args) => new::run(&args),
            Command::Test(args) => test::run(args, &config).await,
            Command::Sessions(command) => sessions::run(command, config).await,
            Command::Doctor(args) => doctor::run(args, config).await,
            Command::Sandbox => sandbox::run(config).await,
            Command::Inspect(args) => inspect::run(args, config).await,
            Command::Call(args) => call::run(args, config).await,
            Command::Budget(args) => budget::run(args, config).await,
        }
    });
    // A thread may wait for standard input for ever.
    runtime.shutdown_background();
    if let Some(exporter) = exporter
        && let Err(error) = exporter.close()
    {
        tracing::warn!("{error}");
    }
    done
}
