use std::io::{BufRead, IsTerminal};

use super::print::Printer;
use super::problem::Problem;
use crate::agent::Session;
use crate::turn::{ToolState, UiMessage};

/// Asks the person at the terminal whether the calls that wait for approval may run. False if there is none to ask
/// about, or nobody to ask; calls then wait on.
pub(super) async fn ask(session: &Session, printer: &mut Printer) -> Result<bool, Problem> {
    let messages = session.messages().await.map_err(|error| Problem::new(error.to_string()))?;
    let calls = messages.last().into_iter().flat_map(UiMessage::tools);
    let waiting: Vec<_> = calls.filter(|tool| tool.state == ToolState::ApprovalRequested).collect();
    if waiting.is_empty() {
        return Ok(false);
    }
    if !std::io::stdin().is_terminal() {
        for tool in waiting {
            printer.note(&format!(
                "{} {} waits for approval; `lathe dev --session {}` in a terminal asks for it",
                tool.tool_name,
                tool.input,
                session.name()
            ));
        }
        return Ok(false);
    }
    for tool in waiting {
        printer.note(&format!("allow {} {}? [y/N]", tool.tool_name, tool.input));
        let approved = answer().await?;
        session
            .approve(&tool.tool_call_id, approved, None, false)
            .await
            .map_err(|error| Problem::new(error.to_string()))?;
    }
    Ok(true)
}

/// Anything but a yes is a no, the end of the input included.
async fn answer() -> Result<bool, Problem> {
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).map(|_| line)
    });
    let line = read.await.map_err(std::io::Error::other).and_then(|line| line);
    let line = line.map_err(|error| Problem::new(format!("cannot read the terminal: {error}")))?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}
