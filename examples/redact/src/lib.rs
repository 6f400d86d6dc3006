//! Masks secrets in what tools are given and in what they return, so that neither a tool nor the model reads them.
//!
//! It finds what has a known form ([`kind::KINDS`]), the values of fields with a telling name, and whatever the operator's own
//! patterns match. It does not find a secret without a form, such as a password in running text, nor one that is encoded,
//! split over two strings, or in the conversation itself: what the model writes is stored and shown as it wrote it.
//!
//! ```toml
//! [extension.redact]
//! grant = { decide = ["beforeToolCall", "afterToolCall"] }
//! settings = { patterns = { badge = '\bB-[0-9]{4}\b' }, without = ["jwt"] }
//! ```
//!
//! Reading costs about 500 units of fuel a byte, and each of the operator's patterns about 700 more, where a call has 1,000
//! a byte beside its 200 million. A gate that fails is closed: an output over which this one runs out of fuel is withheld.
//! With patterns and outputs of megabytes, set `fuel-per-input-byte` under `[extension.redact.limits]`.

mod finder;
mod kind;
mod mask;
mod settings;

use finder::Finder;
use lathe_guest::prelude::*;
use mask::Mask;
use settings::Settings;

/// What one turn needs again and again.
#[derive(Default)]
struct Redact {
    ready: Option<(Settings, Finder)>,
}

#[extension]
impl Extension for Redact {
    fn permissions() -> Permissions {
        Permissions { decide: vec![Hook::BeforeToolCall, Hook::AfterToolCall], ..Permissions::default() }
    }

    fn settings_schema() -> Option<Value> {
        Some(schema::<Settings>())
    }

    fn before_tool_call(&mut self, call: ToolCall) -> Result<Option<ToolDecision>> {
        let (settings, finder) = self.ready()?;
        if !settings.inputs {
            return Ok(None);
        }
        let input = masked(settings, finder, call.input, &format!("input for {}", call.tool_name))?;
        Ok(input.map(|input| ToolDecision::Allow(Some(input))))
    }

    fn after_tool_call(&mut self, call: ToolResult) -> Result<Option<ToolOverride>> {
        let (settings, finder) = self.ready()?;
        // A text in place of an error stays an error.
        let result = call.result.unwrap_or_else(|error| Value::String(error.message));
        let output = masked(settings, finder, result, &format!("output of {}", call.tool_name))?;
        Ok(output.map(|output| ToolOverride { output: Some(output), ..ToolOverride::default() }))
    }
}

impl Redact {
    fn ready(&mut self) -> Result<(&Settings, &Finder)> {
        if self.ready.is_none() {
            let settings: Settings = settings()?;
            let finder = Finder::new(&settings)?;
            self.ready = Some((settings, finder));
        }
        let (settings, finder) = self.ready.as_ref().ok_or("it was just made")?;
        Ok((settings, finder))
    }
}

/// The value with its secrets masked; none if it has none. The log has their kinds and numbers, and nothing of them.
fn masked(settings: &Settings, finder: &Finder, mut value: Value, place: &str) -> Result<Option<Value>> {
    let mut mask = Mask::new(settings, finder);
    mask.value(&mut value)?;
    let found = mask.found();
    if found.is_empty() {
        return Ok(None);
    }
    let kinds: Vec<String> = found.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    log::info!("masked in the {place}: {}", kinds.join(", "));
    Ok(Some(value))
}

#[cfg(test)]
mod tests;
