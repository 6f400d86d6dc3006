use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::Done;
use super::guest::{Around, Called, Guest, Kind, Task};
use super::logs::Log;
use super::print::whole;
use super::problem::Problem;
use super::style::{BAD, DOUBTFUL, bold, clean, say};
use crate::config::Config;
use crate::hooks::Hook;
use crate::turn::Json;

pub(super) const EXAMPLES: &str = "\
Examples:
  lathe call extensions/calc.wasm tool evaluate --input '{\"expression\": \"21 * 2\"}'
  lathe call extensions/house-rules.wasm hook before-turn --settings '{\"rules\": [\"Be brief.\"]}'
  lathe call extensions/meter.wasm hook on-chunk --input '[{\"type\": \"start-step\"}]' --data .lathe
  lathe call extensions/calc.wasm tool evaluate --input - --json < input.json | jq .fuel

A hook's input is its snapshot in camelCase; a field that is not there has a default.
Limits, grants and settings are those of lathe.toml. Exit codes: 0 answered, 1 failed, 2 usage.";

#[derive(Debug, Args)]
pub(super) struct CallArgs {
    /// The component.
    #[arg(value_name = "FILE.wasm")]
    file: PathBuf,
    /// What to call.
    kind: Kind,
    /// The tool or the hook.
    name: String,
    /// What to call it with; `-` reads standard input.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    input: String,
    #[command(flatten)]
    around: Around,
    /// Print answer, cost and log as one JSON object.
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: CallArgs, config: Config) -> Result<Done, Problem> {
    let input = input(&args.input)?;
    let (guest, log) = Guest::open(&args.file, config, &args.around, args.json, |_| {}).await?;
    let task = guest.task(args.kind, &args.name, input)?;
    let called = guest.call(task.clone()).await;
    let told = if args.json {
        whole(&format!("{:#}\n", shown(&guest, &task, &called, &log)))
    } else {
        tell(&guest, &task, &called, &log)
    };
    guest.close().await;
    told?;
    Ok(if called.answer.is_ok() { Done::Well } else { Done::TurnFailed })
}

fn input(text: &str) -> Result<Json, Problem> {
    let typed = if text == "-" {
        let mut typed = String::new();
        std::io::stdin()
            .read_to_string(&mut typed)
            .map_err(|error| Problem::new(format!("cannot read standard input: {error}")))?;
        typed
    } else {
        text.to_owned()
    };
    serde_json::from_str(&typed).map_err(|error| {
        Problem::new(format!("the input is not JSON: {error}"))
            .hint("such as --input '{\"expression\": \"21 * 2\"}'; --input - reads standard input")
    })
}

fn shown(guest: &Guest, task: &Task, called: &Called, log: &Log) -> Json {
    let kind = if matches!(task, Task::Tool(..)) { "tool" } else { "hook" };
    let mut shown = json!({"extension": guest.extension.manifest.name, kind: guest.name(task)});
    match &called.answer {
        Ok(answer) => shown["answer"] = answer.clone(),
        Err(error) => shown["error"] = json!(error),
    }
    if let Some(failure) = called.failure {
        shown["failure"] = failure.into();
        shown["backtrace"] = log.backtrace().into();
    }
    if let Some(counts) = counts(guest, task) {
        shown["counts"] = counts.into();
    }
    if !called.dropped.is_empty() {
        shown["dropped"] = json!(called.dropped);
    }
    if let (Json::Object(shown), Json::Object(cost)) = (&mut shown, json!(called.cost)) {
        shown.extend(cost);
    }
    let line = |(level, text): (tracing::Level, String)| json!({"level": level.as_str(), "message": text});
    shown["log"] = log.lines().into_iter().map(line).collect();
    shown
}

/// The answer on standard output, the rest on standard error.
fn tell(guest: &Guest, task: &Task, called: &Called, log: &Log) -> Result<Done, Problem> {
    let (extension, name) = (&guest.extension.manifest.name, guest.name(task));
    let kind = if matches!(task, Task::Tool(..)) { "tool" } else { "hook" };
    if let Err(error) = &called.answer {
        let message = format!("the extension \"{extension}\", {kind} {name}: {}", error.message);
        say(&format!("{} {}", bold(BAD, "error:"), clean(&message)));
        if called.failure.is_some() {
            for line in log.backtrace() {
                say(&format!("  {}", clean(&line)));
            }
        }
    }
    for line in &called.dropped {
        say(&format!("{} left out: {}", bold(DOUBTFUL, "warning:"), clean(line)));
    }
    if counts(guest, task) == Some(false) {
        let warning = bold(DOUBTFUL, "warning:");
        say(&format!("{warning} in a turn this answer does not count: \"{name}\" is not granted to decide"));
    }
    if let Some(cost) = &called.cost {
        say(&format!(
            "{:.2} ms, {} fuel, {} bytes of memory, {} bytes answered, {} denied",
            cost.duration_ms, cost.fuel, cost.memory_bytes, cost.output_bytes, cost.denied
        ));
    }
    match &called.answer {
        Ok(answer) => whole(&format!("{answer:#}\n")),
        Err(_) => Ok(Done::TurnFailed),
    }
}

/// Whether a gate's answer counts in a turn; none of what is no gate.
fn counts(guest: &Guest, task: &Task) -> Option<bool> {
    let Task::Hook(shown) = task else { return None };
    let hook = shown.hook();
    let is_gate = matches!(hook, Hook::BeforeStep | Hook::BeforeToolCall | Hook::AfterToolCall);
    is_gate.then(|| guest.extension.grant.decides(hook))
}
