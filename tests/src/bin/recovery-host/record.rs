//! What happens to a case, written down as it happens: a kill loses nothing of it.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use parking_lot::Mutex;
use serde_json::{Value, json};

/// The file of a case, with what all its processes have written.
pub(crate) struct Record {
    process: usize,
    inner: Mutex<Inner>,
}

struct Inner {
    file: File,
    entries: Vec<Value>,
}

impl Record {
    pub(crate) fn open(file: &Path, process: usize) -> anyhow::Result<Self> {
        let earlier = if file.exists() { std::fs::read_to_string(file)? } else { String::new() };
        let entries = earlier.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let file = OpenOptions::new().create(true).append(true).open(file)?;
        Ok(Self { process, inner: Mutex::new(Inner { file, entries }) })
    }

    /// Notes a call of a hook, or what a tool does.
    pub(crate) fn hook(&self, event: &Value) {
        self.write(&mut self.inner.lock(), json!({"process": self.process, "hook": event}));
    }

    /// Notes a model request. How many there were before it, in all processes.
    pub(crate) fn request(&self, messages: &Value) -> usize {
        let mut inner = self.inner.lock();
        let before = inner.entries.iter().filter(|entry| entry.get("request").is_some()).count();
        self.write(&mut inner, json!({"process": self.process, "request": messages}));
        before
    }

    /// Notes that a tool begins. The number of that execution, from 1, over all processes.
    pub(crate) fn tool_begins(&self, tool_name: &str, tool_call_id: &str) -> usize {
        let mut inner = self.inner.lock();
        let begun = |entry: &&Value| {
            let event = &entry["hook"];
            event["hook"] == "tool begins" && event["toolName"] == tool_name
        };
        let execution = inner.entries.iter().filter(begun).count() + 1;
        let event = json!({
            "hook": "tool begins", "toolName": tool_name, "toolCallId": tool_call_id, "execution": execution,
        });
        self.write(&mut inner, json!({"process": self.process, "hook": event}));
        execution
    }

    fn write(&self, inner: &mut Inner, entry: Value) {
        // One write a line: what is killed meanwhile has written all of it or nothing.
        inner.file.write_all(format!("{entry}\n").as_bytes()).expect("the record can be written");
        inner.entries.push(entry);
    }
}
