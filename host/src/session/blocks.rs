use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::estimate::estimate_text;

/// A block of the system prompt that belongs to a session: what a model should know all the time, and may keep up to date
/// itself (`think.md` §5).
#[derive(Clone)]
pub struct ContextBlock {
    label: String,
    description: Option<String>,
    max_tokens: Option<u64>,
    source: Source,
}

/// Where the text of a block comes from.
#[derive(Clone)]
enum Source {
    /// The store, where it begins as this.
    Stored(String),
    /// It is always this.
    Fixed(String),
    Provider(Arc<dyn ContextProvider>),
}

/// What a model can do with a block beside reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContextMode {
    /// Nothing.
    ReadOnly,
    /// Replace its text, or add to it.
    Writable,
    /// Load one of the texts that it lists: a skill.
    Loadable,
    /// Search what it is of.
    Searchable,
}

/// A block whose text is kept somewhere else than in the session's store.
#[async_trait]
pub trait ContextProvider: Send + Sync {
    /// What a model can do with it; the method for that is then implemented.
    fn mode(&self) -> ContextMode;

    /// What the system prompt says of it: its text, the list of its skills, or what can be searched.
    ///
    /// # Errors
    ///
    /// If it cannot be read. The turn ends with that.
    async fn get(&self, session: &str) -> Result<String, ContextError>;

    /// Replaces its text.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    async fn set(&self, _session: &str, _text: &str) -> Result<(), ContextError> {
        Err(ContextError::Failed("this block cannot be written".into()))
    }

    /// The text of a key that it lists; none if it has no such key.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    async fn load(&self, _session: &str, _key: &str) -> Result<Option<String>, ContextError> {
        Err(ContextError::Failed("nothing can be loaded from this block".into()))
    }

    /// What it has to say to a query.
    ///
    /// # Errors
    ///
    /// If it cannot be searched.
    async fn search(&self, _session: &str, _query: &str) -> Result<String, ContextError> {
        Err(ContextError::Failed("this block cannot be searched".into()))
    }
}

/// Why a context block was not read or written. The model is told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContextError {
    /// There is none of that label that can do what is asked.
    #[error("there is no context block \"{0}\" for this")]
    Unknown(String),
    /// The text is too long for it. Nothing was stored.
    #[error("\"{label}\" has at most {limit} tokens, not about {tokens}; nothing was stored")]
    TooLarge {
        /// Which block.
        label: String,
        /// The most tokens that it may have.
        limit: u64,
        /// About how many they would be.
        tokens: u64,
    },
    /// A label is not usable.
    #[error("\"{}\" is no label for a context block: it needs 1 to 64 of a-z, A-Z, 0-9, _ and -", .0.escape_debug())]
    Label(String),
    /// Two blocks have one label.
    #[error("there is a context block \"{0}\" already")]
    Taken(String),
    /// Anything else, in words.
    #[error("{0}")]
    Failed(String),
}

