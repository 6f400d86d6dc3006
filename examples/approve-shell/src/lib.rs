//! Stops commands that a tool should not run, by the operator's rules and a short list of its own.
//!
//! **It is a seat belt and no sandbox.** A pattern knows a command by its looks: `rm -rf /` is stopped, and the same hidden
//! in a variable, in base64 or in a script that the model has written before is not. It guards against accidents and the
//! plainest of attacks. What a command must not be able to do, its tool has to make impossible: by a user without rights, a
//! container, a machine of its own.
//!
//! An extension cannot send another's call to a person for approval: a decision is to allow, block or substitute. A tool that
//! should always ask says so itself, with `needs-approval` in its manifest.
//!
//! ```toml
//! [extension.approve-shell]
//! grant = { decide = ["beforeToolCall"], reasons = true }  # the model reads why, and may do something else
//!
//! [[extension.approve-shell.settings.rules]]
//! tools = "shell_*"
//! pattern = '^git (status|log|diff)[\w ./-]*$'  # all of it: `git log; rm -rf /` is not meant
//! then = "allow"
//!
//! [[extension.approve-shell.settings.rules]]
//! tools = "shell_*"
//! pattern = '\bgit\b'
//! then = "block"
//! reason = "people commit here"
//! ```

mod builtin;
mod rules;
mod settings;
mod texts;

use lathe_guest::prelude::*;
use rules::Rules;
use settings::Action;

/// The rules, read once a turn.
#[derive(Default)]
struct ApproveShell {
    rules: Option<Rules>,
}

#[extension]
impl Extension for ApproveShell {
    fn permissions() -> Permissions {
        Permissions { decide: vec![Hook::BeforeToolCall], ..Permissions::default() }
    }

    fn settings_schema() -> Option<Value> {
        Some(schema::<settings::Settings>())
    }

    fn before_tool_call(&mut self, call: ToolCall) -> Result<Option<ToolDecision>> {
        let rules = match &mut self.rules {
            Some(rules) => rules,
            none => none.insert(Rules::new(settings()?)?),
        };
        let Some(rule) = rules.first(&call.tool_name, &call.input) else { return Ok(None) };
        let (name, reason) = (&call.tool_name, &rule.reason);
        Ok(match &rule.then {
            // No opinion: another gate may still have one.
            Action::Allow => None,
            Action::Block => {
                log::warn!("blocked a call of {name}: {reason}");
                Some(ToolDecision::Block(Some(format!("This command is not allowed: {reason}."))))
            }
            Action::Substitute(output) => {
                log::warn!("answered a call of {name} in its place: {reason}");
                Some(ToolDecision::Substitute(output.clone()))
            }
        })
    }
}

#[cfg(test)]
mod tests;
