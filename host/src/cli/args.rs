use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::Styles;
use clap::builder::styling::AnsiColor;
use clap::{Args, Parser, Subcommand, ValueEnum};

use super::{budget, call, doctor, serve, sessions};
use crate::config::Config;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Runs LLM agents whose behaviour is shaped by sandboxed WebAssembly extensions.
#[derive(Debug, Parser)]
#[command(bin_name = "lathe", version, styles = STYLES, after_help = EXAMPLES)]
pub(super) struct Cli {
    /// The configuration [default: lathe.toml, if there].
    #[arg(long, global = true, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    #[command(subcommand)]
    pub(super) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  lathe dev \"What is 21 * 2, and what time is it in Tokyo?\"
  lathe run --model openai:gpt-5.2 --session work \"Where were we?\"
  lathe ext list

Exit codes: 0 done, 1 the turn or the call ended in an error, 2 usage or configuration.
LATHE_LOG filters the log on standard error, as in LATHE_LOG=lathe=debug.";

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Builds the extensions, then runs turns: one, one a line of standard input, or a chat. Between turns, what has
    /// changed in the folder or in lathe.toml is built and loaded.
    #[command(after_help = DEV_EXAMPLES)]
    Dev(DevArgs),
    /// Runs one turn, and prints the answer as it comes.
    #[command(after_help = RUN_EXAMPLES)]
    Run(TurnArgs),
    /// Serves the agent to clients over WebSocket, those of Cloudflare's agents among them. What has changed in the folder
    /// or in lathe.toml is built and loaded for the turns that begin then.
    #[command(after_help = serve::EXAMPLES)]
    Serve(serve::ServeArgs),
    /// Makes a new extension: a small one with a hook, a tool, settings and tests.
    #[command(after_help = NEW_EXAMPLES)]
    New(NewArgs),
    /// Builds an extension, or each one directly below a folder, into NAME.wasm in that folder: crates, and what is written
    /// in JavaScript or Python.
    #[command(after_help = BUILD_EXAMPLES)]
    Build {
        /// The extension or the folder [default: this extension, or else the extensions folder].
        dir: Option<PathBuf>,
    },
    /// Runs the tests of an extension, or of each one directly below a folder.
    #[command(after_help = TEST_EXAMPLES)]
    Test(TestArgs),
    /// Runs a component for the tests of its author, by orders on standard input.
    #[command(hide = true)]
    Sandbox,
    /// What extensions there are.
    #[command(subcommand)]
    Ext(ExtCommand),
    /// The sessions that are stored.
    #[command(subcommand)]
    Sessions(sessions::SessionsCommand),
    /// Looks the database over, and makes anew what is derived in it. What was said is never changed.
    #[command(after_help = doctor::EXAMPLES)]
    Doctor(doctor::DoctorArgs),
    /// Shows what one extension is, asks for and offers. Runs nothing of it but `describe`.
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(InspectArgs),
    /// Calls one tool or hook of an extension, in its sandbox, and tells the answer and what it cost.
    #[command(after_help = call::EXAMPLES)]
    Call(call::CallArgs),
    /// Plays a script of calls and suggests limits for lathe.toml.
    #[command(after_help = budget::EXAMPLES)]
    Budget(budget::BudgetArgs),
}

const DEV_EXAMPLES: &str = "\
Examples:
  lathe dev                                  a chat
  lathe dev \"What is 21 * 2?\" --trace        one turn, with what the hooks do
  lathe dev \"What is 21 * 2?\" --watch        and again after each change of an extension
  lathe dev --json < prompts.txt             a turn for each line";

const RUN_EXAMPLES: &str = "\
Examples:
  lathe run \"What is 21 * 2?\"
  lathe run --model openai:gpt-5.2 --session work \"Where were we?\"
  git diff | lathe run --extensions review/  the prompt is standard input
  lathe run --json \"What is 21 * 2?\" | jq -r 'select(.type == \"finish\").text'";

const BUILD_EXAMPLES: &str = "\
Examples:
  lathe build
  lathe build extensions/";

const NEW_EXAMPLES: &str = "\
Examples:
  lathe new hello
  lathe new extensions/hello";

