//! A turn, as it goes by: the answer on standard output, the rest on standard error.

use std::collections::{HashMap, HashSet};
use std::io::{self, ErrorKind, IsTerminal, Write};

use serde_json::json;

use super::Done;
use super::problem::Problem;
use super::style::{BAD, DOUBTFUL, bold, clean, clip, dim};
use crate::agent::{ChatEvent, TurnEvent, TurnResult};
use crate::config::Config;
use crate::extensions::Loaded;
use crate::hooks::{ConfigChanges, HookCall, ToolCost};
use crate::turn::{Chunk, ConfigChange, Json, TurnStatus};

/// Characters of a tool call that are shown: about three lines of a terminal.
const CALL: usize = 240;
/// Characters of a changed value that are shown.
const VALUE: usize = 60;

pub(super) struct Printer {
    json: bool,
    trace: bool,
    /// Standard output's; control characters are then left out.
    terminal: bool,
    /// Whether reasoning is shown.
    reasoning: bool,
    /// The stream in whose last line something stands.
    open: Option<Open>,
    /// What must wait for that line's end.
    waiting: Vec<String>,
    /// Tool calls without a result yet: the call as it is shown, by id.
    calls: HashMap<String, String>,
    closed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Text,
    Reasoning,
}

impl Printer {
    pub(super) fn new(json: bool, trace: bool) -> Self {
        Self {
            json,
            trace,
            terminal: io::stdout().is_terminal(),
            reasoning: !json && io::stderr().is_terminal(),
            open: None,
            waiting: Vec::new(),
            calls: HashMap::new(),
            closed: false,
        }
    }

    /// True once standard output takes no more.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// The files that were not loaded.
    pub(super) fn failed(&mut self, loaded: &Loaded) {
        for error in &loaded.errors {
            self.say(&format!("{} {}", bold(DOUBTFUL, "warning:"), clip(&error.to_string(), usize::MAX)));
        }
    }

    /// What loading the extensions came to.
    pub(super) fn loaded(&mut self, loaded: &Loaded, config: &Config) {
        self.failed(loaded);
        if !self.trace {
            return;
        }
        let dir = config.extensions_dir();
        if config.extensions.dir.is_none() && !dir.exists() {
            self.note(&format!("no extensions: there is no folder {}", dir.display()));
            return;
        }
        let (count, compiled, ms) = (loaded.extensions.len(), loaded.compiled, loaded.duration_ms);
        let extensions = if count == 1 { "extension" } else { "extensions" };
        self.note(&format!("{count} {extensions} loaded in {ms:.1} ms, {compiled} of them compiled"));
        let running = loaded.extensions.iter().map(|extension| &extension.manifest.name);
        let disabled = loaded.disabled.iter().map(|found| &found.manifest.name);
        let there: HashSet<&String> = running.chain(disabled).collect();
        for name in
            config.extension.keys().chain(&config.extensions.order).filter(|name| !there.contains(name))
        {
            self.note(&format!("{name}, which the configuration names, is not loaded"));
        }
    }

    /// # Errors
    ///
    /// If standard output takes no more.
    pub(super) fn event(&mut self, event: &TurnEvent) -> io::Result<()> {
        if self.trace {
            match event {
                TurnEvent::HookCall(call) => self.note(&traced(call)),
                TurnEvent::ConfigChange(changes) => self.note(&traced_built_in(changes)),
                TurnEvent::ToolCost(cost) => self.note(&traced_tool(cost)),
                _ => {}
            }
        }
        if self.json {
            // The turn's own end, which knows more, stands in its place.
            let last = matches!(event, TurnEvent::Chunk(Chunk::Finish { .. }));
            return if last { Ok(()) } else { self.line(&serde_json::to_string(event)?) };
        }
        match event {
            TurnEvent::Chunk(chunk) => self.chunk(chunk),
            TurnEvent::HookCall(_)
            | TurnEvent::ConfigChange(_)
            | TurnEvent::ToolCost(_)
            | TurnEvent::Health(_)
            | TurnEvent::Transcript(_) => Ok(()),
            TurnEvent::Chat(event) => {
                self.chat(event);
                Ok(())
            }
            TurnEvent::Retry(retry) => {
                let seconds = f64::from(u32::try_from(retry.delay_ms).unwrap_or(u32::MAX)) / 1e3;
                self.note(&format!("{}; attempt {} in {seconds:.1} s", retry.error, retry.attempt));
                Ok(())
            }
        }
    }

    /// What the user should know of a turn that was cut off.
    fn chat(&mut self, event: &ChatEvent) {
        match event {
            ChatEvent::StreamStalled { timeout_ms, .. } => {
                self.note(&format!("nothing came for {timeout_ms} ms"));
            }
            ChatEvent::RecoveryScheduled(_) => self.note("the model has failed; trying again"),
            ChatEvent::RecoveryAttempt(_) => self.note("going on with an answer that was interrupted"),
            ChatEvent::ContextCompacted { shortened: true, .. } => {
                self.note("the conversation was too long for the model and has been shortened");
            }
            _ => {}
        }
    }

