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
    /// One of them is in every text that the pattern fits; none if that is not known.
    words: &'static [&'static str],
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
            rules.push(Ready {
                tools: rule.tools,
                words: &[],
                pattern,
                then: rule.then,
                reason: rule.reason,
            });
        }
        for rule in builtin::RULES.iter().filter(|_| settings.builtin) {
            rules.push(Ready {
                tools: builtin::TOOLS.to_owned(),
                words: rule.words,
                pattern: Some(Regex::new(rule.pattern)?),
                then: Action::Block,
                reason: rule.reason.to_owned(),
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
            named && (rule.pattern.is_none() || texts.iter().any(|text| rule.fits(text)))
        })
    }
}

impl Ready {
    fn fits(&self, text: &str) -> bool {
        let may_fit = self.words.is_empty() || self.words.iter().any(|word| text.contains(word));
        may_fit && self.pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
    }
}
