use crate::turn::{Json, ToolError};

/// The most that a tool may answer, in bytes of JSON: 4 MiB, more than any model takes.
pub const OUTPUT_BYTES: usize = 4 << 20;

/// The deepest nesting of an answer. As deep as JSON is read anywhere in the host.
const DEPTH: usize = 128;

/// Refuses an answer that is too large or nested too deeply to be passed on.
///
/// # Errors
///
/// What the model is told in its place.
pub fn check_output(tool: &str, output: &Json, limit: usize) -> Result<(), ToolError> {
    // About what it is as text: names, texts and a few bytes around each value.
    let mut size = 0usize;
    let mut open = vec![(output, 1)];
    while let Some((value, depth)) = open.pop() {
        if depth > DEPTH {
            let message = format!("the output of tool \"{tool}\" is nested more than {DEPTH} levels deep");
            return Err(ToolError::named("OutputTooDeep", message));
        }
        size = size.saturating_add(4);
        match value {
            Json::String(text) => size = size.saturating_add(text.len()),
            Json::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Json::Object(fields) => {
                for (name, field) in fields {
                    size = size.saturating_add(name.len());
                    open.push((field, depth + 1));
                }
            }
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
        if size > limit {
            let message = format!(
                "the output of tool \"{tool}\" is larger than {limit} bytes; ask it for less, or for a part"
            );
            return Err(ToolError::named("OutputTooLarge", message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_too_large_or_too_deep_is_refused() {
        let check = |value: &Json| check_output("t", value, 1000).map_err(|error| error.name);
        assert_eq!(check(&json!({"a": ["x".repeat(900), 1, null]})), Ok(()));
        for large in [json!("x".repeat(1000)), json!(vec![0; 250]), json!({"x".repeat(1000): 1})] {
            assert_eq!(check(&large), Err("OutputTooLarge".into()));
        }
        let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(check(&deep), Err("OutputTooDeep".into()));
    }
}
