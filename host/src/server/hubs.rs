//! The hubs of all sessions.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::{SendError, TrySendError};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::frames::ClientFrame;
use super::hub::{Client, Hub, Order};
use super::limits::Limits;
use super::metrics::Metrics;
use super::outbox::Outbox;
use crate::agent::{Agent, Session, SessionError};

/// Orders that may wait for a hub; then its connections are not read from. 64.
const ORDERS: usize = 64;

pub(super) struct Hubs {
    pub(super) agent: Agent,
    pub(super) metrics: Arc<Metrics>,
    limits: Limits,
    stop: CancellationToken,
    hubs: Mutex<HashMap<String, Running>>,
    connections: AtomicU64,
}

struct Running {
    orders: mpsc::Sender<Order>,
    /// Bytes of frames that may wait for it.
    room: Arc<Semaphore>,
    task: JoinHandle<()>,
}

/// A connection's way to its hub, which hears when it is dropped.
pub(super) struct Seat {
    pub(super) connection: u64,
    pub(super) orders: mpsc::Sender<Order>,
    pub(super) room: Arc<Semaphore>,
}

impl Seat {
    /// Says something to the hub, once there is room for a frame of as many bytes. False if the hub is gone.
    pub(super) async fn say(&self, frame: ClientFrame, bytes: usize) -> bool {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let Ok(room) = self.room.clone().acquire_many_owned(bytes).await else { return false };
        let order = Order::Frame { connection: self.connection, frame, room: Some(room) };
        self.orders.send(order).await.is_ok()
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let leave = Order::Leave { connection: self.connection };
        if let (Err(TrySendError::Full(leave)), Ok(runtime)) =
            (self.orders.try_send(leave), Handle::try_current())
        {
            let orders = self.orders.clone();
            runtime.spawn(async move { orders.send(leave).await });
        }
    }
}

impl Hubs {
    pub(super) fn new(agent: Agent, limits: Limits, stop: CancellationToken) -> Self {
        let (metrics, hubs) = (Arc::default(), Mutex::default());
        Self { agent, metrics, limits, stop, hubs, connections: AtomicU64::new(0) }
    }

    /// Seats a connection. None if the server stops.
    pub(super) async fn join(
        &self,
        session: &str,
        client: Client,
        agent: &str,
        outbox: Outbox,
    ) -> Result<Option<Seat>, SessionError> {
        let agent = agent.to_owned();
        self.seat(session, |connection| Order::Join { connection, client, agent, outbox }).await
    }

    /// Seats somebody who watches, and has seen the events up to the one with the id `after`. None if the server stops.
    pub(super) async fn inspect(
        &self,
        session: &str,
        after: Option<String>,
        outbox: Outbox,
    ) -> Result<Option<Seat>, SessionError> {
        self.seat(session, |connection| Order::Inspect { connection, after, outbox }).await
    }

    async fn seat(
        &self,
        session: &str,
        order: impl FnOnce(u64) -> Order,
    ) -> Result<Option<Seat>, SessionError> {
        let session = self.agent.asleep(session).await?;
        let connection = self.connections.fetch_add(1, Ordering::Relaxed);
        let mut order = order(connection);
        loop {
            let (orders, room) = self.open(session.clone());
            match orders.send(order).await {
                Ok(()) => return Ok(Some(Seat { connection, orders, room })),
                Err(_) if self.stop.is_cancelled() => return Ok(None),
                // It has just ended, since nobody wanted anything.
                Err(SendError(again)) => order = again,
            }
            tokio::task::yield_now().await;
        }
    }

    /// Whether a session may be opened, or is open.
    pub(super) fn has_room(&self, session: &str) -> bool {
        let mut hubs = self.hubs.lock();
        if hubs.contains_key(session) || hubs.len() < self.limits.sessions {
            return true;
        }
        hubs.retain(|_, hub| !hub.task.is_finished());
        hubs.len() < self.limits.sessions
    }

    /// The way to the hub of a session, which is made if there is none.
    pub(super) fn open(&self, session: Session) -> (mpsc::Sender<Order>, Arc<Semaphore>) {
        let mut hubs = self.hubs.lock();
        hubs.retain(|_, hub| !hub.task.is_finished());
        let name = session.name().to_owned();
        if let Some(running) = hubs.get(&name) {
            return (running.orders.clone(), running.room.clone());
        }
        let (orders, receiver) = mpsc::channel(ORDERS);
        let task = tokio::spawn(
            Hub::new(session, self.limits, self.metrics.clone()).run(receiver, self.stop.clone()),
        );
        // One that is worked on, and the next.
        let room = self.limits.frame_bytes.saturating_mul(2).min(Semaphore::MAX_PERMITS);
        let room = Arc::new(Semaphore::new(room));
        hubs.insert(name, Running { orders: orders.clone(), room: room.clone(), task });
        (orders, room)
    }

    /// How many sessions have a hub that works.
    pub(super) fn open_now(&self) -> usize {
        self.hubs.lock().values().filter(|hub| !hub.task.is_finished()).count()
    }

    /// Has taken up what an earlier process has left of a session, with its hub there to tell of it.
    pub(super) async fn wake(&self, session: Session) {
        // A hub that is gone has taken it up.
        let (orders, _room) = self.open(session);
        let _ = orders.send(Order::Wake).await;
    }

    /// Waits for the hubs to end, as they do once the server stops.
    pub(super) async fn close(&self) {
        let hubs = std::mem::take(&mut *self.hubs.lock());
        // A hub that nobody can reach any more would end before its turn: the way to it is kept until then.
        for (session, Running { orders: _reachable, task, .. }) in hubs {
            if task.await.is_err() {
                tracing::error!(session, "the hub of a session panicked; this is a bug in the host");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn seat(orders: usize, room: usize) -> (Seat, mpsc::Receiver<Order>) {
        let (orders, hub) = mpsc::channel(orders);
        (Seat { connection: 1, orders, room: Arc::new(Semaphore::new(room)) }, hub)
    }

    #[tokio::test(start_paused = true)]
    async fn large_frames_wait_for_each_other() {
        let (seat, mut hub) = seat(8, 10);
        assert!(seat.say(ClientFrame::Clear {}, 8).await && seat.say(ClientFrame::Clear {}, 2).await);
        let mut third = std::pin::pin!(seat.say(ClientFrame::Clear {}, 5));
        let wait = Duration::from_secs(60);
        assert!(tokio::time::timeout(wait, &mut third).await.is_err(), "there is no room");
        let first = hub.recv().await;
        assert!(tokio::time::timeout(wait, &mut third).await.is_err(), "it is worked on");
        drop(first);
        assert!(third.await);
        drop(hub);
        assert!(!seat.say(ClientFrame::Clear {}, 8).await, "the hub is gone");
    }

    #[tokio::test]
    async fn a_hub_hears_of_a_connection_that_is_dropped_however_busy_it_is() {
        let (seat, mut hub) = seat(1, 10);
        assert!(seat.say(ClientFrame::Clear {}, 1).await);
        drop(seat);
        assert!(matches!(hub.recv().await, Some(Order::Frame { .. })));
        assert!(matches!(hub.recv().await, Some(Order::Leave { connection: 1 })));
    }
}
