use jsonschema::Validator;

use crate::turn::{InvalidInput, Json};

/// Checks a tool's inputs against its JSON Schema.
///
/// Models often write `"3"` for `3`: a value that does not fit its property's plain type, but reads as one that
/// does, is brought to that type first (`or-agent.md` §1.4).
pub struct InputCheck {
    schema: Json,
    /// None if the schema itself is unusable; then only the input's being an object is checked.
    validator: Option<Validator>,
}

/// Errors that are told to the model; one is often enough to see what is meant.
const TOLD: usize = 5;

impl InputCheck {
    /// For that schema.
    #[must_use]
    pub fn new(schema: &Json) -> Self {
        let validator = jsonschema::validator_for(schema)
            .inspect_err(|error| tracing::warn!("a tool's input schema is not usable: {error}"))
            .ok();
        Self { schema: schema.clone(), validator }
    }

    /// The input, brought to the schema's types.
    ///
    /// # Errors
    ///
    /// If it still does not fit: what is wrong, for the model.
    pub fn check(&self, mut input: Json) -> Result<Json, InvalidInput> {
        if !input.is_object() {
            return Err(InvalidInput(format!("the input must be an object, not {}", kind(&input))));
        }
        let Some(validator) = &self.validator else { return Ok(input) };
        if validator.is_valid(&input) {
            return Ok(input);
        }
        coerce(&mut input, &self.schema);
        errors(validator, &input)?;
        Ok(input)
    }
}

/// Checks a value against a JSON Schema.
///
/// # Errors
///
/// If it does not fit, or the schema is not usable.
pub fn check_against(schema: &Json, value: &Json) -> Result<(), InvalidInput> {
    let validator = jsonschema::validator_for(schema)
        .map_err(|error| InvalidInput(format!("the schema is not usable: {error}")))?;
    errors(&validator, value)
}

fn errors(validator: &Validator, value: &Json) -> Result<(), InvalidInput> {
    let errors: Vec<String> = validator
        .iter_errors(value)
        .take(TOLD)
        .map(|error| match error.instance_path().to_string() {
            path if path.is_empty() => error.to_string(),
            path => format!("{path}: {error}"),
        })
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(InvalidInput(errors.join("; "))) }
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

/// Follows the plain parts of a schema: `properties`, `items`, `type`.
fn coerce(value: &mut Json, schema: &Json) {
    match value {
        Json::Object(fields) => {
            for (name, field) in fields {
                if let Some(schema) = schema.get("properties").and_then(|properties| properties.get(name)) {
                    coerce(field, schema);
                }
            }
        }
        Json::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter_mut().for_each(|item| coerce(item, schema));
            }
        }
        _ => {
            let Some(wanted) = schema.get("type").and_then(Json::as_str) else { return };
            let coerced = match (wanted, &*value) {
                ("number", Json::String(text)) => number(text),
                ("integer", Json::String(text)) => text.trim().parse::<i64>().ok().map(Json::from),
                ("boolean", Json::String(text)) => text.trim().parse::<bool>().ok().map(Json::from),
                ("string", Json::Number(_) | Json::Bool(_)) => Some(Json::String(value.to_string())),
                _ => None,
            };
            if let Some(coerced) = coerced {
                *value = coerced;
            }
        }
    }
}

fn number(text: &str) -> Option<Json> {
    let text = text.trim();
    text.parse::<i64>()
        .map(Json::from)
        .or_else(|_| text.parse::<f64>().map(Json::from))
        .ok()
        .filter(|n| !n.is_null())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn add() -> InputCheck {
        InputCheck::new(&json!({
            "type": "object",
            "properties": {
                "a": {"type": "number"}, "b": {"type": "integer"}, "s": {"type": "string"},
                "on": {"type": "boolean"}, "list": {"type": "array", "items": {"type": "number"}},
            },
            "required": ["a"],
        }))
    }

    #[test]
    fn nearly_right_values_are_brought_to_their_type() {
        assert_eq!(
            add().check(json!({"a": "1", "b": "2", "s": 3, "on": "true", "list": ["1.5", 2]})),
            Ok(json!({"a": 1, "b": 2, "s": "3", "on": true, "list": [1.5, 2]}))
        );
    }

    #[test]
    fn a_valid_input_is_left_alone() {
        assert_eq!(add().check(json!({"a": 1, "more": "1"})), Ok(json!({"a": 1, "more": "1"})));
    }

    #[test]
    fn what_does_not_fit_is_said_with_its_place() {
        let error = add().check(json!({"a": "one", "on": 7})).unwrap_err().to_string();
        assert!(error.contains("/a") && error.contains("/on"), "{error}");
        let error = add().check(json!({})).unwrap_err().to_string();
        assert!(error.contains("\"a\""), "{error}");
        assert!(add().check(json!({"a": "NaN"})).is_err());
        for other in [json!([]), json!("{}"), json!(null)] {
            assert!(add().check(other).is_err());
        }
    }

    #[test]
    fn an_unusable_schema_still_asks_for_an_object() {
        let check = InputCheck::new(&json!({"type": 7}));
        assert_eq!(check.check(json!({"x": 1})), Ok(json!({"x": 1})));
        assert!(check.check(json!(1)).is_err());
    }
}
