//! The probe's file, made into any extension of a case or a test.

use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::Value;

/// Where the plan begins, as in the probe.
const MARK: &[u8] = b"lathe-probe-plan:";

/// The length of the place for it, its mark included.
const SIZE: usize = 64 << 10;

/// What stands there before the harness writes.
const BLANK: &[u8] = br#"{"name":"probe"}"#;

/// A component with a place for a plan in its data.
pub struct Template {
    bytes: Vec<u8>,
    /// More than one where a language's memory keeps copies.
    places: Vec<usize>,
}

impl Template {
    /// Reads the probe.
    ///
    /// # Errors
    ///
    /// If it is not the probe.
    pub fn read(file: &Path) -> anyhow::Result<Self> {
        let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
        let marks = bytes.windows(MARK.len()).enumerate().filter(|(_, window)| *window == MARK);
        let whole = |place: &usize| bytes.get(*place..*place + SIZE - MARK.len()).is_some_and(is_blank);
        let places: Vec<usize> = marks.map(|(at, _)| at + MARK.len()).filter(whole).collect();
        ensure!(!places.is_empty(), "{} has no place for a plan", file.display());
        Ok(Self { bytes, places })
    }

    /// Writes the component that plays this extension.
    ///
    /// # Errors
    ///
    /// If the extension's plan is too long, or the file cannot be written.
    pub fn write(&self, extension: &Value, file: &Path) -> anyhow::Result<()> {
        // To its end, not to that of the place, in languages where reading costs more.
        let text = format!("{extension}\n");
        let room = SIZE - MARK.len();
        ensure!(text.len() <= room, "the extension's plan is longer than {room} bytes");
        let mut bytes = self.bytes.clone();
        for place in &self.places {
            let place = bytes.get_mut(*place..*place + room).context("the probe's place is cut off")?;
            place.fill(b' ');
            place[..text.len()].copy_from_slice(text.as_bytes());
        }
        std::fs::write(file, bytes).with_context(|| file.display().to_string())
    }
}

/// The same length everywhere, so that nothing is written past the end of a copy that is in use again.
fn is_blank(place: &[u8]) -> bool {
    place.strip_prefix(BLANK).is_some_and(|rest| rest.iter().all(u8::is_ascii_whitespace))
}