impl ContextBlock {
    /// A block that the model may write, empty at first. Its text is kept with the session.
    #[must_use]
    pub fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            description: None,
            max_tokens: None,
            source: Source::Stored(String::new()),
        }
    }

    /// A block that always has this text.
    #[must_use]
    pub fn fixed(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self { source: Source::Fixed(text.into()), ..Self::new(label) }
    }

    /// A block whose text comes from somewhere else.
    #[must_use]
    pub fn provided(label: impl Into<String>, provider: Arc<dyn ContextProvider>) -> Self {
        Self { source: Source::Provider(provider), ..Self::new(label) }
    }

    /// The text that a block begins with which the model may write. Others have theirs.
    #[must_use]
    pub fn initially(mut self, text: impl Into<String>) -> Self {
        if let Source::Stored(initial) = &mut self.source {
            *initial = text.into();
        }
        self
    }

    /// What it is for, for the model.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// The most tokens that it may have, as [`estimate_text`] counts them; no limit unless set.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u64) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Its name in the session.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// What a model can do with it.
    #[must_use]
    pub fn mode(&self) -> ContextMode {
        match &self.source {
            Source::Stored(_) => ContextMode::Writable,
            Source::Fixed(_) => ContextMode::ReadOnly,
            Source::Provider(provider) => provider.mode(),
        }
    }

    /// Its text where it does not change, and the provider where it has one; neither if the store has it.
    pub(crate) fn provider(&self) -> Result<&dyn ContextProvider, Option<&str>> {
        match &self.source {
            Source::Stored(_) => Err(None),
            Source::Fixed(text) => Err(Some(text)),
            Source::Provider(provider) => Ok(&**provider),
        }
    }

    /// What it begins with in the store.
    pub(crate) fn initial(&self) -> &str {
        if let Source::Stored(text) = &self.source { text } else { "" }
    }

    /// Refuses a label that is not usable in the tools and for extensions.
    pub(crate) fn check(&self) -> Result<(), ContextError> {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if self.label.is_empty() || self.label.len() > 64 || !self.label.chars().all(word) {
            return Err(ContextError::Label(self.label.clone()));
        }
        Ok(())
    }

    /// Refuses a text that is too long for it.
    pub(crate) fn fits(&self, text: &str) -> Result<(), ContextError> {
        let Some(limit) = self.max_tokens else { return Ok(()) };
        let tokens = estimate_text(text);
        if tokens > limit {
            return Err(ContextError::TooLarge { label: self.label.clone(), limit, tokens });
        }
        Ok(())
    }

    /// What it is, beside its text.
    pub(crate) fn about(&self) -> String {
        let Self { label, description, max_tokens, .. } = self;
        format!("{label:?} {description:?} {max_tokens:?} {:?}", self.mode())
    }

    /// How full it is with that text, for the model; empty if it has no limit.
    pub(crate) fn fill(&self, text: &str) -> String {
        let Some(limit) = self.max_tokens else { return String::new() };
        let tokens = estimate_text(text);
        let percent = tokens.saturating_mul(100).checked_div(limit).unwrap_or(100);
        format!("[{percent}% — {tokens}/{limit} tokens]")
    }

    /// Its part of the system prompt.
    pub(crate) fn render(&self, text: &str) -> String {
        let mut header = self.label.to_uppercase();
        if let Some(description) = &self.description {
            header += &format!(" ({description})");
        }
        let fill = self.fill(text);
        if !fill.is_empty() {
            header += &format!(" {fill}");
        }
        let mode = match self.mode() {
            ContextMode::ReadOnly => "readonly",
            ContextMode::Writable => "writable",
            ContextMode::Loadable => "loadable",
            ContextMode::Searchable => "searchable",
        };
        format!("{RULE}\n{header} [{mode}]\n{RULE}\n{text}")
    }
}

const RULE: &str = "══════════════════════════════════════════════";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_shown_with_what_a_model_can_do_with_it() {
        let memory = ContextBlock::new("memory").description("facts of the user").max_tokens(20);
        let shown = memory.render("likes tea, no milk");
        assert_eq!(
            shown,
            format!(
                "{RULE}\nMEMORY (facts of the user) [30% — 6/20 tokens] [writable]\n{RULE}\nlikes tea, no milk"
            )
        );
        assert!(ContextBlock::fixed("soul", "kind").render("kind").contains("\nSOUL [readonly]\n"));
    }

    #[test]
    fn what_is_too_long_is_refused_with_the_numbers() {
        let block = ContextBlock::new("memory").max_tokens(10);
        block.fits(&"x".repeat(40)).unwrap();
        let error = block.fits(&"x".repeat(41)).unwrap_err();
        assert_eq!(error, ContextError::TooLarge { label: "memory".into(), limit: 10, tokens: 11 });
        assert!(ContextBlock::new("no label").check().is_err() && ContextBlock::new("").check().is_err());
    }
}
