use std::cmp::Ordering;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Deserialize;
use serde_json::json;

use super::Done;
use super::ext::table;
use super::guest::{Around, Cost, Guest, Kind, Task};
use super::print::whole;
use super::problem::Problem;
use super::style::{BAD, bold, clean, say};
use crate::config::{Config, ExtensionSection};
use crate::turn::Json;

pub(super) const EXAMPLES: &str = "\
Examples:
  lathe budget extensions/calc.wasm --script calls.jsonl
  lathe budget extensions/meter.wasm --script - --json < calls.json

A script is a JSON list, or one object a line:
  {\"hook\": \"before-turn\", \"input\": {\"system\": \"…\"}}
  {\"hook\": \"on-chunk\", \"repeat\": 50}
  {\"tool\": \"evaluate\", \"input\": {\"expression\": \"2 ^ 100\"}, \"repeat\": 20}
It stands for one turn: its hooks share an instance, and what they burn together is the fuel of a turn.";

/// Head room of the suggested fuel: inputs differ more than a script shows.
const FUEL_ROOM: u64 = 4;

/// Head room of the suggested memory.
const MEMORY_ROOM: u64 = 2;

/// So that what is measured is the guest, not its limits: a hundred thousand times what a call has by default.
const FUEL: u64 = 20_000_000_000_000;

/// As much as a memory with 32-bit addresses can be.
const MEMORY: usize = 4 << 30;

/// The least time that a call gets while it is measured, in milliseconds.
const TIMEOUT_MS: u64 = 60_000;

const MIB: u64 = 1 << 20;

#[derive(Debug, Args)]
pub(super) struct BudgetArgs {
    /// The component.
    #[arg(value_name = "FILE.wasm")]
    file: PathBuf,
    /// The calls; `-` reads standard input.
    #[arg(long, value_name = "FILE")]
    script: PathBuf,
    #[command(flatten)]
    around: Around,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A line of a script.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    tool: Option<String>,
    hook: Option<String>,
    #[serde(default = "nothing")]
    input: Json,
    #[serde(default = "once")]
    repeat: NonZeroU32,
}

fn nothing() -> Json {
    json!({})
}

fn once() -> NonZeroU32 {
    NonZeroU32::MIN
}

/// The calls of one tool or hook.
struct Row {
    name: String,
    is_hook: bool,
    costs: Vec<Cost>,
}

pub(super) async fn run(args: BudgetArgs, config: Config) -> Result<Done, Problem> {
    let entries = entries(&text(&args.script)?)?;
    let (guest, log) = Guest::open(&args.file, config, &args.around, args.json, unlimited).await?;
    let task = |(number, entry): (usize, Entry)| {
        let repeat = entry.repeat.get();
        let task = task(&guest, entry)
            .map_err(|problem| problem.within(&format!("entry {} of the script", number + 1)))?;
        Ok((repeat, task))
    };
    let tasks: Vec<(u32, Task)> =
        entries.into_iter().enumerate().map(task).collect::<Result<_, Problem>>()?;
    let (mut rows, mut errors) = (Vec::new(), Vec::new());
    for (repeat, task) in tasks {
        if let Err(error) = play(&guest, &task, repeat, &mut rows).await {
            errors.push(error);
        }
    }
    let extension = guest.extension.manifest.name.clone();
    guest.close().await;
    // What failed has cost something, but not what it would have cost.
    let limits = errors.is_empty().then(|| Suggested::of(&rows));
    if args.json {
        let lines: Vec<String> = log.lines().into_iter().map(|(_, line)| line).collect();
        let rows: Vec<Json> = rows.iter().map(Row::shown).collect();
        let limits = limits.as_ref().map(Suggested::shown);
        let shown = json!({
            "extension": extension, "calls": rows, "limits": limits, "errors": errors, "log": lines,
        });
        whole(&format!("{shown:#}\n"))?;
    } else {
        for error in &errors {
            say(&format!("{} {}", bold(BAD, "error:"), clean(error)));
        }
        let limits = limits.as_ref().map_or_else(String::new, |limits| limits.section(&extension));
        whole(&format!("{}{limits}", costs(&rows)))?;
    }
    Ok(if errors.is_empty() { Done::Well } else { Done::TurnFailed })
}

fn text(script: &Path) -> Result<String, Problem> {
    let read = if script == Path::new("-") {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(script)
    };
    read.map_err(|error| Problem::new(format!("cannot read the script {}: {error}", script.display())))
}

fn entries(text: &str) -> Result<Vec<Entry>, Problem> {
    let hint = r#"an entry is such as {"tool": "evaluate", "input": {"expression": "1 + 1"}, "repeat": 10}"#;
    let wrong = |place: String, error: &serde_json::Error| {
        Problem::new(format!("{place} is not usable: {error}")).hint(hint)
    };
    let entries: Vec<Entry> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map_err(|error| wrong("the script".into(), &error))?
    } else {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let read = |(number, line): (usize, &str)| {
            serde_json::from_str(line)
                .map_err(|error| wrong(format!("line {} of the script", number + 1), &error))
        };
        lines.map(read).collect::<Result<_, _>>()?
    };
    if entries.is_empty() { Err(Problem::new("the script is empty").hint(hint)) } else { Ok(entries) }
}

fn task(guest: &Guest, entry: Entry) -> Result<Task, Problem> {
    match (entry.tool, entry.hook) {
        (Some(tool), None) => guest.task(Kind::Tool, &tool, entry.input),
        (None, Some(hook)) => guest.task(Kind::Hook, &hook, entry.input),
        _ => Err(Problem::new("it needs either a `tool` or a `hook`")),
    }
}

fn unlimited(section: &mut ExtensionSection) {
    let limits = &mut section.limits;
    (limits.fuel_per_call, limits.fuel_per_turn, limits.memory_bytes, limits.strikes) =
        (FUEL, FUEL, MEMORY, 0);
    limits.hook_timeout_ms = limits.hook_timeout_ms.max(TIMEOUT_MS);
    limits.tool_timeout_ms = limits.tool_timeout_ms.max(TIMEOUT_MS);
}

/// Calls something so often, or until it fails. A tool's own error is an answer like another.
async fn play(guest: &Guest, task: &Task, repeat: u32, rows: &mut Vec<Row>) -> Result<(), String> {
    let name = guest.name(task);
    for _ in 0..repeat {
        let called = guest.call(task.clone()).await;
        let (Some(cost), None) = (called.cost, called.failure) else {
            let error = called.answer.err().map(|error| error.message).unwrap_or_default();
            return Err(format!("{name}: {error}"));
        };
        match rows.iter_mut().find(|row| row.name == name) {
            Some(row) => row.costs.push(cost),
            None => {
                let is_hook = matches!(task, Task::Hook(_));
                rows.push(Row { name: name.to_owned(), is_hook, costs: vec![cost] });
            }
        }
    }
    Ok(())
}

impl Row {
    /// Smallest to largest; there is at least one.
    fn sorted<T: PartialOrd>(&self, of: impl Fn(&Cost) -> T) -> Vec<T> {
        let mut values: Vec<T> = self.costs.iter().map(of).collect();
        values.sort_by(|one, other| one.partial_cmp(other).unwrap_or(Ordering::Equal));
        values
    }

    fn median<T: PartialOrd + Copy + Default>(&self, of: impl Fn(&Cost) -> T) -> T {
        self.sorted(of).get(self.costs.len() / 2).copied().unwrap_or_default()
    }

    fn most<T: PartialOrd + Copy + Default>(&self, of: impl Fn(&Cost) -> T) -> T {
        self.sorted(of).last().copied().unwrap_or_default()
    }

    fn shown(&self) -> Json {
        json!({
            if self.is_hook { "hook" } else { "tool" }: self.name,
            "calls": self.costs.len(),
            "fuel": {"median": self.median(|cost| cost.fuel), "most": self.most(|cost| cost.fuel)},
            "memoryBytes": self.most(|cost| cost.memory_bytes),
            "outputBytes": self.most(|cost| cost.output_bytes),
            "durationMs": {"median": self.median(|cost| cost.duration_ms), "most": self.most(|cost| cost.duration_ms)},
        })
    }
}

fn costs(rows: &[Row]) -> String {
    let head = ["CALL", "CALLS", "FUEL (MEDIAN)", "FUEL (MOST)", "MEMORY (MOST)", "MS (MEDIAN)", "MS (MOST)"];
    let row = |row: &Row| {
        [
            row.name.clone(),
            row.costs.len().to_string(),
            grouped(row.median(|cost| cost.fuel)),
            grouped(row.most(|cost| cost.fuel)),
            grouped(row.most(|cost| cost.memory_bytes as u64)),
            format!("{:.2}", row.median(|cost| cost.duration_ms)),
            format!("{:.2}", row.most(|cost| cost.duration_ms)),
        ]
    };
    table(&[head.map(String::from)].into_iter().chain(rows.iter().map(row)).collect::<Vec<_>>())
}

/// Limits with head room, in readable numbers.
struct Suggested {
    fuel_per_call: u64,
    fuel_per_turn: u64,
    memory_bytes: u64,
}

impl Suggested {
    fn of(rows: &[Row]) -> Self {
        let call = rows.iter().map(|row| row.most(|cost| cost.fuel)).max().unwrap_or_default();
        let hooks = rows.iter().filter(|row| row.is_hook).flat_map(|row| &row.costs);
        let turn = hooks.fold(0u64, |sum, cost| sum.saturating_add(cost.fuel));
        let memory =
            rows.iter().map(|row| row.most(|cost| cost.memory_bytes as u64)).max().unwrap_or_default();
        let fuel_per_call = readable(call.saturating_mul(FUEL_ROOM));
        Self {
            fuel_per_call,
            fuel_per_turn: readable(turn.saturating_mul(FUEL_ROOM)).max(fuel_per_call),
            memory_bytes: memory.saturating_mul(MEMORY_ROOM).div_ceil(MIB).max(1) * MIB,
        }
    }

    fn shown(&self) -> Json {
        json!({
            "fuel-per-call": self.fuel_per_call,
            "fuel-per-turn": self.fuel_per_turn,
            "memory-bytes": self.memory_bytes,
        })
    }

    /// For `lathe.toml`.
    fn section(&self, extension: &str) -> String {
        format!(
            "\n# {FUEL_ROOM} times the fuel and {MEMORY_ROOM} times the memory that the script took. Times differ between \
             machines: they are no ground for a limit.\n\
             [extension.{extension}.limits]\nfuel-per-call = {}\nfuel-per-turn = {}\nmemory-bytes = {}  # {} MiB\n",
            grouped(self.fuel_per_call),
            grouped(self.fuel_per_turn),
            grouped(self.memory_bytes),
            self.memory_bytes / MIB
        )
    }
}

/// Rounded up to two digits and zeros.
fn readable(number: u64) -> u64 {
    let unit = 10u64.pow(number.max(1).ilog10().saturating_sub(1));
    number.div_ceil(unit).saturating_mul(unit)
}

/// With a `_` between every three digits, as TOML reads it.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, is_hook: bool, fuel: &[u64]) -> Row {
        let cost = |fuel: &u64| Cost {
            duration_ms: 1.0,
            fuel: *fuel,
            memory_bytes: 1_200_000,
            output_bytes: 0,
            denied: 0,
        };
        Row { name: name.into(), is_hook, costs: fuel.iter().map(cost).collect() }
    }

    #[test]
    fn a_turn_is_all_hooks_together_and_a_call_the_dearest_one() {
        let rows = [row("a", true, &[100, 300, 200]), row("b", true, &[1_000]), row("t", false, &[5_001])];
        assert_eq!(rows[0].median(|cost| cost.fuel), 200);
        let limits = Suggested::of(&rows);
        // 4 * 5,001 and 4 * 1,600, rounded up, and no less for a turn than for a call.
        assert_eq!((limits.fuel_per_call, limits.fuel_per_turn), (21_000, 21_000));
        assert_eq!(limits.memory_bytes, 3 << 20);
        let limits = Suggested::of(&rows[..2]);
        assert_eq!((limits.fuel_per_call, limits.fuel_per_turn), (4_000, 6_400));
    }

    #[test]
    fn numbers_are_round_and_grouped() {
        let readable = [0, 7, 99, 101, 12_345].map(readable);
        assert_eq!(readable, [0, 7, 99, 110, 13_000]);
        let grouped = [0, 999, 1_000, 12_345_678].map(grouped);
        assert_eq!(grouped, ["0", "999", "1_000", "12_345_678"]);
    }

    #[test]
    fn a_script_is_a_list_or_lines() {
        for text in [
            "[{\"tool\": \"a\"}, {\"hook\": \"b\", \"repeat\": 3}]",
            "{\"tool\": \"a\"}\n\n{\"hook\": \"b\"}\n",
        ] {
            assert_eq!(entries(text).unwrap().len(), 2, "{text}");
        }
        for (text, said) in [
            ("", "the script is empty"),
            ("{\"tool\": \"a\"}\n{", "line 2 of the script is not usable"),
            ("{\"tol\": \"a\"}", "unknown field `tol`"),
            ("{\"tool\": \"a\", \"repeat\": 0}", "line 1"),
        ] {
            assert!(entries(text).unwrap_err().message().contains(said), "{text}");
        }
    }
}
