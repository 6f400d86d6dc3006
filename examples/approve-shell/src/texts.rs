//! The texts of an input.

use lathe_guest::prelude::Value;

/// Every text, and every list's texts joined with spaces: `["rm", "-rf", "/"]` is a command too. Backslashes at line ends,
/// which a shell does not see, are gone.
pub(crate) fn texts(input: &Value) -> Vec<String> {
    let mut texts = Vec::new();
    gather(input, &mut texts);
    texts
}

fn gather(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.replace("\\\n", " ")),
        Value::Array(items) => {
            let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            if words.len() > 1 {
                texts.push(words.join(" "));
            }
            items.iter().for_each(|item| gather(item, texts));
        }
        Value::Object(fields) => fields.values().for_each(|value| gather(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
