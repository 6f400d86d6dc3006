//! Colours of what goes to standard error, and what is safe to show there.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::Write;

use clap::builder::styling::{AnsiColor, Style};

pub(super) const BAD: AnsiColor = AnsiColor::Red;
pub(super) const DOUBTFUL: AnsiColor = AnsiColor::Yellow;
pub(super) const GOOD: AnsiColor = AnsiColor::Green;

pub(super) fn bold(color: AnsiColor, text: &str) -> impl Display {
    let style = color.on_default().bold();
    format!("{style}{text}{style:#}")
}

pub(super) fn dim(text: &str) -> impl Display {
    let style = Style::new().dimmed();
    format!("{style}{text}{style:#}")
}

/// A line to standard error. If that is closed, there is no one to tell.
pub(super) fn say(line: &str) {
    let _ = writeln!(anstream::stderr(), "{line}");
}

/// Without control characters: a model or a guest must not steer the terminal.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    let steers = |c: char| c.is_control() && c != '\n' && c != '\t';
    if text.contains(steers) { Cow::Owned(text.replace(steers, "\u{fffd}")) } else { Cow::Borrowed(text) }
}

/// In one line of at most so many characters.
pub(super) fn clip(text: &str, most: usize) -> String {
    let line = clean(text).replace(['\n', '\t'], " ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_does_not_steer_the_terminal() {
        assert_eq!(clean("a\tb\nü"), "a\tb\nü");
        assert_eq!(clean("\u{1b}[2J\u{9b}x\r"), "\u{fffd}[2J\u{fffd}x\u{fffd}");
        assert_eq!(clip("a\nüüü", 3), "a ü…");
        assert_eq!(clip("abc", 3), "abc");
    }
}
