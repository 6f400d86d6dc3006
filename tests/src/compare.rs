//! In what two JSON values differ.

use std::fmt;

use serde_json::Value;

/// Fields that this host shows hooks beyond the recorded ones.
const BEYOND: [&str; 4] = ["requestId", "trigger", "maxSteps", "outcome"];

/// A place at which two values differ.
#[derive(Clone, Debug)]
pub struct Found {
    /// Names and numbers from the top.
    pub path: Vec<String>,
    /// None if there should be nothing.
    pub expected: Option<Value>,
    /// None if there is nothing.
    pub got: Option<Value>,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: &Option<Value>| match value {
            None => "nothing".to_owned(),
            Some(value) => {
                let text = value.to_string();
                let cut: String = text.chars().take(240).collect();
                if cut.len() < text.len() { format!("{cut}…") } else { cut }
            }
        };
        write!(f, "{}: expected {}, got {}", self.path.join("."), text(&self.expected), text(&self.got))
    }
}

/// Everything in which `got` differs from `expected`.
pub fn compare(expected: &Value, got: &Value) -> Vec<Found> {
    let mut found = Vec::new();
    values(&mut Vec::new(), expected, got, &mut found);
    found
}

fn values(path: &mut Vec<String>, expected: &Value, got: &Value, found: &mut Vec<Found>) {
    match (expected, got) {
        (Value::String(text), _) if text == "<ms>" && got.is_number() => {}
        (Value::String(text), Value::String(got)) if text == "<host text>" && !got.is_empty() => {}
        // 3 and 3.0 are one number in JSON.
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => {}
        (Value::Object(a), Value::Object(b)) => {
            for (key, value) in a {
                at(path, key, Some(value), b.get(key), found);
            }
            let frame = |fields: &serde_json::Map<String, Value>| {
                let kind = fields.get("type").and_then(Value::as_str);
                kind.is_some_and(|kind| kind.starts_with("cf_agent_"))
            };
            for (key, value) in b {
                if !a.contains_key(key) && (frame(b) || !BEYOND.contains(&&**key)) {
                    at(path, key, None, Some(value), found);
                }
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for (place, (a, b)) in aligned(a, b).into_iter().enumerate() {
                at(path, &place.to_string(), a, b, found);
            }
        }
        (a, b) if a == b => {}
        (a, b) => found.push(Found { path: path.clone(), expected: Some(a.clone()), got: Some(b.clone()) }),
    }
}

fn at(path: &mut Vec<String>, key: &str, a: Option<&Value>, b: Option<&Value>, found: &mut Vec<Found>) {
    path.push(key.to_owned());
    match (a, b) {
        (Some(a), Some(b)) => values(path, a, b, found),
        (a, b) => found.push(Found { path: path.clone(), expected: a.cloned(), got: b.cloned() }),
    }
    path.pop();
}

/// The entries of two lists side by side: those about the same thing together, so that one that is missing is reported
/// as missing and not as a difference in all that follow.
fn aligned<'a>(a: &'a [Value], b: &'a [Value]) -> Vec<(Option<&'a Value>, Option<&'a Value>)> {
    // The best sum for what is left from (i, j) on.
    let mut best = vec![vec![0usize; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            let paired = likeness(&a[i], &b[j]).map_or(0, |likeness| likeness + best[i + 1][j + 1]);
            best[i][j] = paired.max(best[i + 1][j]).max(best[i][j + 1]);
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut pairs = Vec::new();
    while i < a.len() || j < b.len() {
        let pair = match (a.get(i), b.get(j)) {
            (Some(x), Some(y))
                if likeness(x, y).is_some_and(|likeness| best[i][j] == likeness + best[i + 1][j + 1]) =>
            {
                (Some(x), Some(y))
            }
            (Some(x), _) if j == b.len() || best[i][j] == best[i + 1][j] => (Some(x), None),
            (_, y) => (None, y),
        };
        i += usize::from(pair.0.is_some());
        j += usize::from(pair.1.is_some());
        pairs.push(pair);
    }
    pairs
}

/// None if two entries are about different things; more where they are equal.
fn likeness(a: &Value, b: &Value) -> Option<usize> {
    let same = |key: &str| a.get(key) == b.get(key);
    let about = ["hook", "event", "request", "queue", "type", "role", "toolCallId", "stepNumber"];
    let about = about.into_iter().all(same);
    about.then(|| if compare(a, b).is_empty() { 3 } else { 2 })
}
