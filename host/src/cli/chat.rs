use rustyline::config::Behavior;
use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{Config, Editor};

use super::Done;
use super::host::Host;
use super::print::Printer;
use super::problem::Problem;
use super::run::{pending, recovered, turn};

type Line = Editor<(), DefaultHistory>;

/// A turn for each line typed, until Ctrl-D. A turn that fails does not end it.
pub(super) async fn run(host: &mut Host, printer: &mut Printer) -> Result<Done, Problem> {
    // The terminal itself, so that standard output can go elsewhere.
    let config = Config::builder().behavior(Behavior::PreferTerm).auto_add_history(true).build();
    let mut editor = Line::with_config(config).map_err(|error| broken(&error))?;
    printer.note(&format!("session {}, Ctrl-D ends", host.session.name()));
    if recovered(&host.session, printer).await? == Done::Interrupted
        || pending(&host.session, printer).await? == Done::Interrupted
    {
        return Ok(Done::Interrupted);
    }
    loop {
        let (returned, line) = read(editor).await?;
        editor = returned;
        let prompt = match line {
            Ok(line) if line.trim().is_empty() => continue,
            Ok(line) => line,
            // Ctrl-C drops the line.
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return Ok(Done::Well),
            Err(error) => return Err(broken(&error)),
        };
        host.reload.due(printer).await;
        if turn(&host.session, prompt, printer).await? == Done::Interrupted {
            return Ok(Done::Interrupted);
        }
    }
}

/// On a thread where waiting holds nobody up.
async fn read(mut editor: Line) -> Result<(Line, Result<String, ReadlineError>), Problem> {
    let reading = tokio::task::spawn_blocking(move || {
        let line = editor.readline("> ");
        (editor, line)
    });
    reading.await.map_err(|error| Problem::new(format!("cannot read the terminal: {error}")))
}

fn broken(error: &ReadlineError) -> Problem {
    Problem::new(format!("cannot read the terminal: {error}"))
        .hint("give the prompt as argument, or one a line on standard input")
}
