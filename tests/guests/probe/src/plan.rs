//! The extension of a case, as it stands in the case. It is part of the file and not of the settings, so that
//! `describe` tells the truth about each file and each has a digest of its own.

use serde_json::Value;

/// The longest plan, with its mark.
const SIZE: usize = 64 << 10;

/// By this the harness finds the place.
const MARK: usize = "lathe-probe-plan:".len();

/// The mark, then JSON with spaces up to the end.
static PLAN: [u8; SIZE] = blank(b"lathe-probe-plan:{\"name\":\"probe\"}");

const fn blank(text: &[u8]) -> [u8; SIZE] {
    let mut bytes = [b' '; SIZE];
    let mut at = 0;
    while at < text.len() {
        bytes[at] = text[at];
        at += 1;
    }
    bytes
}

/// What the harness has written there. The black box keeps the compiler from knowing better.
pub(crate) fn read() -> Value {
    let text = std::hint::black_box(&PLAN).get(MARK..).unwrap_or_default();
    serde_json::from_slice(text).unwrap_or_default()
}
