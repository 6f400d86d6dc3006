//! The probe's file, made into any extension of a case or a test.

use std::path::Path;

use anyhow::{Context, ensure};
use serde_json::Value;

/// Where the plan begins, as in the probe.
const MARK: &[u8] = b"lathe-probe-plan:";

/// The length of the place for it, its mark included.
const SIZE: usize = 64 << 10;

/// A component with a place for a plan in its data.
pub struct Template {
    bytes: Vec<u8>,
    place: usize,
}

impl Template {
    /// Reads the probe.
    ///
    /// # Errors
    ///
    /// If it is not the probe.
    pub fn read(file: &Path) -> anyhow::Result<Self> {
        let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
        let mut places = bytes.windows(MARK.len()).enumerate().filter(|(_, window)| *window == MARK);
        let place = places.next().context("the probe has no place for a plan")?.0 + MARK.len();
        ensure!(places.next().is_none(), "the probe has two places for a plan");
        drop(places);
        Ok(Self { bytes, place })
    }

    /// Writes the component that plays this extension.
    ///
    /// # Errors
    ///
    /// If the extension's plan is too long, or the file cannot be written.
    pub fn write(&self, extension: &Value, file: &Path) -> anyhow::Result<()> {
        let text = extension.to_string();
        let room = SIZE - MARK.len();
        ensure!(text.len() <= room, "the extension's plan is longer than {room} bytes");
        let mut bytes = self.bytes.clone();
        let place = bytes.get_mut(self.place..self.place + room).context("the probe's place is cut off")?;
        place.fill(b' ');
        place[..text.len()].copy_from_slice(text.as_bytes());
        std::fs::write(file, bytes).with_context(|| file.display().to_string())
    }
}
