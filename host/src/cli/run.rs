use std::pin::pin;

use super::args::TurnArgs;
use super::host::Host;
use super::input;
use super::print::Printer;
use super::problem::Problem;
use super::{Done, approvals};
use crate::agent::{Session, TurnResult, TurnStream};
use crate::config::Config;
use crate::turn::TurnStatus;

pub(super) async fn run(mut args: TurnArgs, mut config: Config) -> Result<Done, Problem> {
    let prompt = args.prompt.take().map_or_else(input::all, input::typed)?;
    let place = args.apply(&mut config);
    let mut printer = Printer::new(args.json, args.trace);
    let host = Host::open(config, place, &args.session, &mut printer).await?;
    let done = turn(&host.session, prompt, &mut printer).await;
    host.close().await;
    done
}

/// One turn, printed, with those that follow when a person has said whether its calls may run. The first Ctrl-C cancels
/// it, a second one leaves it behind.
pub(super) async fn turn(session: &Session, prompt: String, printer: &mut Printer) -> Result<Done, Problem> {
    if recovered(session, printer).await? == Done::Interrupted {
        return Ok(Done::Interrupted);
    }
    let stream = session.send(prompt).await.map_err(|error| Problem::new(error.to_string()))?;
    follow(session, stream, printer).await
}

/// Shows the turn that takes up one that an earlier process has begun, if there is one.
pub(super) async fn recovered(session: &Session, printer: &mut Printer) -> Result<Done, Problem> {
    match session.recovery() {
        Some(stream) => follow(session, stream, printer).await,
        None => Ok(Done::Well),
    }
}

/// Goes on where calls wait for approval since an earlier time.
pub(super) async fn pending(session: &Session, printer: &mut Printer) -> Result<Done, Problem> {
    if !approvals::ask(session, printer).await? {
        return Ok(Done::Well);
    }
    let stream = session.continue_last_turn(None).map_err(|error| Problem::new(error.to_string()))?;
    follow(session, stream, printer).await
}

pub(super) async fn follow(
    session: &Session,
    mut stream: TurnStream,
    printer: &mut Printer,
) -> Result<Done, Problem> {
    loop {
        let Some(result) = watch(stream, printer).await else { return Ok(Done::Interrupted) };
        let printed = printer.finish(&result, session.name());
        if result.status != TurnStatus::Completed || printed.is_err() {
            return Ok(Done::TurnFailed);
        }
        if !approvals::ask(session, printer).await? {
            return Ok(Done::Well);
        }
        stream = session.continue_last_turn(None).map_err(|error| Problem::new(error.to_string()))?;
    }
}

/// Prints a turn to its end; none if it was left behind.
async fn watch(mut stream: TurnStream, printer: &mut Printer) -> Option<TurnResult> {
    let mut interrupt = pin!(tokio::signal::ctrl_c());
    let mut interrupted = false;
    loop {
        tokio::select! {
            // First, so that it is listened for before anything is printed.
            biased;
            Ok(()) = &mut interrupt => {
                if interrupted {
                    return None;
                }
                interrupted = true;
                stream.cancel();
                interrupt.set(tokio::signal::ctrl_c());
            }
            event = stream.next() => {
                let Some(event) = event else { break };
                // Nobody reads any more.
                if printer.event(&event).is_err() {
                    stream.cancel();
                }
            }
        }
    }
    Some(stream.finish().await)
}
