use std::pin::pin;

use super::Done;
use super::args::TurnArgs;
use super::host::Host;
use super::input;
use super::print::Printer;
use super::problem::Problem;
use crate::agent::Session;
use crate::config::Config;
use crate::turn::TurnStatus;

pub(super) async fn run(mut args: TurnArgs, mut config: Config) -> Result<Done, Problem> {
    let prompt = args.prompt.take().map_or_else(input::all, input::typed)?;
    args.apply(&mut config);
    let mut printer = Printer::new(args.json, args.trace);
    let host = Host::open(&config, &args.session, &mut printer).await?;
    let done = turn(&host.session, prompt, &mut printer).await;
    host.close().await;
    Ok(done)
}

/// One turn, printed. The first Ctrl-C cancels it, a second one leaves it behind.
pub(super) async fn turn(session: &Session, prompt: String, printer: &mut Printer) -> Done {
    let mut stream = session.send(prompt);
    let mut interrupt = pin!(tokio::signal::ctrl_c());
    let mut interrupted = false;
    loop {
        tokio::select! {
            // First, so that it is listened for before anything is printed.
            biased;
            Ok(()) = &mut interrupt => {
                if interrupted {
                    return Done::Interrupted;
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
    let result = stream.finish().await;
    let printed = printer.finish(&result, session.name());
    if result.status == TurnStatus::Completed && printed.is_ok() { Done::Well } else { Done::TurnFailed }
}
