//! A walk through JSON that masks what it finds.

use std::collections::BTreeMap;

use lathe_guest::prelude::*;

use crate::finder::Finder;
use crate::settings::Settings;

/// What is masked by the name of its field.
const FIELD: &str = "field";

pub(crate) struct Mask<'a> {
    settings: &'a Settings,
    finder: &'a Finder,
    found: BTreeMap<String, usize>,
}

impl<'a> Mask<'a> {
    pub(crate) fn new(settings: &'a Settings, finder: &'a Finder) -> Self {
        Self { settings, finder, found: BTreeMap::new() }
    }

    /// How many of each kind were masked.
    pub(crate) fn found(&self) -> &BTreeMap<String, usize> {
        &self.found
    }

    /// Masks every text of the value, keys of objects among them.
    pub(crate) fn value(&mut self, value: &mut Value) -> Result<()> {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.value(item)),
            Value::Object(fields) => {
                for (mut key, mut value) in std::mem::take(fields) {
                    match &mut value {
                        Value::String(text) if self.settings.is_secret(&key) && !text.is_empty() => {
                            *text = self.mask(FIELD);
                        }
                        value => self.value(value)?,
                    }
                    self.text(&mut key)?;
                    // Two keys may have become one.
                    while fields.contains_key(&key) {
                        key.push('_');
                    }
                    fields.insert(key, value);
                }
                Ok(())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }

    fn text(&mut self, text: &mut String) -> Result<()> {
        let found = self.finder.find(text)?;
        if found.is_empty() {
            return Ok(());
        }
        let mut masked = String::with_capacity(text.len());
        let mut from = 0;
        for secret in found {
            masked.push_str(&text[from..secret.place.start]);
            masked.push_str(&self.mask(secret.kind));
            from = secret.place.end;
        }
        masked.push_str(&text[from..]);
        *text = masked;
        Ok(())
    }

    fn mask(&mut self, kind: &str) -> String {
        *self.found.entry(kind.to_owned()).or_default() += 1;
        format!("[redacted: {kind}]")
    }
}
