//! Looks the database over.

use clap::Args;
use serde_json::json;

use super::Done;
use super::print::whole;
use super::problem::Problem;
use super::sessions::Data;
use super::style::clean;
use crate::config::Config;
use crate::store::{Checkup, SqliteStore};

pub(super) const EXAMPLES: &str = "\
Examples:
  lathe doctor
  lathe doctor --json | jq -r '.faults[].session'

Exit codes: 0 all is well, or was made so; 1 something is wrong; 2 the database cannot be opened.";

#[derive(Debug, Args)]
pub(super) struct DoctorArgs {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: Data,
}

/// What can be done about a file that is damaged.
const DAMAGED: &str = "\
The file is damaged, and was not written to. Stop the hosts that use it and keep a copy of it. What can be read can be
saved: `lathe sessions export NAME` for each session, then `lathe sessions import NAME` with another --data folder.
`sqlite3 lathe.db .recover` gets at more, where there is sqlite3.
";

/// What can be done about a message that cannot be read.
const UNREADABLE: &str = "\
Nothing was changed. A message that a newer version of lathe has written can be read by that version. Other sessions
go on; `lathe sessions delete NAME` gives one up.
";

pub(super) async fn run(args: DoctorArgs, config: Config) -> Result<Done, Problem> {
    let file = args.data.file(config);
    if !file.exists() {
        return Err(Problem::new(format!(
            "there is no database {}: no host has run with it",
            file.display()
        ))
        .hint("--data DIR names another folder"));
    }
    let checkup = SqliteStore::check(&file).await?;
    if args.json {
        whole(&format!("{:#}\n", json!(checkup)))?;
    } else {
        whole(&format!("{}: {}", file.display(), in_words(&checkup)))?;
    }
    Ok(if checkup.faults.is_empty() { Done::Well } else { Done::TurnFailed })
}

fn in_words(checkup: &Checkup) -> String {
    let Checkup { sessions, messages, faults, mended, damaged } = checkup;
    let mut text = format!("{sessions} sessions, {messages} messages that can be read\n");
    for mended in mended {
        text += &format!("made anew: {mended}\n");
    }
    for fault in faults {
        text += &format!("wrong: {}", clean(&fault.reason));
        match &fault.session {
            // Most reasons name it themselves.
            Some(session) if !fault.reason.contains(&format!("\"{session}\"")) => {
                text += &format!(" (session \"{}\")\n", clean(session));
            }
            _ => text.push('\n'),
        }
    }
    match (damaged, faults.is_empty()) {
        (true, _) => text += DAMAGED,
        (false, false) => text += UNREADABLE,
        (false, true) => {}
    }
    text
}
