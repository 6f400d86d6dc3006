//! Requests over the network, to hosts that the operator granted, by `wasi:http`.
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
//! In a native test, [`TestHost::respond`](crate::testing::TestHost::respond) sets the answers. Several
//! requests at once are made with the crates `wasip2` or `wstd`, and are then tested in the sandbox alone.

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
    use std::fmt::Debug;

    use http::uri::{Authority, PathAndQuery};
    use wasip2::http::outgoing_handler::handle;
    use wasip2::http::types::{
        self, ErrorCode, Fields, IncomingResponse, OutgoingBody, OutgoingRequest, Scheme,
    };
    use wasip2::io::streams::StreamError;

    use super::{BridgeError, Method, Request, Response, header};

    /// As much as the host takes or gives in one piece.
    const WRITE: usize = 4096;
    const READ: u64 = 1 << 16;

    /// Why there is no answer.
    enum Failure {
        Code(ErrorCode),
        Text(String),
    }

    impl From<ErrorCode> for Failure {
        fn from(code: ErrorCode) -> Self {
            Self::Code(code)
        }
    }

    #[allow(clippy::needless_pass_by_value, reason = "as the other")]
    pub(super) fn send(request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, BridgeError> {
        exchange(&request).map_err(|failure| {
            let url = request.uri();
            match failure {
                Failure::Code(ErrorCode::HttpRequestDenied | ErrorCode::DestinationIpProhibited) => {
                    BridgeError::Denied(format!("{url}: the request is not granted"))
                }
                Failure::Code(code) => BridgeError::Failed(format!("{url}: {code:?}")),
                Failure::Text(text) => BridgeError::Failed(format!("{url}: {text}")),
            }
        })
    }

    fn exchange(request: &Request<Vec<u8>>) -> Result<Response<Vec<u8>>, Failure> {
        let outgoing = outgoing(request)?;
        let future = if request.body().is_empty() {
            // Without a stream, the host sends none.
            handle(outgoing, None)?
        } else {
            let body = outgoing.body().map_err(|()| refused("body", ()))?;
            let future = handle(outgoing, None)?;
            write(body, request.body());
            future
        };
        future.subscribe().block();
        let response = future.get().and_then(Result::ok).ok_or_else(|| refused("response", ()))?;
        answer(&response?)
    }

    fn outgoing(request: &Request<Vec<u8>>) -> Result<OutgoingRequest, Failure> {
        let headers = Fields::new();
        for (name, value) in request.headers() {
            let appended = headers.append(name.as_str(), value.as_bytes());
            appended.map_err(|error| refused(&format!("header {name}"), error))?;
        }
        // Servers want one even for nothing, where something is usual.
        let has_length = !request.body().is_empty()
            || [Method::POST, Method::PUT, Method::PATCH].contains(request.method());
        if has_length && !request.headers().contains_key(header::CONTENT_LENGTH) {
            let length = request.body().len().to_string();
            let appended = headers.append(header::CONTENT_LENGTH.as_str(), length.as_bytes());
            appended.map_err(|error| refused("content-length", error))?;
        }
        let outgoing = OutgoingRequest::new(headers);
        let uri = request.uri();
        let scheme = uri.scheme_str().map(|scheme| match scheme {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            other => Scheme::Other(other.to_owned()),
        });
        let path = uri.path_and_query().map(PathAndQuery::as_str);
        let method = types::Method::Other(request.method().as_str().to_owned());
        outgoing.set_method(&method).map_err(|()| refused("method", ()))?;
        outgoing.set_scheme(scheme.as_ref()).map_err(|()| refused("scheme", ()))?;
        outgoing.set_authority(uri.authority().map(Authority::as_str)).map_err(|()| refused("host", ()))?;
        outgoing.set_path_with_query(path).map_err(|()| refused("path", ()))?;
        Ok(outgoing)
    }

    /// Writes it as far as anyone reads it. What went wrong is told with the response: of a request that is denied, only that
    /// says so.
    fn write(body: OutgoingBody, bytes: &[u8]) {
        let Ok(stream) = body.write() else { return };
        if bytes.chunks(WRITE).all(|piece| stream.blocking_write_and_flush(piece).is_ok()) {
            drop(stream);
            let _ = OutgoingBody::finish(body, None);
        }
    }

    fn answer(response: &IncomingResponse) -> Result<Response<Vec<u8>>, Failure> {
        let headers = response.headers().entries().into_iter();
        let head = headers.fold(Response::builder().status(response.status()), |head, (name, value)| {
            head.header(name, value)
        });
        let body = response.consume().map_err(|()| refused("body", ()))?;
        let stream = body.stream().map_err(|()| refused("body", ()))?;
        let mut bytes = Vec::new();
        loop {
            match stream.blocking_read(READ) {
                Ok(piece) => bytes.extend(piece),
                Err(StreamError::Closed) => break,
                Err(StreamError::LastOperationFailed(error)) => {
                    return Err(types::http_error_code(&error)
                        .map_or_else(|| Failure::Text(error.to_debug_string()), Failure::Code));
                }
            }
        }
        head.body(bytes).map_err(|error| Failure::Text(error.to_string()))
    }

    fn refused(what: &str, error: impl Debug) -> Failure {
        Failure::Text(format!("the host does not take its {what}: {error:?}"))
    }
}

#[cfg(not(target_family = "wasm"))]
mod imp {
    use super::{BridgeError, Request, Response};
    use crate::testing::Reply;

    #[allow(clippy::needless_pass_by_value, reason = "what is sent is gone")]
    pub(super) fn send(request: Request<Vec<u8>>) -> Result<Response<Vec<u8>>, BridgeError> {
        let Reply { status, headers, body } = crate::host::http::send(&request)?;
        let head = headers
            .into_iter()
            .fold(Response::builder().status(status), |head, (name, value)| head.header(name, value));
        head.body(body).map_err(|error| BridgeError::Failed(error.to_string()))
    }
}