    fn chunk(&mut self, chunk: &Chunk) -> io::Result<()> {
        match chunk {
            Chunk::TextDelta { text, .. } => {
                self.end_line_unless(Open::Text)?;
                let shown = if self.terminal { clean(text) } else { text.into() };
                self.write(&shown)?;
                if let Some(last) = text.chars().last() {
                    self.open = (last != '\n').then_some(Open::Text);
                }
            }
            Chunk::ReasoningDelta { text, .. } if self.reasoning => {
                self.end_line_unless(Open::Reasoning)?;
                let _ = write!(anstream::stderr(), "{}", dim(&clean(text)));
                if let Some(last) = text.chars().last() {
                    self.open = (last != '\n').then_some(Open::Reasoning);
                }
            }
            Chunk::TextEnd { .. } | Chunk::ReasoningEnd { .. } => self.end_line()?,
            Chunk::ToolCall { tool_call_id, tool_name, input, .. } => {
                self.calls.insert(tool_call_id.clone(), format!("{tool_name} {input}"));
            }
            Chunk::ToolResult { tool_call_id, tool_name, output, preliminary: false, .. } => {
                let call = self.calls.remove(tool_call_id).unwrap_or_else(|| tool_name.clone());
                self.note(&clip(&format!("{call} = {output}"), CALL));
            }
            Chunk::ToolError { tool_call_id, tool_name, error } => {
                let call = self.calls.remove(tool_call_id).unwrap_or_else(|| tool_name.clone());
                self.note(&clip(&format!("{call} failed: {}", error.message), CALL));
            }
            _ => {}
        }
        Ok(())
    }

    /// How the turn ended.
    ///
    /// # Errors
    ///
    /// If standard output takes no more.
    pub(super) fn finish(&mut self, result: &TurnResult, session: &str) -> io::Result<()> {
        let ended = self.end_line();
        self.calls.clear();
        match result.status {
            TurnStatus::Completed => {}
            // Whoever has closed standard output knows.
            TurnStatus::Aborted if self.closed => {}
            TurnStatus::Aborted | TurnStatus::Skipped | TurnStatus::Interrupted => self.note("cancelled"),
            TurnStatus::Error => {
                let error = result.error.as_deref().unwrap_or("the turn failed");
                self.say(&format!("{} {}", bold(BAD, "error:"), clean(error)));
                self.say(&format!(
                    "hint: what was said is kept; `--session {}` goes on from there",
                    clean(session)
                ));
            }
        }
        if self.json {
            let mut event = json!({
                "type": "finish",
                "status": result.status,
                "text": result.text,
                "usage": result.usage,
                "steps": result.steps,
            });
            if let Some(error) = &result.error {
                event["error"] = Json::from(error.as_str());
            }
            self.line(&event.to_string())?;
        }
        ended
    }

    /// A dim line on standard error.
    pub(super) fn note(&mut self, line: &str) {
        self.say(&dim(&clean(line)).to_string());
    }

    /// A line on standard error, once the answer's line is at its end. If it is closed, there is no one to tell.
    fn say(&mut self, line: &str) {
        if self.open.is_some() {
            self.waiting.push(line.to_owned());
        } else {
            let _ = writeln!(anstream::stderr(), "{line}");
        }
    }

    fn end_line_unless(&mut self, open: Open) -> io::Result<()> {
        if self.open == Some(open) { Ok(()) } else { self.end_line() }
    }

    fn end_line(&mut self) -> io::Result<()> {
        let ended = match self.open.take() {
            Some(Open::Text) => self.write("\n"),
            Some(Open::Reasoning) => {
                let _ = writeln!(anstream::stderr());
                Ok(())
            }
            None => Ok(()),
        };
        for line in std::mem::take(&mut self.waiting) {
            self.say(&line);
        }
        ended
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        self.write(&format!("{line}\n"))
    }

    /// At once, as it is: what is not a terminal gets every byte.
    fn write(&mut self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        self.closed |= written.is_err();
        written
    }
}

/// One call of a hook: where, who, what it cost, what came of it.
fn traced(call: &HookCall) -> String {
    let HookCall { hook, extension, duration_ms, fuel, .. } = call;
    let mut line = format!("{:<14} {extension:<12} {duration_ms:>8.2} ms {fuel:>10} fuel", hook.name());
    if call.snapshots != 1 {
        line += &format!("  {} snapshots", call.snapshots);
    }
    line += &set(&call.changes);
    if let Some(decision) = call.decision {
        line += &format!("  {decision}");
    }
    for dropped in &call.dropped {
        line += &format!("  dropped {dropped}");
    }
    if let Some(error) = &call.error {
        line += &format!("  failed: {error}");
    }
    line
}

/// What the built-in hooks have set.
fn traced_built_in(ConfigChanges { hook, by, changes }: &ConfigChanges) -> String {
    format!("{:<14} {by:<12}{}", hook.name(), set(changes))
}

fn set(changes: &[ConfigChange]) -> String {
    let set = |ConfigChange { field, value }: &ConfigChange| {
        format!("  {} = {}", word(&json!(field)), shorten(value))
    };
    changes.iter().map(set).collect()
}

/// One call of a tool: which, who, what it cost. What came of it is shown as the tool's result.
fn traced_tool(cost: &ToolCost) -> String {
    let ToolCost { tool_name, extension, duration_ms, fuel, .. } = cost;
    format!("{tool_name:<14} {extension:<12} {duration_ms:>8.2} ms {fuel:>10} fuel")
}

fn word(name: &Json) -> &str {
    name.as_str().unwrap_or_default()
}

/// A value in little space. Of a long text the end: that is where extensions add.
fn shorten(value: &Json) -> String {
    if let Json::String(text) = value
        && let Some((start, _)) = text.char_indices().rev().nth(VALUE)
    {
        return format!("…{}", Json::from(&text[start..]));
    }
    clip(&value.to_string(), VALUE)
}

/// All of standard output at once. Whoever closes it early has seen enough.
pub(super) fn whole(text: &str) -> Result<Done, Problem> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Problem::new(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(Done::Well),
    }
}
