//! Requests over the network, to hosts that the operator granted: `wasi:http` by the client of `wstd`.
//!
//! ```no_run
//! use lathe_guest::http;
//!
//! # fn main() -> lathe_guest::Result<()> {
//! let answer = http::get("https://api.example.org/status")?;
//! if answer.status().is_success() {
//!     let status: serde_json::Value = serde_json::from_slice(answer.body())?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! In a native test, [`TestHost::respond`](crate::testing::TestHost::respond) sets the answers. `wstd` does more, several
//! requests at once for one; it can be used directly, and is then tested in the sandbox alone.

use crate::bridge::BridgeError;

pub use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, header};

/// Asks for a page. Any status is an answer.
///
/// # Errors
///
/// `Denied` without the permission `network` for the host, `Failed` if there is no answer.
pub fn get(url: &str) -> Result<Response<Vec<u8>>, BridgeError> {
    let request = Request::get(url).body(Vec::new());
    send(request.map_err(|error| BridgeError::Failed(format!("{url}: {error}")))?)
}

/// Sends a request and waits for the whole answer.
///
/// # Errors
///
/// `Denied` without the permission `network` for the host, `Failed` if there is no answer.
pub fn send(request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, BridgeError> {
    imp::send(request)
}

#[cfg(target_family = "wasm")]
mod imp {
    use wstd::http::{Body, Client, ErrorCode};

    use super::header::CONTENT_LENGTH;
    use super::{BridgeError, Request, Response};

    pub(super) fn send(mut request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, BridgeError> {
        let url = request.uri().to_string();
        // Else the body goes out in chunks, which not every server takes.
        let length = request.body().len().into();
        request.headers_mut().entry(CONTENT_LENGTH).or_insert(length);
        let failed = |error: wstd::http::Error| match error.downcast_ref::<ErrorCode>() {
            Some(ErrorCode::HttpRequestDenied | ErrorCode::DestinationIpProhibited) => {
                BridgeError::Denied(format!("{url}: the request is not granted"))
            }
            Some(code) => BridgeError::Failed(format!("{url}: {code:?}")),
            None => BridgeError::Failed(format!("{url}: {error}")),
        };
        wstd::runtime::block_on(async {
            let answer = Client::new().send(request.map(Body::from)).await.map_err(failed)?;
            let (head, mut body) = answer.into_parts();
            let bytes = body.contents().await.map_err(failed)?.to_vec();
            Ok(Response::from_parts(head, bytes))
        })
    }
}

#[cfg(not(target_family = "wasm"))]
mod imp {
    use super::{BridgeError, Request, Response};
    use crate::testing::Reply;

    #[allow(clippy::needless_pass_by_value, reason = "as the other")]
    pub(super) fn send(request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, BridgeError> {
        let Reply { status, headers, body } = crate::host::http::send(&request)?;
        let head = headers
            .into_iter()
            .fold(Response::builder().status(status), |head, (name, value)| head.header(name, value));
        head.body(body).map_err(|error| BridgeError::Failed(error.to_string()))
    }
}
