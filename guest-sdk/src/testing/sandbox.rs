//! The real sandbox behind a test's host: a process of the `lathe` binary that runs the built component.
//!
//! It does what the host does around a guest: rights, limits, fuel, deadlines. What lies behind the guest's imports, such as
//! stored values, stays in the test's process, which the other one asks. Both speak JSON, one message a line.

#![allow(clippy::panic, reason = "what goes wrong here is a test that fails")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::STATE;
use super::call::Call;
use super::state::{Record, State};
use super::{level_name, level_of};
use crate::bindings::lathe::extension::bridge_error::Error;
use crate::manifest::{Hook, Permissions};
use crate::tools::CallContext;

/// To the sandbox.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Order<'a> {
    Load {
        file: &'a Path,
        name: &'a str,
        settings: Value,
        granted: &'a Permissions,
        workspace: Option<&'a Path>,
    },
    Hook {
        hook: Hook,
        snapshot: Value,
    },
    Tool {
        name: &'a str,
        input: &'a str,
        context: &'a CallContext,
    },
}

/// From the sandbox.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Report {
    /// The component is loaded.
    Ready,
    /// The host does not load it, and why.
    Refused(String),
    /// The guest has called the host.
    Called { function: String, arguments: Vec<Value>, error: Option<Error> },
    /// The guest wants something that is here.
    Ask(Ask),
    /// What the guest has answered.
    Answer(Value),
    /// The call failed by the guest's fault.
    Failed { error: String, backtrace: Vec<String> },
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Ask {
    StorageGet { key: String },
    StorageSet { key: String, value: Vec<u8>, limit: u64 },
    StorageDelete { key: String },
    StorageKeys { prefix: String },
    StorageIncrement { key: String, delta: i64, limit: u64 },
    ContextGet { label: String },
    ContextSet { label: String, text: String, create: bool },
    Messages { limit: usize },
    MessageCount,
    SendMessage { text: String },
    Http { method: String, url: String },
}

pub(crate) struct Sandbox {
    child: Child,
    orders: ChildStdin,
    reports: BufReader<ChildStdout>,
    file: PathBuf,
    name: &'static str,
    /// Whether the component is loaded with what is set now.
    loaded: bool,
}

impl Sandbox {
    /// Starts the binary.
    pub(crate) fn start(lathe: &Path, file: &Path, name: &'static str) -> Self {
        let mut command = Command::new(lathe);
        command.arg("sandbox").stdin(Stdio::piped()).stdout(Stdio::piped());
        // A guest's records and refused calls are told here; the log would tell them again.
        command.env("LATHE_LOG", "off");
        let started = command.spawn();
        let mut child = started.unwrap_or_else(|error| panic!("cannot run {}: {error}", lathe.display()));
        let (Some(orders), Some(reports)) = (child.stdin.take(), child.stdout.take()) else {
            unreachable!("both are piped");
        };
        Self { child, orders, reports: BufReader::new(reports), file: file.to_owned(), name, loaded: false }
    }

    /// What is set has changed: the component must be loaded again.
    pub(crate) fn reset(&mut self) {
        self.loaded = false;
    }

    /// Calls a hook. The error is the guest's own, or why the host does not load it.
    pub(crate) fn hook<S: Serialize, A: DeserializeOwned>(
        &mut self,
        hook: Hook,
        snapshot: &S,
    ) -> Result<A, String> {
        self.load()?;
        let snapshot = serde_json::to_value(snapshot).map_err(|error| error.to_string())?;
        Ok(self.call(&Order::Hook { hook, snapshot }, &format!("{hook:?}").replace("Hook::", "hook ")))
    }

    /// Calls a tool. The outer error is why the host does not load it.
    pub(crate) fn tool<A: DeserializeOwned>(
        &mut self,
        name: &str,
        input: &str,
        context: &CallContext,
    ) -> Result<A, String> {
        self.load()?;
        Ok(self.call(&Order::Tool { name, input, context }, &format!("tool \"{name}\"")))
    }

