use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a server answers in a test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The status, such as 200.
    pub status: u16,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// An answer with this text.
    pub fn text(status: u16, text: impl Into<String>) -> Self {
        Self::typed(status, "text/plain; charset=utf-8", text.into())
    }

    /// An answer with this JSON.
    #[allow(clippy::needless_pass_by_value, reason = "read with `json!` in the call")]
    pub fn json(status: u16, value: Value) -> Self {
        Self::typed(status, "application/json", value.to_string())
    }

    fn typed(status: u16, kind: &str, body: String) -> Self {
        let headers = vec![("content-type".to_owned(), kind.to_owned())];
        Self { status, headers, body: body.into_bytes() }
    }
}