const TEST_EXAMPLES: &str = "\
Examples:
  lathe test                                 as cargo test, node --test or unittest, in the tests' own process
  lathe test --sandbox                       the same tests, with the component in the sandbox
  lathe test --sandbox extensions/";

const LIST_EXAMPLES: &str = "\
Examples:
  lathe ext list
  lathe ext list --json | jq -r '.[] | select(.health == \"failed\").error'
  lathe ext list --json | jq '.[] | {name, health, strikes, lastError, totals}'";

const RESET_EXAMPLES: &str = "\
Examples:
  lathe ext reset house-rules";

const ENABLE_EXAMPLES: &str = "\
Examples:
  lathe ext enable house-rules";

const DISABLE_EXAMPLES: &str = "\
Examples:
  lathe ext disable house-rules";

const GRANT_EXAMPLES: &str = "\
Permissions:
  decide=HOOK,…          its answers count: beforeStep, beforeToolCall, afterToolCall
  model                  it may choose another model
  reasons                its own words for a blocked call reach the model
  workspace=DIR[:rw]     a folder, to read (or to write); a relative one is taken from the folder of lathe.toml
  network=HOST,…         hosts, by https: api.example.org, *.example.org
  environment=NAME,…     variables of the host
  context-read=LABEL,…   context blocks, or all
  context-write=LABEL,…  context blocks, or own
  messages, session-info, send-message

Examples:
  lathe ext grant github
  lathe ext grant github network=api.github.com decide=beforeToolCall
  lathe ext grant notes workspace=notes:rw messages
  lathe ext grant notes --all";

const REVOKE_EXAMPLES: &str = "\
Examples:
  lathe ext revoke github network=api.github.com
  lathe ext revoke github network decide
  lathe ext revoke github --all";

const RELOAD_EXAMPLES: &str = "\
Examples:
  lathe ext reload";

const LOGS_EXAMPLES: &str = "\
Examples:
  lathe ext logs calc -n 20
  lathe ext logs calc --follow
  lathe ext logs calc --json | jq -r 'select(.failure).message'";

const INSPECT_EXAMPLES: &str = "\
Examples:
  lathe inspect extensions/calc.wasm
  lathe inspect extensions/calc.wasm --json | jq .imports";

#[derive(Debug, Args)]
pub(super) struct TurnArgs {
    /// What to say; without it, standard input is read.
    pub(super) prompt: Option<OsString>,
    /// The conversation to go on with.
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(super) session: String,
    #[command(flatten)]
    pub(super) place: Place,
    /// The model, as `provider:name`, `demo` or `scripted:FILE`.
    #[arg(long, value_name = "ID")]
    pub(super) model: Option<String>,
    /// Print one JSON event per line.
    #[arg(long)]
    pub(super) json: bool,
    /// Say on standard error what the extensions do: time, fuel, changes.
    #[arg(long)]
    pub(super) trace: bool,
    /// Send traces to the OpenTelemetry collector at that address, such as http://localhost:4318.
    #[arg(long, value_name = "URL")]
    pub(super) otlp: Option<String>,
}

impl TurnArgs {
    /// Puts what was typed in the place of what the file says. Returns what of it says where things are.
    pub(super) fn apply(&mut self, config: &mut Config) -> Place {
        let place = self.place.clone();
        self.place.apply(config);
        if let Some(model) = self.model.take() {
            config.model = model;
        }
        place
    }
}