    fn load(&mut self) -> Result<(), String> {
        if self.loaded {
            return Ok(());
        }
        let order = STATE.with_borrow(|state| {
            line(&Order::Load {
                file: &self.file,
                name: self.name,
                settings: state.settings.parse().unwrap_or_default(),
                granted: state.rights.granted(),
                workspace: state.workspace.as_deref(),
            })
        });
        self.send(&order);
        match self.report() {
            Report::Ready => {
                self.loaded = true;
                Ok(())
            }
            Report::Refused(why) => Err(why),
            _ => panic!("the sandbox of \"{}\" speaks out of turn", self.name),
        }
    }

    /// Sends an order, and serves the guest until it has answered.
    fn call<A: DeserializeOwned>(&mut self, order: &Order<'_>, what: &str) -> A {
        let before = STATE.with_borrow(|state| state.log.len());
        self.send(&line(order));
        loop {
            match self.report() {
                Report::Called { function, arguments, error } => {
                    STATE.with_borrow_mut(|state| called(state, function, arguments, error));
                }
                Report::Ask(ask) => {
                    let answer = STATE.with_borrow_mut(|state| line(&answer(state, ask)));
                    self.send(&answer);
                }
                Report::Answer(value) => {
                    return serde_json::from_value(value).unwrap_or_else(|error| {
                        panic!("the sandbox of \"{}\" is of another version: {error}", self.name)
                    });
                }
                Report::Failed { error, backtrace } => {
                    let mut text = format!("the extension \"{}\" failed in its {what}: {error}", self.name);
                    STATE.with_borrow(|state| {
                        for Record { level, message } in &state.log[before..] {
                            text += &format!("\n  log {}: {message}", level_name(*level));
                        }
                    });
                    for function in backtrace {
                        text += &format!("\n  at {function}");
                    }
                    panic!("{text}");
                }
                Report::Ready | Report::Refused(_) => {
                    panic!("the sandbox of \"{}\" speaks out of turn", self.name)
                }
            }
        }
    }

    fn send(&mut self, line: &str) {
        let sent = self.orders.write_all(line.as_bytes()).and_then(|()| self.orders.flush());
        sent.unwrap_or_else(|error| panic!("the sandbox of \"{}\" is gone: {error}", self.name));
    }

    fn report(&mut self) -> Report {
        let mut line = String::new();
        match self.reports.read_line(&mut line) {
            Ok(0) => panic!("the sandbox of \"{}\" is gone; its words are above", self.name),
            Ok(_) => {}
            Err(error) => panic!("the sandbox of \"{}\" is gone: {error}", self.name),
        }
        serde_json::from_str(&line).unwrap_or_else(|error| {
            panic!("the sandbox of \"{}\" is of another version: {error}: {line}", self.name)
        })
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // It has nothing to lose, and may be in the middle of a call.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn line(message: &impl Serialize) -> String {
    let text = serde_json::to_string(message);
    text.unwrap_or_else(|error| panic!("a message for the sandbox has no JSON form: {error}")) + "\n"
}

fn called(state: &mut State, function: String, arguments: Vec<Value>, error: Option<Error>) {
    if let ("log.log", [level, message]) = (&*function, &*arguments) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        state.log.push(Record { level: level_of(&text(level)), message: text(message) });
    }
    state.calls.push(Call { function, arguments, error: error.map(Into::into) });
}

/// The rights were checked before it came here.
fn answer(state: &mut State, ask: Ask) -> Result<Value, Error> {
    Ok(match ask {
        Ask::StorageGet { key } => state.storage.get(&key).map(|value| Value::from(&**value)).into(),
        Ask::StorageSet { key, value, limit } => state.storage_set(&key, &value, limit)?.into(),
        Ask::StorageDelete { key } => state.storage.remove(&key).is_some().into(),
        Ask::StorageKeys { prefix } => state.storage_keys(&prefix).into(),
        Ask::StorageIncrement { key, delta, limit } => state.storage_increment(&key, delta, limit)?.into(),
        Ask::ContextGet { label } => state.context.get(&label).cloned().into(),
        Ask::ContextSet { label, text, create } => state.context_set(&label, &text, create)?.into(),
        Ask::Messages { limit } => json(&state.recent(limit))?,
        Ask::MessageCount => state.messages.len().into(),
        Ask::SendMessage { text } => {
            state.add_message("user", &text);
            Value::Null
        }
        Ask::Http { method, url } => json(&state.reply(&method, &url).map_err(Error::Failed)?)?,
    })
}

fn json(value: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(value).map_err(|error| Error::Failed(error.to_string()))
}
