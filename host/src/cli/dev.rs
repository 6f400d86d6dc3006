use std::io::IsTerminal;

use super::args::TurnArgs;
use super::build::{self, Report};
use super::host::Host;
use super::input::{self, Lines};
use super::print::Printer;
use super::problem::Problem;
use super::run::turn;
use super::{Done, chat};
use crate::agent::Session;
use crate::config::Config;

pub(super) async fn run(mut args: TurnArgs, mut config: Config) -> Result<Done, Problem> {
    let prompt = args.prompt.take().map(input::typed).transpose()?;
    args.apply(&mut config);
    let mut printer = Printer::new(args.json, args.trace);
    let dir = config.extensions_dir();
    if config.extensions.dir.is_some() || dir.exists() {
        build::folder(dir, &config.data, Report::Changes).await?;
    }
    let host = Host::open(&config, &args.session, &mut printer).await?;
    let done = match prompt {
        Some(prompt) => turn(&host.session, prompt, &mut printer).await,
        None if std::io::stdin().is_terminal() => chat::run(&host.session, &mut printer).await,
        None => lines(&host.session, &mut printer).await,
    };
    host.close().await;
    done
}

/// A turn for each line; the worst of them is what it comes to.
async fn lines(session: &Session, printer: &mut Printer) -> Result<Done, Problem> {
    let mut lines = Lines::new();
    let mut worst = Done::Well;
    loop {
        let line = tokio::select! {
            line = lines.next() => line?,
            Ok(()) = tokio::signal::ctrl_c() => return Ok(Done::Interrupted),
        };
        let Some(prompt) = line else { return Ok(worst) };
        worst = worst.max(turn(session, prompt, printer).await?);
        if worst == Done::Interrupted || printer.is_closed() {
            return Ok(worst);
        }
    }
}
