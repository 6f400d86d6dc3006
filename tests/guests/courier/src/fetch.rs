//! A request through `wasi:http`, with everything that a guest can set.

use std::collections::BTreeMap;

use lathe_guest::prelude::*;
use serde_json::Value;
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingBody, IncomingResponse, Method, OutgoingBody,
    OutgoingRequest, RequestOptions, Scheme, http_error_code,
};
use wasip2::io::poll::{Pollable, poll};
use wasip2::io::streams::StreamError;

/// What to ask.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Request {
    /// `http` or `https`.
    scheme: String,
    /// Host and port.
    authority: String,
    #[serde(default)]
    path: String,
    /// GET if absent.
    method: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// A body of so many bytes.
    #[serde(default)]
    body_bytes: usize,
    /// How long the server may be silent.
    silence_ms: Option<u64>,
}

/// Status, headers and body of the response; or the error code in words.
pub(crate) fn fetch(request: &Request) -> Result<Value, String> {
    let (future, body) = begin(request)?;
    write(body, request.body_bytes);
    future.subscribe().block();
    end(&future)
}

/// So many at once; what came of the first that is done.
pub(crate) fn flood(request: &Request, count: usize) -> Result<Value, String> {
    let begun: Vec<_> = (0..count).map(|_| begin(request)).collect::<Result<_, _>>()?;
    let waiting: Vec<Pollable> = begun.iter().map(|(future, _)| future.subscribe()).collect();
    let done = poll(&waiting.iter().collect::<Vec<_>>());
    drop(waiting);
    let first = done.first().and_then(|&index| begun.get(usize::try_from(index).ok()?));
    end(&first.ok_or("none")?.0)
}

fn begin(request: &Request) -> Result<(FutureIncomingResponse, OutgoingBody), String> {
    let headers = Fields::new();
    for (name, value) in &request.headers {
        headers.append(name, value.as_bytes()).map_err(|error| format!("{error:?}"))?;
    }
    let outgoing = OutgoingRequest::new(headers);
    let method = request.method.as_deref().unwrap_or("GET").to_owned();
    let scheme = if request.scheme == "https" { Scheme::Https } else { Scheme::Http };
    outgoing.set_method(&Method::Other(method)).map_err(|()| "method")?;
    outgoing.set_scheme(Some(&scheme)).map_err(|()| "scheme")?;
    outgoing.set_authority(Some(&request.authority)).map_err(|()| "authority")?;
    outgoing.set_path_with_query(Some(&format!("/{}", request.path))).map_err(|()| "path")?;
    let body = outgoing.body().map_err(|()| "body")?;
    let options = RequestOptions::new();
    let silence = request.silence_ms.map(|ms| ms * 1_000_000);
    options.set_first_byte_timeout(silence).map_err(|()| "timeout")?;
    options.set_between_bytes_timeout(silence).map_err(|()| "timeout")?;
    Ok((handle(outgoing, Some(options)).map_err(code)?, body))
}

fn end(future: &FutureIncomingResponse) -> Result<Value, String> {
    let response = future.get().ok_or("not done")?.map_err(|()| "taken")?.map_err(code)?;
    let headers = response.headers().entries().into_iter();
    let headers: BTreeMap<String, String> =
        headers.map(|(name, value)| (name, String::from_utf8_lossy(&value).into_owned())).collect();
    let status = response.status();
    Ok(json!({ "status": status, "headers": headers, "body": read(&response)? }))
}

/// `ErrorCode::HttpRequestDenied` as `HttpRequestDenied`.
#[allow(clippy::needless_pass_by_value, reason = "as `map_err` wants it")]
fn code(code: ErrorCode) -> String {
    format!("{code:?}").trim_start_matches("ErrorCode::").to_owned()
}

/// Writes it as far as anyone reads it: what went wrong is told with the response.
fn write(body: OutgoingBody, bytes: usize) {
    let Ok(stream) = body.write() else { return };
    for piece in vec![b'x'; bytes].chunks(4096) {
        if stream.blocking_write_and_flush(piece).is_err() {
            break;
        }
    }
    drop(stream);
    let _ = OutgoingBody::finish(body, None);
}

fn read(response: &IncomingResponse) -> Result<String, String> {
    let body: IncomingBody = response.consume().map_err(|()| "consumed")?;
    let stream = body.stream().map_err(|()| "stream")?;
    let mut bytes = Vec::new();
    loop {
        match stream.blocking_read(1 << 16) {
            Ok(piece) => bytes.extend(piece),
            Err(StreamError::Closed) => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(StreamError::LastOperationFailed(error)) => {
                return Err(http_error_code(&error).map_or_else(|| error.to_debug_string(), code));
            }
        }
    }
}
