use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::Styles;
use clap::builder::styling::AnsiColor;
use clap::{Args, Parser, Subcommand, ValueEnum};

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

Exit codes: 0 done, 1 the turn ended in an error, 2 usage or configuration.
LATHE_LOG filters the log on standard error, as in LATHE_LOG=lathe=debug.";

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Builds the extensions, then runs turns: one, one a line of standard input, or a chat.
    #[command(after_help = DEV_EXAMPLES)]
    Dev(TurnArgs),
    /// Runs one turn, and prints the answer as it comes.
    #[command(after_help = RUN_EXAMPLES)]
    Run(TurnArgs),
    /// Makes a new extension: a small crate with a hook, a tool, settings and tests.
    #[command(after_help = NEW_EXAMPLES)]
    New(NewArgs),
    /// Builds the extension of a crate, or of each crate directly below a folder: NAME.wasm, in that folder.
    #[command(after_help = BUILD_EXAMPLES)]
    Build {
        /// The crate or the folder [default: this crate, or else the extensions folder].
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
    /// Shows what one extension is, asks for and offers. Runs nothing of it but `describe`.
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(InspectArgs),
}

const DEV_EXAMPLES: &str = "\
Examples:
  lathe dev                                  a chat
  lathe dev \"What is 21 * 2?\" --trace        one turn, with what the hooks do
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
  lathe test                                 as cargo test does, in the test's own process
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
}

impl TurnArgs {
    /// Puts what was typed in the place of what the file says.
    pub(super) fn apply(&mut self, config: &mut Config) {
        self.place.apply(config);
        if let Some(model) = self.model.take() {
            config.model = model;
        }
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum ExtCommand {
    /// Lists the extensions of the folder, those that cannot be loaded too.
    #[command(after_help = LIST_EXAMPLES)]
    List(ListArgs),
    /// Ends the quarantine of an extension and forgets its strikes.
    #[command(after_help = RESET_EXAMPLES)]
    Reset(ResetArgs),
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
pub(super) struct ResetArgs {
    /// The extension.
    pub(super) name: String,
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
}

#[derive(Debug, Args)]
pub(super) struct TestArgs {
    /// The crate or the folder [default: this crate, or else the extensions folder].
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
#[derive(Debug, Args)]
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
