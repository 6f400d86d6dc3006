//! What an operator does with stored sessions.

mod change;
mod list;
mod show;
mod transfer;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Done;
use super::problem::Problem;
use crate::config::{Config, nearest};
use crate::store::{SqliteStore, Store, StoreError};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum SessionsCommand {
    /// Lists the sessions, those that have changed last first.
    #[command(after_help = LIST_EXAMPLES)]
    List(ListArgs),
    /// Prints the conversation of a session as a turn finds it: with summaries in the place of what they stand for.
    #[command(after_help = SHOW_EXAMPLES)]
    Show(ShowArgs),
    /// Finds the messages that say a phrase, the newest first, at most 20.
    #[command(after_help = SEARCH_EXAMPLES)]
    Search(SearchArgs),
    /// Copies a session into a new one: its conversation, or what of it leads to a message.
    #[command(after_help = FORK_EXAMPLES)]
    Fork(ForkArgs),
    /// Gives a session another name. No host may be using it.
    Rename(RenameArgs),
    /// Deletes a session with all that belongs to it. No host may be using it.
    Delete(OneArgs),
    /// Writes all of a session as JSON, one message a line with the id of the one that it answers, then its summaries.
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(TransferArgs),
    /// Makes a new session of what `export` has written; all of it, or nothing.
    #[command(after_help = IMPORT_EXAMPLES)]
    Import(TransferArgs),
}

const LIST_EXAMPLES: &str = "\
Examples:
  lathe sessions list
  lathe sessions list --json | jq -r '.[] | select(.messages > 100).name'";

const SHOW_EXAMPLES: &str = "\
Examples:
  lathe sessions show work
  lathe sessions show work --json | jq -r '.[].id'";

const SEARCH_EXAMPLES: &str = "\
Examples:
  lathe sessions search \"release notes\"
  lathe sessions search --session work kettle --json";

const FORK_EXAMPLES: &str = "\
Examples:
  lathe sessions fork work another-try
  lathe sessions fork work another-try --at 019a2b3c";

const EXPORT_EXAMPLES: &str = "\
Examples:
  lathe sessions export work work.jsonl
  lathe sessions export work | gzip > work.jsonl.gz";

const IMPORT_EXAMPLES: &str = "\
Examples:
  lathe sessions import work work.jsonl
  zcat work.jsonl.gz | lathe sessions import work";

#[derive(Debug, Args)]
pub(in crate::cli) struct ListArgs {
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: Data,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ShowArgs {
    /// The session.
    name: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: Data,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct SearchArgs {
    /// Words that stand together. Case and accents do not matter.
    phrase: String,
    /// In this session alone.
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    data: Data,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct ForkArgs {
    /// The session.
    name: String,
    /// The name of the copy.
    new: String,
    /// The last message of the copy [default: the last one].
    #[arg(long, value_name = "MESSAGE")]
    at: Option<String>,
    #[command(flatten)]
    data: Data,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct RenameArgs {
    /// The session.
    name: String,
    /// Its new name.
    new: String,
    #[command(flatten)]
    data: Data,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct OneArgs {
    /// The session.
    name: String,
    #[command(flatten)]
    data: Data,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct TransferArgs {
    /// The session.
    name: String,
    /// The file [default: standard input or output].
    file: Option<PathBuf>,
    #[command(flatten)]
    data: Data,
}

/// Where the sessions are.
#[derive(Debug, Args)]
pub(in crate::cli) struct Data {
    /// The folder of the database.
    #[arg(long = "data", value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Data {
    /// The database.
    pub(in crate::cli) fn file(self, mut config: Config) -> PathBuf {
        config.data = self.dir.unwrap_or(config.data);
        config.database()
    }

    /// Opens it if it is there: to look at sessions makes none.
    async fn open(self, config: Config) -> Result<Option<SqliteStore>, Problem> {
        let file = self.file(config);
        if !file.exists() {
            return Ok(None);
        }
        Ok(Some(SqliteStore::open(&file).await?))
    }

    /// Opens it where it must be there.
    async fn known(self, config: Config, session: &str) -> Result<SqliteStore, Problem> {
        let file = self.file(config);
        if !file.exists() {
            let missing = StoreError::NoSession(session.to_owned());
            return Err(Problem::new(format!("{missing}: {} does not exist", file.display()))
                .hint("--data DIR is where the host keeps its sessions"));
        }
        Ok(SqliteStore::open(&file).await?)
    }
}

pub(super) async fn run(command: SessionsCommand, config: Config) -> Result<Done, Problem> {
    match command {
        SessionsCommand::List(args) => list::list(args, config).await,
        SessionsCommand::Show(args) => show::show(args, config).await,
        SessionsCommand::Search(args) => list::search(args, config).await,
        SessionsCommand::Fork(args) => change::fork(args, config).await,
        SessionsCommand::Rename(args) => change::rename(args, config).await,
        SessionsCommand::Delete(args) => change::delete(args, config).await,
        SessionsCommand::Export(args) => transfer::export(args, config).await,
        SessionsCommand::Import(args) => transfer::import(args, config).await,
    }
}

/// What the store says, with the name that may have been meant.
async fn explain(store: &SqliteStore, error: StoreError) -> Problem {
    let StoreError::NoSession(name) = &error else { return error.into() };
    let names: Vec<String> =
        store.sessions().await.unwrap_or_default().into_iter().map(|session| session.name).collect();
    let problem = Problem::new(error.to_string());
    match nearest(name, &names) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => problem.hint("`lathe sessions list` shows the names; --data DIR is another folder"),
    }
}
