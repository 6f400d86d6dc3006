//! Where clients come in: sockets, how many there may be, and how long they may take.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1::Builder;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use super::limits::{BUFFER, Limits, PLAIN};
use super::patient::Patient;

/// How long nobody is let in when the system has no socket left: 1 s.
const EXHAUSTED: Duration = Duration::from_secs(1);

/// What who comes when all places are taken is told before the socket is closed.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\n\
    content-length: 20\r\nconnection: close\r\n\r\ntoo many connections";

/// Answers requests until `stop`, then those that are under way. Dropping it cuts these off.
pub(super) async fn serve(listener: TcpListener, routes: Router, limits: Limits, stop: CancellationToken) {
    let sockets = limits.connections.saturating_add(PLAIN).min(Semaphore::MAX_PERMITS);
    let places = Arc::new(Semaphore::new(sockets));
    let mut http = Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(BUFFER)
        .max_header_size(BUFFER);
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(ended) = open.join_next() => note(ended),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => match places.clone().try_acquire_owned() {
                    Ok(place) => {
                        // A frame goes out when it is there, and not when the one before it is acknowledged.
                        let _ = stream.set_nodelay(true);
                        let socket = Patient::new(stream, limits.write, place);
                        open.spawn(answer(http.clone(), socket, routes.clone(), stop.clone()));
                    }
                    // As much as goes without waiting for it.
                    Err(_) => drop(stream.try_write(FULL)),
                },
                Err(error) if is_the_clients(&error) => {}
                Err(error) => {
                    tracing::error!("no connection can be accepted: {error}");
                    tokio::time::sleep(EXHAUSTED).await;
                }
            },
        }
    }
    drop(listener);
    while let Some(ended) = open.join_next().await {
        note(ended);
    }
}

/// Answers the requests of one client.
async fn answer(http: Builder, socket: Patient, routes: Router, stop: CancellationToken) {
    let answering = http.serve_connection(TokioIo::new(socket), TowerToHyperService::new(routes));
    let mut answering = pin!(answering.with_upgrades());
    let answered = tokio::select! {
        answered = &mut answering => answered,
        () = stop.cancelled() => {
            answering.as_mut().graceful_shutdown();
            answering.await
        }
    };
    if let Err(error) = answered {
        tracing::debug!("a connection ended: {error}");
    }
}

fn note(ended: Result<(), JoinError>) {
    if ended.is_err_and(|error| error.is_panic()) {
        tracing::error!("answering a request panicked; this is a bug in the host");
    }
}

/// Whether a connection failed before it was accepted.
fn is_the_clients(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
