//! What the source says to people: its texts, with `…` where something is filled in.

use std::collections::BTreeSet;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The texts of a file of Rust, its tests aside.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// Of `#[error("…")]`, but for those that are made of others alone.
    pub errors: BTreeSet<String>,
    /// All others.
    pub others: BTreeSet<String>,
}

impl Texts {
    /// Reads a file.
    ///
    /// # Panics
    ///
    /// If it is not there, or no Rust.
    #[must_use]
    #[allow(clippy::expect_used, reason = "a test fails by panicking")]
    pub fn of(file: &Path) -> Self {
        let source = std::fs::read_to_string(file).expect("the file is there");
        let mut texts = Self::default();
        texts.read(source.parse().expect("it is Rust"));
        texts
    }

    /// Whether it is said, in an error or elsewhere.
    #[must_use]
    pub fn say(&self, text: &str) -> bool {
        self.errors.contains(text) || self.others.contains(text)
    }

    fn read(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Ident(word)
                    if word == "mod" && tokens.peek().is_some_and(|next| next.to_string() == "tests") =>
                {
                    // Its name, and what is in it.
                    tokens.nth(1);
                }
                TokenTree::Literal(literal) => self.others.extend(text(&literal.to_string())),
                TokenTree::Group(group) => match error(group.delimiter(), group.stream()) {
                    Some(said) => self.errors.extend(said.contains(char::is_alphabetic).then_some(said)),
                    None => self.read(group.stream()),
                },
                _ => {}
            }
        }
    }
}

/// The text of `[error("…")]`.
fn error(delimiter: Delimiter, tokens: TokenStream) -> Option<String> {
    let mut tokens = tokens.into_iter();
    let (name, arguments) = (tokens.next()?, tokens.next()?);
    let TokenTree::Group(arguments) = arguments else { return None };
    let is_error = delimiter == Delimiter::Bracket && name.to_string() == "error";
    let first = arguments.stream().into_iter().next().filter(|_| is_error)?;
    text(&first.to_string())
}

/// The text of a literal, if it is one, with `…` for each `{…}`.
fn text(literal: &str) -> Option<String> {
    let text = syn::parse_str::<syn::LitStr>(literal).ok()?.value();
    let mut shown = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '{' | '}' if letters.next_if_eq(&letter).is_some() => shown.push(letter),
            '{' => {
                letters.by_ref().find(|end| *end == '}');
                shown.push('…');
            }
            '\n' => break,
            letter => shown.push(letter),
        }
    }
    Some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_other_texts_are_told_apart() {
        let mut texts = Texts::default();
        texts.read(
            r##"
            #[error("no {what} of {0:?}, {{}}")] A,
            #[error("{}: {0}{}", .file)] B,
            #[error(transparent)] C,
            fn a() { say(&format!("it is {a}\nand more"), r#"b "c""#, 'd', b"e"); }
            mod tests { fn t() { say("nothing"); } }
            mod more { const F: &str = "f"; }
            "##
            .parse()
            .unwrap(),
        );
        let set = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(texts.errors, set(&["no … of …, {}"]));
        assert_eq!(texts.others, set(&["it is …", "b \"c\"", "f"]));
    }
}
