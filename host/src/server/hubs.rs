//! The hubs of all sessions.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

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
    task: JoinHandle<()>,
}

/// A connection's way to its hub. Dropping it says nothing: see [`Seat::leave`] and [`Seat::abandon`].
pub(super) struct Seat {
    pub(super) connection: u64,
    pub(super) orders: mpsc::Sender<Order>,
}

impl Seat {
    pub(super) async fn leave(self) {
        let _ = self.orders.send(Order::Leave { connection: self.connection }).await;
    }

    /// The same without waiting. If the hub's orders are full, it finds out with the next frame.
    pub(super) fn abandon(&self) {
        let _ = self.orders.try_send(Order::Leave { connection: self.connection });
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
        let orders = self.open(self.agent.asleep(session).await?);
        let connection = self.connections.fetch_add(1, Ordering::Relaxed);
        Ok(orders.send(order(connection)).await.is_ok().then_some(Seat { connection, orders }))
    }

    /// The way to the hub of a session, which is made if there is none.
    pub(super) fn open(&self, session: Session) -> mpsc::Sender<Order> {
        let mut hubs = self.hubs.lock();
        hubs.retain(|_, hub| !hub.task.is_finished());
        let name = session.name().to_owned();
        if let Some(running) = hubs.get(&name) {
            return running.orders.clone();
        }
        let (orders, receiver) = mpsc::channel(ORDERS);
        let task = tokio::spawn(
            Hub::new(session, self.limits, self.metrics.clone()).run(receiver, self.stop.clone()),
        );
        hubs.insert(name, Running { orders: orders.clone(), task });
        orders
    }

    /// How many sessions have a hub that works.
    pub(super) fn open_now(&self) -> usize {
        self.hubs.lock().values().filter(|hub| !hub.task.is_finished()).count()
    }

    /// Has taken up what an earlier process has left of a session, with its hub there to tell of it.
    pub(super) async fn wake(&self, session: Session) {
        // A hub that is gone has taken it up.
        let _ = self.open(session).send(Order::Wake).await;
    }

    /// Waits for the hubs to end, as they do once the server stops.
    pub(super) async fn close(&self) {
        let hubs = std::mem::take(&mut *self.hubs.lock());
        // A hub that nobody can reach any more would end before its turn: the way to it is kept until then.
        for (session, Running { orders: _reachable, task }) in hubs {
            if task.await.is_err() {
                tracing::error!(session, "the hub of a session panicked; this is a bug in the host");
            }
        }
    }
}
