//! The hook `before-turn` as a shell command, which gets JSON on its standard input.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::figures::Figures;
use crate::payload;

/// The system text comes first and has no quotes: with less than that, no shell could read it so quickly.
const COMMAND: &str = r#"sed 's/^{"system":"\([^"]*\)".*/{"system":"\1 Answer in English."}/'"#;

pub(crate) fn run(figures: &mut Figures) -> Result<()> {
    let turn = format!(
        r#"{{"system":"{}","toolNames":{},"messageCount":1,"maxSteps":10,"continuation":false}}"#,
        payload::system(),
        json!(payload::tool_names())
    );
    figures.take("before-turn", "sh -c, JSON on stdin", || {
        let mut child =
            Command::new("sh").args(["-c", COMMAND]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        child.stdin.take().context("it has a stdin")?.write_all(turn.as_bytes())?;
        let output = child.wait_with_output()?;
        let config: Value = serde_json::from_slice(&output.stdout)?;
        ensure!(
            config["system"].as_str().is_some_and(|system| system.ends_with("English.")),
            "it adds nothing"
        );
        Ok(())
    })
}
