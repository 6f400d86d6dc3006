//! Counts words, and keeps what tools return short.

use lathe_guest::prelude::*;

#[derive(Default)]
struct WordCount;

#[extension]
impl Extension for WordCount {
    fn tools() -> Tools<Self> {
        Tools::new().with(Tool::new("count", Self::count).replay_safe())
    }

    fn permissions() -> Permissions {
        Permissions { decide: vec![Hook::AfterToolCall], ..Permissions::default() }
    }

    fn settings_schema() -> Option<Value> {
        Some(schema::<Settings>())
    }

    /// Cuts the text that a tool has returned.
    fn after_tool_call(&mut self, call: ToolResult) -> Result<Option<ToolOverride>> {
        let Settings { longest } = settings()?;
        let Ok(Value::String(text)) = &call.result else { return Ok(None) };
        let Some(end) = end_of_word(text, longest) else { return Ok(None) };
        let left = words(&text[end..]);
        log::info!("cut {left} words off what {} returned", call.tool_name);
        storage::increment("cut", i64::try_from(left)?)?;
        let output = format!("{} … (words left out: {left})", &text[..end]);
        Ok(Some(ToolOverride { output: Some(output.into()), ..ToolOverride::default() }))
    }
}

/// What the operator may set in lathe.toml, under `[extension.word-count.settings]`.
#[derive(Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    /// The most words of a text that a tool may return.
    longest: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { longest: 1_000 }
    }
}

/// Counts the words, lines and characters of a text.
#[derive(Deserialize, JsonSchema)]
struct Count {
    /// The text, as it is.
    text: String,
}

#[derive(Serialize)]
struct Counted {
    words: usize,
    lines: usize,
    characters: usize,
}

impl WordCount {
    fn count(&mut self, Count { text }: Count) -> Result<Counted> {
        Ok(Counted { words: words(&text), lines: text.lines().count(), characters: text.chars().count() })
    }
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Where the `number`th word ends, if more words follow.
fn end_of_word(text: &str, number: usize) -> Option<usize> {
    let mut ends =
        text.split_whitespace().map(|word| word.as_ptr().addr() - text.as_ptr().addr() + word.len());
    let end = if number == 0 { 0 } else { ends.nth(number - 1)? };
    ends.next().map(|_| end)
}

#[cfg(test)]
mod tests;
