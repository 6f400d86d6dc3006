//! Where the host differs on purpose from what was recorded: `tests/conformance/differences.toml`.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Context;
use lathe_tests::compare::{Found, compare};
use serde::Deserialize;
use serde_json::Value;

use crate::case::Case;
use crate::library::script::{Script, Turn, When};
use crate::library::sequence::without_empty_answers;
use crate::{library, sequence};

/// One that is intended.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Difference {
    /// Only in this case.
    case: Option<String>,
    /// Only in cases of this kind.
    when: Option<Situation>,
    /// Not a field that differs, but the form of a whole side.
    form: Option<Form>,
    /// Where: names from the top, `*` for any one, without the places in lists. What lies below counts too.
    fields: Vec<String>,
    /// Only where the recording has nothing.
    #[serde(default)]
    beyond: bool,
    /// Only where the host has nothing.
    #[serde(default)]
    missing: bool,
    /// Only if the recording has one of these there; of an object, the given fields count, and `*` is any value.
    expected: Option<Vec<Value>>,
    /// Only if the host has one of these there.
    got: Option<Vec<Value>>,
    /// Only if the recording has this in front of the host's own text.
    in_front: Option<String>,
    /// Why it is better so.
    reason: String,
    #[serde(skip)]
    used: BTreeSet<String>,
}

/// What a case is about, told by its input.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Situation {
    /// An extension's tool has the full name of another tool.
    ToolNameTaken,
    /// An extension's name is not made of `a-z`, `0-9` and `-`, or has the prefix of another.
    ExtensionName,
    /// A step that reached its length limit has tool calls.
    LengthWithCalls,
    /// A hook asks for a tool call, and there is an answer without it.
    ChoiceNotFollowed,
    /// A hook around tool calls throws.
    ToolHookThrows,
    /// A hook blocks a tool call.
    Blocked,
    /// The user cancels while a tool runs.
    CancelledInTools,
    /// A hook makes a failure of a call, or details for it.
    FailedWithDetails,
    /// A stream closes without its final event.
    StreamWithoutEnd,
    /// A stream breaks off after tool calls.
    BrokenWithCalls,
    /// A conversation is continued that ends with the model's words, with nothing waiting.
    ContinuedAfterAnswer,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Form {
    /// The results of a step come after all its calls, in the order of the calls.
    ResultsByCall,
    /// Answers of which nothing had come are left out.
    WithoutEmptyAnswers,
}

/// All of them.
#[derive(Debug, Deserialize)]
pub(crate) struct Differences {
    /// From Think.
    #[serde(rename = "difference")]
    think: Vec<Difference>,
    /// From the Go library.
    library: Vec<Difference>,
}

impl Differences {
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        toml::from_str(&text).with_context(|| file.display().to_string())
    }

    /// In what a case differs though it should not.
    pub(crate) fn without(&mut self, case: &Case, expected: &Value, got: &Value) -> Vec<String> {
        let of_library = case.library.is_some();
        let ready = if of_library { library::sequence::ready } else { sequence::ready };
        let list = if of_library { &mut self.library } else { &mut self.think };
        let (mut expected, mut got) = (ready(case, expected), ready(case, got));
        for difference in list.iter_mut().filter(|difference| difference.applies(case)) {
            let Some(form) = difference.form else { continue };
            let before = compare(&expected, &got);
            let (mut formed, mut formed_got) = (expected.clone(), got.clone());
            for side in [&mut formed, &mut formed_got] {
                match form {
                    Form::ResultsByCall => sequence::results_by_call(case, side),
                    Form::WithoutEmptyAnswers => without_empty_answers(side),
                }
            }
            if compare(&formed, &formed_got).len() < before.len() {
                (expected, got) = (formed, formed_got);
                difference.used.insert(case.name.clone());
            }
        }
        let mut found = compare(&expected, &got);
        for difference in list.iter_mut().filter(|difference| difference.applies(case)) {
            let before = found.len();
            found.retain(|found| difference.form.is_some() || !difference.covers(found));
            if found.len() < before {
                difference.used.insert(case.name.clone());
            }
        }
        found.iter().map(Found::to_string).collect()
    }

    /// Says which were met.
    pub(crate) fn report(&self) {
        for difference in
            self.think.iter().chain(&self.library).filter(|difference| !difference.used.is_empty())
        {
            let cases: Vec<&str> = difference.used.iter().map(|case| &**case).collect();
            println!(
                "differs in {}: {} ({})",
                difference.fields.join(", "),
                difference.reason,
                cases.join(", ")
            );
        }
    }
}

impl Difference {
    fn applies(&self, case: &Case) -> bool {
        self.case.as_ref().is_none_or(|name| *name == case.name)
            && self.when.is_none_or(|situation| situation.is_met(case))
    }

