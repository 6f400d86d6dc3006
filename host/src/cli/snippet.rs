//! A mistake in a file, with the lines where it is.

use std::fmt;
use std::io::IsTerminal;

use anstream::ColorChoice;
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};

use crate::config::Mistake;

#[derive(Debug)]
struct Shown<'a> {
    mistake: &'a Mistake,
    source: NamedSource<String>,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.mistake.fmt(f)
    }
}

impl std::error::Error for Shown<'_> {}

impl Diagnostic for Shown<'_> {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = LabeledSpan::new_with_span(Some("here".into()), self.mistake.span.clone());
        Some(Box::new(std::iter::once(span)))
    }
}

/// `error: …` and the lines around the place.
pub(super) fn draw(mistake: &Mistake) -> String {
    let choice = anstream::AutoStream::choice(&std::io::stderr());
    let mut theme = match (choice, std::io::stderr().is_terminal()) {
        (ColorChoice::Never, true) => GraphicalTheme::unicode_nocolor(),
        (ColorChoice::Never, false) => GraphicalTheme::none(),
        _ => GraphicalTheme::unicode(),
    };
    theme.characters.error = "error:".into();
    let handler = GraphicalReportHandler::new_themed(theme).with_wrap_lines(false).with_links(false);
    let source = NamedSource::new(mistake.file.display().to_string(), mistake.text.clone());
    let mut drawn = String::new();
    match handler.render_report(&mut drawn, &Shown { mistake, source }) {
        Ok(()) => format!("{}\n", drawn.trim()),
        Err(fmt::Error) => format!("error: {mistake}\n"),
    }
}
