use std::convert::Infallible;
use std::time::Duration;

use axum::Extension as Of;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use tokio::time::timeout;

use crate::server::access::Caller;
use crate::server::hubs::Seat;
use crate::server::outbox::{Frames, outbox};
use crate::server::routes::{Place, Shared, failed};

/// How long nothing is said to an inspector: 15 s, below what proxies wait.
const SILENCE: Duration = Duration::from_secs(15);

/// Somebody who watches a session. It sits in the session's hub as a connection does.
struct Inspector {
    /// Left when this is dropped.
    _seat: Seat,
    frames: Frames,
    _place: Place,
}

/// `GET /api/sessions/{session}/events`: what happens in a session, as SSE.
pub(super) async fn events(
    State(shared): State<Shared>,
    Of(caller): Of<Caller>,
    Path(session): Path<String>,
    headers: HeaderMap,
) -> Response {
    let place = match shared.place(&caller, &session) {
        Ok(place) => place,
        Err(refusal) => return refusal.into_response(),
    };
    let (outbox, frames) = outbox(shared.limits.queued_bytes);
    let after = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    match shared.hubs.inspect(&session, after, outbox).await {
        Ok(Some(seat)) => Inspector { _seat: seat, frames, _place: place }.stream(),
        Ok(None) => (StatusCode::SERVICE_UNAVAILABLE, "the server stops").into_response(),
        Err(error) => failed(&error),
    }
}

impl Inspector {
    fn stream(self) -> Response {
        let events = stream::unfold(self, |mut inspector| async {
            let told = match timeout(SILENCE, inspector.frames.next()).await {
                Ok(Some(frame)) => frame,
                Ok(None) => return None,
                Err(_) => ": still here\n\n".into(),
            };
            Some((Ok::<_, Infallible>(told), inspector))
        });
        let headers = [
            (header::CONTENT_TYPE, "text/event-stream"),
            (header::CACHE_CONTROL, "no-cache"),
            (HeaderName::from_static("x-accel-buffering"), "no"),
        ];
        (headers, Body::from_stream(events)).into_response()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http_body_util::BodyExt;
    use tokio::sync::{Semaphore, mpsc};

    use super::*;
    use crate::server::hub::Order;

    #[tokio::test(start_paused = true)]
    async fn who_hears_nothing_is_told_that_it_is_still_there() {
        let (orders, mut left) = mpsc::channel(1);
        let (outbox, frames) = outbox(1_000);
        let seat = Seat { connection: 7, orders, room: Arc::new(Semaphore::new(0)) };
        let inspector = Inspector { _seat: seat, frames, _place: Place::any() };
        let mut body = inspector.stream().into_body();
        let mut next = async || body.frame().await.map(|frame| frame.unwrap().into_data().unwrap());
        assert_eq!(outbox.send("id: 1\n\n".into()), Ok(()));
        assert_eq!(next().await.unwrap(), "id: 1\n\n");
        for _ in 0..2 {
            assert_eq!(next().await.unwrap(), ": still here\n\n");
        }
        drop(outbox);
        assert_eq!(next().await, None, "the hub has let go of it");
        assert!(matches!(left.recv().await, Some(Order::Leave { connection: 7 })));
    }
}
