//! Settings of an extension: any TOML, as JSON.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::turn::{Json, JsonObject};

pub(super) fn json<'de, D: Deserializer<'de>>(deserializer: D) -> Result<JsonObject, D::Error> {
    object(toml::Table::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn object(table: toml::Table) -> Result<JsonObject, String> {
    table
        .into_iter()
        .map(|(key, value)| match value_of(value) {
            Ok(value) => Ok((key, value)),
            Err(number) => Err(format!("`{key}` is {number}, which JSON has no number for")),
        })
        .collect()
}

/// The error is the number that JSON does not have.
fn value_of(value: toml::Value) -> Result<Json, String> {
    Ok(match value {
        toml::Value::String(text) => Json::String(text),
        toml::Value::Integer(number) => Json::from(number),
        toml::Value::Float(number) => {
            serde_json::Number::from_f64(number).map(Json::Number).ok_or_else(|| number.to_string())?
        }
        toml::Value::Boolean(truth) => Json::Bool(truth),
        toml::Value::Datetime(time) => Json::String(time.to_string()),
        toml::Value::Array(list) => Json::Array(list.into_iter().map(value_of).collect::<Result<_, _>>()?),
        toml::Value::Table(table) => Json::Object(object(table)?),
    })
}
