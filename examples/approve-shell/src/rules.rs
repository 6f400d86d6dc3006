//! The rules in order, ready to be asked.

use fast_glob::glob_match;
use lathe_guest::prelude::*;
use regex_lite::Regex;

use crate::builtin;
use crate::settings::{Action, Settings};
use crate::texts::texts;

pub(crate) struct Rules(Vec<Ready>);

/// A rule with its pattern compiled.
pub(crate) struct Ready {
    tools: String,
    pattern: Option<Regex>,
    pub(crate) then: Action,
    pub(crate) reason: String,
}

impl Rules {
    /// The operator's, then the built-in ones. The error tells which pattern is none.
    pub(crate) fn new(settings: Settings) -> Result<Self> {
        let mut rules = Vec::new();
        for (number, rule) in settings.rules.into_iter().enumerate() {
            let pattern = rule.pattern.as_deref().map(Regex::new).transpose().map_err(|error| {
                Error::new(format!(
                    "the pattern of rule {} in the settings is not usable: {error}",
                    number + 1
                ))
            })?;
            rules.push(Ready { tools: rule.tools, pattern, then: rule.then, reason: rule.reason });
        }
        for (pattern, reason) in builtin::RULES.iter().filter(|_| settings.builtin) {
            rules.push(Ready {
                tools: builtin::TOOLS.to_owned(),
                pattern: Some(Regex::new(pattern)?),
                then: Action::Block,
                reason: (*reason).to_owned(),
            });
        }
        Ok(Self(rules))
    }

    /// The first that fits a call.
    pub(crate) fn first(&self, tool: &str, input: &Value) -> Option<&Ready> {
        let texts = texts(input);
        let name = tool.to_lowercase();
        self.0.iter().find(|rule| {
            let named = glob_match(&rule.tools, tool) || glob_match(&rule.tools, &name);
            let fits = |pattern: &Regex| texts.iter().any(|text| pattern.is_match(text));
            named && rule.pattern.as_ref().is_none_or(fits)
        })
    }
}
