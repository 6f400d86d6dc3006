//! JSON Schemas of Rust types.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// The JSON Schema of a type, for [`Extension::settings_schema`](crate::Extension::settings_schema).
pub fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        // Model providers disagree about `$ref`; only a type inside itself still has one.
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.to_value()
}

/// The description and the schema of a tool's input.
pub(crate) fn input<T: JsonSchema>() -> (String, Value) {
    let mut schema = schema::<T>();
    let Value::Object(fields) = &mut schema else { return (String::new(), schema) };
    let description = match fields.shift_remove("description") {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    // An enum's schema leaves out the one, an empty struct's the other, and providers want both.
    fields.entry("type").or_insert_with(|| "object".into());
    fields.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    (description, schema)
}
