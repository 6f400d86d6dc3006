//! One WebSocket connection.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use super::frames::ClientFrame;
use super::hubs::Seat;
use super::limits::STATE;
use super::outbox::Frames;

/// How often a client is asked whether it is still there: 30 s.
const PING: Duration = Duration::from_secs(30);

/// How long a client may say nothing, pongs included: three pings.
const SILENCE: Duration = Duration::from_secs(90);

/// How long one frame may take to be written: 30 s.
const WRITE: Duration = Duration::from_secs(30);

/// Carries frames both ways until one side ends, or nothing was said for as long as `idle`.
pub(super) async fn run(mut socket: WebSocket, seat: Seat, mut frames: Frames, idle: Duration) {
    let mut ping = interval_at(Instant::now() + PING, PING);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut heard = Instant::now();
    let mut spoken = Instant::now();
    loop {
        let message = tokio::select! {
            frame = frames.next() => match frame {
                Some(frame) => {
                    spoken = Instant::now();
                    Message::Text(frame)
                }
                None => {
                    close(&mut socket, "the server lets go").await;
                    break;
                }
            },
            () = tokio::time::sleep(idle.saturating_sub(spoken.elapsed())) => {
                close(&mut socket, "nothing was said for too long").await;
                break;
            }
            _ = ping.tick() => {
                if heard.elapsed() > SILENCE {
                    break;
                }
                Message::Ping(Default::default())
            }
            received = socket.recv() => {
                heard = Instant::now();
                match received {
                    Some(Ok(Message::Text(text))) => {
                        spoken = heard;
                        let Some(frame) = ClientFrame::read(&text) else { continue };
                        if matches!(frame, ClientFrame::State { .. }) && text.len() > STATE {
                            close(&mut socket, "what clients share may be 256 KiB").await;
                            break;
                        }
                        if !seat.say(frame, text.len()).await {
                            break;
                        }
                    }
                    Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_))) => {}
                    Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                }
                continue;
            }
        };
        if !matches!(timeout(WRITE, socket.send(message)).await, Ok(Ok(()))) {
            break;
        }
    }
}

async fn close(socket: &mut WebSocket, reason: &'static str) {
    let frame = CloseFrame { code: close_code::AWAY, reason: reason.into() };
    let _ = timeout(WRITE, socket.send(Message::Close(Some(frame)))).await;
}
