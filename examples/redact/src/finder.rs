//! Where a text has secrets.

use std::cell::OnceCell;
use std::ops::Range;

use lathe_guest::{Error, Result};
use regex_lite::{Captures, Regex};

use crate::kind::{KINDS, Kind};
use crate::settings::Settings;

/// The patterns, of which the known ones are compiled when a text may have what they look for.
pub(crate) struct Finder {
    known: Vec<Known>,
    own: Vec<(String, Regex)>,
}

struct Known {
    kind: &'static Kind,
    name: String,
    regex: OnceCell<Regex>,
}

/// A secret in a text.
pub(crate) struct Found<'a> {
    pub(crate) kind: &'a str,
    pub(crate) place: Range<usize>,
}

impl Finder {
    /// The error names the pattern that is none.
    pub(crate) fn new(settings: &Settings) -> Result<Self> {
        let known = KINDS.iter().filter(|kind| !settings.without.contains(&kind.name));
        let known = known.map(|kind| Known { kind, name: kind.name.text(), regex: OnceCell::new() });
        let own = settings.patterns.iter().map(|(name, pattern)| Ok((name.clone(), regex(name, pattern)?)));
        Ok(Self { known: known.collect(), own: own.collect::<Result<_>>()? })
    }

    /// The secrets of a text, in order, none inside another.
    pub(crate) fn find(&self, text: &str) -> Result<Vec<Found<'_>>> {
        let mut all = Vec::new();
        for known in &self.known {
            for prefix in known.kind.prefixes {
                known.find(text, prefix, &mut all)?;
            }
        }
        for (name, regex) in &self.own {
            let places = regex.captures_iter(text).filter_map(|found| place(&found));
            all.extend(places.map(|place| Found { kind: name, place }));
        }
        // The one that begins first, and of two the longer one; what is left of another behind it goes with it.
        all.sort_by_key(|found| (found.place.start, usize::MAX - found.place.end));
        let mut found: Vec<Found<'_>> = Vec::new();
        for next in all {
            match found.last_mut() {
                Some(last) if next.place.start < last.place.end => {
                    last.place.end = last.place.end.max(next.place.end);
                }
                _ => found.push(next),
            }
        }
        Ok(found)
    }
}

impl Known {
    fn find<'a>(&'a self, text: &str, prefix: &str, all: &mut Vec<Found<'a>>) -> Result<()> {
        let mut from = 0;
        while let Some(at) = text[from..].find(prefix).map(|at| from + at) {
            from = at + prefix.len();
            if self.kind.is_word && !begins_a_word(&text[..at]) {
                continue;
            }
            let Some(captures) = self.regex()?.captures(&text[at..]) else { continue };
            if let Some(whole) = captures.get(0) {
                from = from.max(at + whole.end());
            }
            let place = place(&captures).map(|place| at + place.start..at + place.end);
            all.extend(place.map(|place| Found { kind: &self.name, place }));
        }
        Ok(())
    }

    fn regex(&self) -> Result<&Regex> {
        if let Some(regex) = self.regex.get() {
            return Ok(regex);
        }
        let compiled = regex(&self.name, self.kind.pattern)?;
        Ok(self.regex.get_or_init(|| compiled))
    }
}

/// The group of a match, or else all of it; nothing if that is empty.
fn place(captures: &Captures<'_>) -> Option<Range<usize>> {
    captures.get(1).or_else(|| captures.get(0)).map(|found| found.range()).filter(|place| !place.is_empty())
}

/// A line's end that is written as `\n`, as in JSON inside a text, is before a word too.
fn begins_a_word(before: &str) -> bool {
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !before.ends_with(in_word) || ["\\n", "\\r", "\\t"].iter().any(|end| before.ends_with(end))
}

fn regex(name: &str, pattern: &str) -> Result<Regex> {
    Regex::new(pattern)
        .map_err(|error| Error::new(format!("the pattern \"{name}\" of the settings is not usable: {error}")))
}