    fn covers(&self, found: &Found) -> bool {
        let path: Vec<&str> =
            found.path.iter().map(|name| &**name).filter(|name| name.parse::<usize>().is_err()).collect();
        let lies_below = |field: &String| {
            let names: Vec<&str> = field.split('.').collect();
            names.len() <= path.len() && names.iter().zip(&path).all(|(name, at)| *name == "*" || name == at)
        };
        let one_of = |list: &Option<Vec<Value>>, value: &Option<Value>| {
            list.as_ref().is_none_or(|list| {
                value.as_ref().is_some_and(|value| list.iter().any(|wanted| holds(value, wanted)))
            })
        };
        let in_front = |text: &String| match (&found.expected, &found.got) {
            (Some(Value::String(expected)), Some(Value::String(got))) => {
                expected.strip_prefix(&**text) == Some(&**got)
            }
            _ => false,
        };
        self.fields.iter().any(lies_below)
            && self.in_front.as_ref().is_none_or(in_front)
            && (!self.beyond || found.expected.is_none())
            && (!self.missing || found.got.is_none())
            && one_of(&self.expected, &found.expected)
            && one_of(&self.got, &found.got)
    }
}

/// Whether a value has all that is wanted of it.
fn holds(value: &Value, wanted: &Value) -> bool {
    match wanted {
        Value::Object(wanted) => {
            wanted.iter().all(|(key, wanted)| value.get(key).is_some_and(|value| holds(value, wanted)))
        }
        Value::String(any) if any == "*" => true,
        other => value == other,
    }
}

impl Situation {
    fn is_met(self, case: &Case) -> bool {
        match self {
            Self::ToolNameTaken => {
                let mut names: BTreeSet<String> = case.host.tools.keys().cloned().collect();
                let mut own = tools_of_extensions(case).map(|(name, _)| name);
                own.any(|name| !names.insert(name))
            }
            Self::ExtensionName => {
                let mut prefixes = BTreeSet::new();
                let mut names = BTreeSet::new();
                case.extensions.iter().any(|extension| {
                    let name = extension["name"].as_str().unwrap_or_default();
                    let word = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
                    let known = !names.insert(name);
                    !word || prefix(name).is_empty() || (!prefixes.insert(prefix(name)) && !known)
                })
            }
            Self::ChoiceNotFollowed => {
                let mut asked = answers(case).filter_map(|answer| {
                    let choice = &answer["toolChoice"];
                    let kind = choice["type"].as_str().or(choice.as_str())?;
                    matches!(kind, "tool" | "required").then(|| choice["toolName"].as_str())
                });
                asked.any(|tool| {
                    case.model.iter().any(|entry| {
                        let mut names =
                            entry["toolCalls"].as_array().into_iter().flatten().map(|call| &call["name"]);
                        !names.any(|name| tool.is_none_or(|tool| name == tool))
                    })
                })
            }
            Self::LengthWithCalls => {
                case.model.iter().any(|entry| entry["finish"] == "length" && calls(entry))
            }
            Self::StreamWithoutEnd => case.model.iter().any(|entry| entry["noFinish"] == true),
            Self::BrokenWithCalls => case
                .model
                .iter()
                .any(|entry| calls(entry) && (entry["noFinish"] == true || entry["streamError"].is_string())),
            Self::ToolHookThrows => {
                let throws = |hook: &&str| said(case, hook).any(|said| said["throw"].is_string());
                ["beforeToolCall", "afterToolCall"].iter().any(throws)
            }
            Self::Blocked => said(case, "beforeToolCall").any(|said| said["block"] == true),
            Self::FailedWithDetails => said(case, "afterToolCall")
                .any(|said| said["isError"] == true || said.get("details").is_some()),
            Self::CancelledInTools => case
                .library
                .iter()
                .flat_map(|script| &script.queue)
                .any(|action| action.abort && matches!(action.when, When::Tool { .. })),
            Self::ContinuedAfterAnswer => {
                let turns = case.library.iter().flat_map(Script::turns);
                let ends = case.expect["turns"].as_array().into_iter().flatten();
                turns
                    .zip(ends)
                    .any(|(turn, end)| matches!(turn, Turn::Continue) && end["status"] == "rejected")
            }
        }
    }
}

fn calls(entry: &Value) -> bool {
    entry["toolCalls"].as_array().is_some_and(|calls| !calls.is_empty())
}

/// As tools are offered, by Think's rule.
fn tools_of_extensions(case: &Case) -> impl Iterator<Item = (String, &Value)> {
    case.extensions.iter().flat_map(|extension| {
        let prefix = prefix(extension["name"].as_str().unwrap_or_default());
        let tools = extension["tools"].as_object().into_iter().flatten();
        tools.map(move |(name, tool)| (format!("{prefix}_{name}"), tool))
    })
}

fn prefix(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_")
}

/// What a hook says, call by call.
fn entries(behaviour: &Value) -> impl Iterator<Item = &Value> {
    behaviour.as_array().map_or_else(|| std::slice::from_ref(behaviour), Vec::as_slice).iter()
}

/// What a hook around tool calls says, whichever the tool.
fn said<'a>(case: &'a Case, hook: &str) -> impl Iterator<Item = &'a Value> {
    let tools = case.host.hooks.get(hook).and_then(Value::as_object);
    tools.into_iter().flat_map(|tools| tools.values()).flat_map(entries)
}

/// What hooks want changed of the turn or a step.
fn answers(case: &Case) -> impl Iterator<Item = &Value> {
    let built_in = ["beforeTurn", "beforeStep"].into_iter().filter_map(|hook| case.host.hooks.get(hook));
    let theirs = case.extensions.iter().map(|extension| &extension["hooks"]["beforeTurn"]);
    built_in.chain(theirs).flat_map(entries).map(|entry| &entry["return"])
}