#[derive(Debug, Args)]
pub(super) struct DevArgs {
    #[command(flatten)]
    pub(super) turn: TurnArgs,
    /// Answer the prompt again whenever an extension has changed, until Ctrl-C.
    #[arg(long, requires = "prompt")]
    pub(super) watch: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum ExtCommand {
    /// Lists the extensions of the folder, those that cannot be loaded too.
    #[command(after_help = LIST_EXAMPLES)]
    List(ListArgs),
    /// Ends the quarantine of an extension and forgets its strikes.
    #[command(after_help = RESET_EXAMPLES)]
    Reset(NamedArgs),
    /// Has an extension loaded that was disabled.
    #[command(after_help = ENABLE_EXAMPLES)]
    Enable(NamedArgs),
    /// Has an extension not loaded any more, until it is enabled. What it has stored is kept.
    #[command(after_help = DISABLE_EXAMPLES)]
    Disable(NamedArgs),
    /// Shows what an extension asks for and is granted; or grants it more.
    #[command(after_help = GRANT_EXAMPLES)]
    Grant(GrantArgs),
    /// Takes back what an extension is granted.
    #[command(after_help = REVOKE_EXAMPLES)]
    Revoke(RevokeArgs),
    /// Has the hosts that run on this data folder take lathe.toml and the extensions anew before their next turn.
    #[command(after_help = RELOAD_EXAMPLES)]
    Reload(ReloadArgs),
    /// Shows what an extension has logged, and what it has failed with.
    #[command(after_help = LOGS_EXAMPLES)]
    Logs(LogsArgs),
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    #[command(flatten)]
    pub(super) place: Place,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct NamedArgs {
    /// The extension.
    pub(super) name: String,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, Args)]
pub(super) struct GrantArgs {
    /// The extension.
    pub(super) name: String,
    /// What it may do, as NAME or NAME=VALUE,VALUE; without any, what it asks for is shown.
    #[arg(value_name = "PERMISSION", conflicts_with = "all")]
    pub(super) permissions: Vec<String>,
    /// Grant all that it asks for, but for a folder, which has to be named.
    #[arg(long)]
    pub(super) all: bool,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, Args)]
pub(super) struct RevokeArgs {
    /// The extension.
    pub(super) name: String,
    /// What it may not do any more, as NAME, or NAME=VALUE,VALUE for a part of it.
    #[arg(value_name = "PERMISSION", required_unless_present = "all", conflicts_with = "all")]
    pub(super) permissions: Vec<String>,
    /// Everything.
    #[arg(long)]
    pub(super) all: bool,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, Args)]
pub(super) struct ReloadArgs {
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, Args)]
pub(super) struct LogsArgs {
    /// The extension.
    pub(super) name: String,
    /// Go on with what comes, until Ctrl-C.
    #[arg(long, short)]
    pub(super) follow: bool,
    /// Print JSON, one record a line.
    #[arg(long)]
    pub(super) json: bool,
    /// No more than the last N records of what there is.
    #[arg(short = 'n', value_name = "N")]
    pub(super) last: Option<usize>,
    #[command(flatten)]
    pub(super) place: Place,
}

#[derive(Debug, Args)]
pub(super) struct NewArgs {
    /// The folder to make; its last part is the extension's name.
    #[arg(value_name = "NAME")]
    pub(super) path: PathBuf,
    /// The language to write it in.
    #[arg(long, value_name = "LANGUAGE", default_value = "rust")]
    pub(super) lang: Language,
}

/// A language that has a template.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Language {
    Rust,
    #[value(name = "js", alias = "javascript")]
    JavaScript,
    Python,
}

#[derive(Debug, Args)]
pub(super) struct TestArgs {
    /// The extension or the folder [default: this extension, or else the extensions folder].
    pub(super) dir: Option<PathBuf>,
    /// Build the component first, and run it in the sandbox.
    #[arg(long)]
    pub(super) sandbox: bool,
}

#[derive(Debug, Args)]
pub(super) struct InspectArgs {
    /// The component.
    #[arg(value_name = "FILE.wasm")]
    pub(super) file: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
}

/// Where things are, in place of what the configuration says.
#[derive(Clone, Debug, Args)]
pub(super) struct Place {
    /// The folder of the extensions.
    #[arg(long, value_name = "DIR")]
    pub(super) extensions: Option<PathBuf>,
    /// The folder of the database and of the compile cache.
    #[arg(long, value_name = "DIR")]
    pub(super) data: Option<PathBuf>,
}

impl Place {
    /// Puts what was typed in the place of what the file says.
    pub(super) fn apply(&mut self, config: &mut Config) {
        config.extensions.dir = self.extensions.take().or(config.extensions.dir.take());
        if let Some(data) = self.data.take() {
            config.data = data;
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }
}
