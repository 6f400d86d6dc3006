use std::io::Write;
use std::path::Path;

use super::snippet;
use super::style::{BAD, bold, clean};
use crate::config::{ConfigError, Mistake};
use crate::model::ModelIdError;

/// What keeps a command from being done: usage or configuration. Exit code 2.
#[derive(Debug)]
pub(super) struct Problem {
    message: String,
    hint: Option<String>,
    mistake: Option<Box<Mistake>>,
}

impl Problem {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, mistake: None }
    }

    /// What to do about it.
    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Where it is.
    pub(super) fn within(self, place: &str) -> Self {
        Self { message: format!("{place}: {}", self.message), ..self }
    }

    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// To standard error. If that is closed, there is no one to tell.
    pub(super) fn print(&self) {
        let mut err = anstream::stderr().lock();
        let _ = match &self.mistake {
            None => writeln!(err, "{} {}", bold(BAD, "error:"), clean(&self.message)),
            Some(mistake) => write!(err, "{}", snippet::draw(mistake)),
        };
        if let Some(hint) = &self.hint {
            let _ = writeln!(err, "hint: {}", clean(hint));
        }
    }
}

impl From<ConfigError> for Problem {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::Read { .. } => Self::new(error.to_string())
                .hint("without --config, the lathe.toml of this folder is read, if there is one"),
            ConfigError::Mistake(mistake) => {
                Self { message: mistake.to_string(), hint: mistake.hint.clone(), mistake: Some(mistake) }
            }
        }
    }
}

impl From<ModelIdError> for Problem {
    fn from(error: ModelIdError) -> Self {
        let hint = match &error {
            ModelIdError::MissingKey { .. } => "`--model demo` needs no key and no network",
            ModelIdError::Script { .. } => {
                "a script is a JSON list with one entry per model request, such as [{\"text\": [\"hello\"]}]"
            }
            ModelIdError::BaseUrl { .. } => "it is set in the environment, or as `base-url` in lathe.toml",
            ModelIdError::Syntax { .. } | ModelIdError::UnknownProvider { .. } => {
                "other providers can be added in lathe.toml, as [providers.NAME]"
            }
            ModelIdError::NeedsFeature { .. } => "`demo` and `scripted:FILE` are in every build",
        };
        Self::new(error.to_string()).hint(hint)
    }
}

/// The folder of the extensions cannot be read.
pub(super) fn folder(dir: &Path, error: &std::io::Error) -> Problem {
    let problem = if error.kind() == std::io::ErrorKind::NotFound {
        Problem::new(format!("the extensions folder {} does not exist", dir.display()))
    } else {
        Problem::new(format!("cannot read the extensions folder {}: {error}", dir.display()))
    };
    problem.hint("name another with --extensions DIR, or as `dir` under [extensions] in lathe.toml")
}
