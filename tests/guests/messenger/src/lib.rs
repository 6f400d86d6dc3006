//! A guest for tests: it sends what its tool's input says, by `lathe_guest::http`.

use std::collections::BTreeMap;

use lathe_guest::http::{self, Request};
use lathe_guest::prelude::*;
use serde_json::Value;

#[derive(Default)]
struct Messenger;

#[extension]
impl Extension for Messenger {
    fn tools() -> Tools<Self> {
        Tools::new().tool("send", Self::send)
    }

    fn permissions() -> Permissions {
        let network = ["127.0.0.1", "*.test"].map(str::to_owned);
        Permissions { network: network.into(), ..Permissions::default() }
    }
}

/// Sends a request, and tells the answer.
#[derive(Deserialize, JsonSchema)]
struct Send {
    method: String,
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
}

impl Messenger {
    fn send(&mut self, Send { method, url, headers, body }: Send) -> Result<Value> {
        let request = Request::builder().method(&*method).uri(url);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(name, value));
        let request = request.body(body.into_bytes()).map_err(|error| error.to_string())?;
        let answer = http::send(request)?;
        let kind = answer.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        Ok(json!({
            "status": answer.status().as_u16(),
            "type": kind,
            "body": String::from_utf8_lossy(answer.body()),
        }))
    }
}
