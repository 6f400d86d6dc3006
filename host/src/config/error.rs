use std::ops::Range;
use std::path::{Path, PathBuf};

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}: {error}", .file.display())]
    Read {
        /// Which.
        file: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Something in the file is wrong.
    #[error(transparent)]
    Mistake(#[from] Box<Mistake>),
}

/// Something that is wrong in a `lathe.toml`, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}:{}: {message}", .file.display(), .line, .column)]
pub struct Mistake {
    /// The file.
    pub file: PathBuf,
    /// What is in it.
    pub text: String,
    /// Where it is, in bytes.
    pub span: Range<usize>,
    /// The same, counted from 1.
    pub line: usize,
    /// In characters, counted from 1.
    pub column: usize,
    /// What is wrong, and what was expected.
    pub message: String,
    /// What was probably meant.
    pub hint: Option<String>,
}

impl Mistake {
    pub(super) fn new(file: &Path, text: &str, error: &toml::de::Error) -> Self {
        let span = error.span().unwrap_or(0..0);
        let before = text.get(..span.start).unwrap_or(text);
        let (message, hint) = explain(error.message());
        Self {
            file: file.to_owned(),
            text: text.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before.chars().rev().take_while(|c| *c != '\n').count() + 1,
            span,
            message,
            hint,
        }
    }
}

/// Serde's words in plain ones.
fn explain(message: &str) -> (String, Option<String>) {
    if let Some((key, known)) = unknown(message, "unknown field ") {
        let near = nearest(&key, &known).map(|near| format!("did you mean `{near}`?"));
        return (format!("there is no key `{key}` here; known are {}", known.join(", ")), near);
    }
    if let Some((word, known)) = unknown(message, "unknown variant ") {
        let near = nearest(&word, &known).map(|near| format!("did you mean `{near}`?"));
        return (format!("`{word}` is none of {}", known.join(", ")), near);
    }
    let message = message.trim_end().replace("missing field", "missing key");
    let Some((found, expected)) = message.split_once(", expected ") else { return (message, None) };
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of at least 0",
        "a nonzero u32" => "a whole number of at least 1",
        "a string" | "path string" => "a text in quotes",
        "a sequence" => "a list in [ ]",
        "a map" => "a table",
        expected if expected.starts_with("struct ") => "a table",
        expected => expected,
    };
    (format!("{found}, expected {expected}"), None)
}

/// The word and those that were expected, out of serde's message.
fn unknown(message: &str, what: &str) -> Option<(String, Vec<String>)> {
    let (word, known) = message.strip_prefix(what)?.split_once(", expected ")?;
    let known = known.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    Some((word.trim().trim_matches('`').to_owned(), known))
}

/// The known word that was probably meant.
pub(crate) fn nearest<'a>(word: &str, known: &'a [String]) -> Option<&'a str> {
    let word = word.replace('_', "-").to_lowercase();
    known
        .iter()
        .map(|other| (strsim::damerau_levenshtein(&word, other), other))
        // A third of the word wrong is another word.
        .filter(|(distance, other)| distance * 3 <= other.len())
        .min()
        .map(|(_, other)| other.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn mistake(text: &str) -> Box<Mistake> {
        Config::parse(text, Path::new("lathe.toml")).unwrap_err()
    }

    #[test]
    fn each_says_where_it_is_and_what_was_expected() {
        let known = "model, system, max-steps, compact-after, stall-timeout-ms, recovery, context-overflow, data, extensions, extension, providers, server, telemetry";
        for (text, said, at) in [
            ("model = 7", "lathe.toml:1:9: invalid type: integer `7`, expected a text in quotes", "7"),
            (
                "\nmodle = \"x\"",
                &*format!("lathe.toml:2:1: there is no key `modle` here; known are {known}"),
                "modle",
            ),
            (
                "max-steps = 0",
                "lathe.toml:1:13: invalid value: integer `0`, expected a whole number of at least 1",
                "0",
            ),
            (
                "max-steps = -1",
                "lathe.toml:1:13: invalid value: integer `-1`, expected a whole number of at least 1",
                "-1",
            ),
            (
                "data = true",
                "lathe.toml:1:8: invalid type: boolean `true`, expected a text in quotes",
                "true",
            ),
            ("extensions = 1", "lathe.toml:1:14: invalid type: integer `1`, expected a table", "1"),
            (
                "[extensions]\norder = \"a\"",
                "lathe.toml:2:9: invalid type: string \"a\", expected a list in [ ]",
                "\"a\"",
            ),
            (
                "[extension.a.limits]\nfuel-per-call = 1.5",
                "lathe.toml:2:17: invalid type: floating point `1.5`, expected a whole number of at least 0",
                "1.5",
            ),
            (
                "[extension.a]\nsettings = { x = nan }",
                "lathe.toml:2:12: `x` is NaN, which JSON has no number for",
                "{ x = nan }",
            ),
            (
                "[providers.x]\nkind = \"opanai\"",
                "lathe.toml:2:8: `opanai` is none of openai, openai-responses, anthropic, gemini",
                "\"opanai\"",
            ),
            ("[providers.x]", "lathe.toml:1:1: missing key `kind`", "[providers.x]"),
        ] {
            let mistake = mistake(text);
            assert_eq!((mistake.to_string().as_str(), &text[mistake.span.clone()]), (said, at), "{text}");
        }
    }

    #[test]
    fn a_slip_of_the_pen_gets_a_hint() {
        for (text, hint) in [
            ("modle = 1", Some("did you mean `model`?")),
            ("max_steps = 1", Some("did you mean `max-steps`?")),
            ("[extension.a]\nsetings = {}", Some("did you mean `settings`?")),
            ("[providers.x]\nkind = \"opanai\"", Some("did you mean `openai`?")),
            ("colour = 1", None),
        ] {
            assert_eq!(mistake(text).hint.as_deref(), hint, "{text}");
        }
    }

    #[test]
    fn what_is_no_toml_is_told_with_its_place() {
        let mistake = mistake("model = \"ü\"\nmodel =");
        assert_eq!((mistake.line, mistake.column), (2, 8));
    }
}
