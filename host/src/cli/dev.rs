use std::io::IsTerminal;

use super::args::DevArgs;
use super::build::{self, Report};
use super::host::Host;
use super::input::{self, Lines};
use super::print::Printer;
use super::problem::Problem;
use super::run::{follow, turn};
use super::{Done, chat};
use crate::config::Config;

pub(super) async fn run(args: DevArgs, mut config: Config) -> Result<Done, Problem> {
    let DevArgs { turn: mut args, watch } = args;
    let prompt = args.prompt.take().map(input::typed).transpose()?;
    let place = args.apply(&mut config);
    let mut printer = Printer::new(args.json, args.trace);
    let dir = config.extensions_dir();
    if config.extensions.dir.is_some() || dir.exists() {
        build::folder(dir, &config.data, Report::Changes).await?;
    }
    let mut host = Host::open(config, place, &args.session, &mut printer).await?;
    let done = match prompt {
        Some(prompt) if watch => again_and_again(&mut host, prompt, &mut printer).await,
        Some(prompt) => turn(&host.session, prompt, &mut printer).await,
        None => {
            if let Err(problem) = host.reload.watch() {
                problem.print();
            }
            if std::io::stdin().is_terminal() {
                chat::run(&mut host, &mut printer).await
            } else {
                lines(&mut host, &mut printer).await
            }
        }
    };
    host.close().await;
    done
}

/// A turn for each line; the worst of them is what it comes to.
async fn lines(host: &mut Host, printer: &mut Printer) -> Result<Done, Problem> {
    let mut lines = Lines::new();
    let mut worst = Done::Well;
    loop {
        let line = tokio::select! {
            line = lines.next() => line?,
            Ok(()) = tokio::signal::ctrl_c() => return Ok(Done::Interrupted),
        };
        let Some(prompt) = line else { return Ok(worst) };
        host.reload.due(printer).await;
        worst = worst.max(turn(&host.session, prompt, printer).await?);
        if worst == Done::Interrupted || printer.is_closed() {
            return Ok(worst);
        }
    }
}

/// One turn, which answers the prompt anew whenever the extensions have changed. Ctrl-C between turns ends it.
async fn again_and_again(host: &mut Host, prompt: String, printer: &mut Printer) -> Result<Done, Problem> {
    host.reload.watch()?;
    let mut done = turn(&host.session, prompt, printer).await?;
    while done != Done::Interrupted && !printer.is_closed() {
        printer.note("waiting for a change, Ctrl-C ends");
        loop {
            let change = tokio::select! {
                change = host.reload.changed() => change,
                Ok(()) = tokio::signal::ctrl_c() => return Ok(done),
            };
            if host.reload.take(change, printer).await {
                break;
            }
        }
        let stream = host.session.regenerate(None).map_err(|error| Problem::new(error.to_string()))?;
        done = follow(&host.session, stream, printer).await?;
    }
    Ok(done)
}
