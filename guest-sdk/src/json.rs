//! Values to JSON text and back, at the edge to the host.

use serde_json::Value;

use crate::error::{Error, Result};

/// `what` names the value in the error.
pub(crate) fn parse(what: &str, text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|error| Error::new(format!("the host's {what} is not JSON: {error}")))
}

pub(crate) fn parse_optional(what: &str, text: Option<&str>) -> Result<Option<Value>> {
    text.map(|text| parse(what, text)).transpose()
}

pub(crate) fn text(value: Option<Value>) -> Option<String> {
    value.map(|value| value.to_string())
}
