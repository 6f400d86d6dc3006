//! Reading JSON that a guest has written.

use serde::de::DeserializeOwned;

use crate::hooks::Failure;

/// Reads a value that may be so deep and no deeper.
pub(super) fn parse<T: DeserializeOwned>(text: &str, depth: usize) -> Result<T, Failure> {
    if is_deeper(text, depth) {
        return Err(Failure::TooDeep { limit: depth });
    }
    serde_json::from_str(text).map_err(|error| Failure::Malformed(error.to_string()))
}

/// Counts brackets outside of strings. Of a text that is no JSON the answer means nothing, but no parser has followed
/// it yet.
fn is_deeper(text: &str, limit: usize) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                depth += 1;
                if depth > limit {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::Json;

    #[test]
    fn depth_is_counted_where_it_counts() {
        let read = |text: &str| parse::<Json>(text, 2);
        assert!(read(r#"[{"a": 1}, [2], "[[["]"#).is_ok());
        assert!(read(r#"["\"[[[\\", [1]]"#).is_ok());
        assert_eq!(read(r#"[{"a": [1]}]"#), Err(Failure::TooDeep { limit: 2 }));
        assert_eq!(read(r#"["\\", [[1]]]"#), Err(Failure::TooDeep { limit: 2 }));
        assert!(matches!(read("]]] {"), Err(Failure::Malformed(_))));
        for bad in ["", "{", "NaN", "1e999", "[1] 2", "'a'"] {
            assert!(matches!(read(bad), Err(Failure::Malformed(_))), "{bad}");
        }
    }
}
