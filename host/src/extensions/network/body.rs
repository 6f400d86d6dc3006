//! Bodies with a largest size.

use std::time::Duration;

use futures::stream;
use http_body_util::{BodyExt, Limited, StreamBody};
use hyper::body::{Body, Bytes, Incoming};
use tokio::time::timeout;
use wasmtime_wasi_http::{Error, WasiBody};

/// The same body, up to so many bytes; then this error.
pub(super) fn limited<B>(body: B, bytes: u64, too_large: fn(Option<u64>) -> Error) -> WasiBody
where
    B: Body<Data = Bytes, Error = Error> + Send + 'static,
{
    Limited::new(body, usize::try_from(bytes).unwrap_or(usize::MAX))
        .map_err(move |error| match error.downcast::<Error>() {
            Ok(error) => *error,
            Err(_) => too_large(Some(bytes)),
        })
        .boxed_unsync()
}

/// A response's body that waits only so long for each of its pieces.
pub(super) fn timed(
    body: Incoming,
    wait: Duration,
) -> impl Body<Data = Bytes, Error = Error> + Send + 'static {
    let frames = stream::unfold(Some(body), move |body| async move {
        let mut body = body?;
        match timeout(wait, body.frame()).await {
            Ok(None) => None,
            Ok(Some(Ok(frame))) => Some((Ok(frame), Some(body))),
            Ok(Some(Err(error))) => Some((Err(Error::Hyper(error)), None)),
            Err(_) => Some((Err(Error::ConnectionReadTimeout), None)),
        }
    });
    StreamBody::new(Box::pin(frames))
}
