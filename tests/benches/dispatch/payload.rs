//! What crosses, the same for Lathe and its peers, which include this file.

/// How many deltas a long answer has.
#[allow(dead_code, reason = "the peers have no turns")]
pub(crate) const DELTAS: u32 = 3_000;

/// A delta of an answer.
pub(crate) const DELTA: &str = "word ";

/// 2 kB of system text.
pub(crate) fn system() -> String {
    let mut text = "You are a careful assistant who answers briefly. ".repeat(50);
    text.truncate(2_048);
    text
}

/// 20 names.
pub(crate) fn tool_names() -> Vec<String> {
    (0..20).map(|number| format!("toolbox_tool_{number:02}")).collect()
}

/// The text of a tool's input of 1 kB.
pub(crate) fn text() -> String {
    "x".repeat(1_024 - r#"{"text":""}"#.len())
}
