use std::fmt;

use serde_json::Value;

use crate::bridge::BridgeError;

/// A call that the extension made of the host, refused ones too.
///
/// As text it reads like the call: `storage.increment("greetings", 1)`, and with ` = denied: …` behind it if the host
/// did not do it.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The interface and the function, in the contract's words: `storage.set`, `session.send-message`, `log.log`; of a
    /// request over the network `http.send`.
    pub function: String,
    /// In order. Bytes are a text if they are UTF-8, else a list of numbers; a log record's level is a word; of a
    /// request there are the method, the URL and the body.
    pub arguments: Vec<Value>,
    /// Why the host did not do it.
    pub error: Option<BridgeError>,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments: Vec<String> = self.arguments.iter().map(Value::to_string).collect();
        write!(f, "{}({})", self.function, arguments.join(", "))?;
        match &self.error {
            None => Ok(()),
            Some(error) => write!(f, " = {error}"),
        }
    }
}

/// Bytes as an argument.
pub(crate) fn bytes(value: &[u8]) -> Value {
    str::from_utf8(value).map_or_else(|_| value.into(), Value::from)
}
