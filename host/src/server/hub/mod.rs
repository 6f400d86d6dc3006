//! The one task that speaks to the connections of a session.

mod ask;
mod resume;
#[cfg(test)]
mod tests;
mod turns;
mod wake;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use axum::extract::ws::Utf8Bytes;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

use super::decisions::Decision;
use super::frames::{self, ClientFrame};
use super::inspect::Feed;
use super::limits::Limits;
use super::metrics::{Metrics, Tally};
use super::outbox::{Lost, Outbox};
use super::stream::{Request, Stream};
use crate::agent::{ChatRequest, Session, TurnStream, Watcher};
use crate::turn::Json;

/// How long a session without a connection and without a turn is kept, for who comes back: 5 minutes.
const IDLE: Duration = Duration::from_mins(5);

/// The same of one in which nothing has happened, which has nothing to come back to: 10 s. Whoever tries many names does not
/// fill the memory with them.
const BLANK: Duration = Duration::from_secs(10);

/// How long clients wait at most until it is decided what becomes of a turn that an earlier process has left: 10 s.
const HELD: Duration = Duration::from_secs(10);

/// How long a client that comes back has to say that it wants the stream that it is told of: 50 ms.
const SAID: Duration = Duration::from_millis(50);

/// What is noted of a session for the next process: what clients share, and what the last turn has failed with.
const STATE: &str = "client-state";
const FAILURE: &str = "failure";

/// What a hub is told by connections.
pub(super) enum Order {
    /// A client is there. `agent` is the name by which it called.
    Join { connection: u64, client: Client, agent: String, outbox: Outbox },
    /// Somebody watches. `after` is the id of the last event that they have seen.
    Inspect { connection: u64, after: Option<String>, outbox: Outbox },
    /// It says something. There is room for as much again once this is dropped.
    Frame { connection: u64, frame: ClientFrame, room: Option<OwnedSemaphorePermit> },
    /// A client says what people have decided, and wants to hear whether the conversation goes on with that. It is sent
    /// what follows as all others are, and has nothing to acknowledge.
    Decide { decisions: Vec<Decision>, goes_on: oneshot::Sender<bool> },
    /// It is gone.
    Leave { connection: u64 },
    /// What an earlier process has left is to be taken up, though nobody is there.
    Wake,
    /// Somebody who is not connected has a request answered. Nothing is returned if the server stops.
    Turn { request: Box<ChatRequest>, reply: oneshot::Sender<Result<TurnStream, Refused>> },
}

/// Why a request is not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// Too many of the session wait.
    Full,
    /// In words.
    Other(String),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Full => "too many requests of this session wait for their turn",
            Self::Other(error) => error,
        })
    }
}

pub(super) struct Hub {
    session: Session,
    events: Watcher,
    limits: Limits,
    connections: HashMap<u64, Connection>,
    feed: Feed,
    /// Turns that show nothing yet, those that were asked for first in front.
    requests: Vec<Request>,
    stream: Option<Stream>,
    /// Streams that have ended, the last one at the back.
    closed: VecDeque<Stream>,
    /// What the last turn has failed with.
    failure: Option<Stream>,
    /// Connections that wait for a stream to begin.
    waiting: HashSet<u64>,
    /// Connections that were told of a stream and have not said that they want it.
    excluded: HashSet<u64>,
    /// Calls were answered so that the conversation goes on.
    answers: Option<Answers>,
    /// The turn that is taken up.
    recovering: Option<String>,
    /// Turns that have ended, until their session says so too.
    finished: HashSet<String>,
    /// Turns whose conversation was cleared while they ran.
    cleared: HashSet<String>,
    /// What clients share.
    state: Option<Json>,
    tally: Tally,
    /// A turn is given up, and its end comes.
    exhausted: bool,
    /// The turn that an earlier process has left without having shown anything.
    left: Option<Request>,
    /// What an earlier process has left is taken up.
    awake: bool,
    /// Clients wait until it is decided what becomes of that.
    held: bool,
    /// It is time for its next attempt: clients wait until that has begun.
    due: bool,
}

struct Connection {
    client: Client,
    outbox: Outbox,
}

/// Who is connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Client {
    /// Over a WebSocket, with its name of itself: it may have several connections.
    Socket(Option<String>),
    /// One that is sent the answer to a request; with `observes` also what happens around it. It sees one turn, and so the
    /// one that goes on, not what was shown of it before it was cut off.
    Posted { observes: bool },
}

/// Who has had the conversation go on by itself.
#[derive(Default)]
struct Answers {
    /// Who has answered last, as long as they are there.
    owner: Option<u64>,
    /// Who is told when it does.
    awaiting: HashSet<u64>,
}

impl Hub {
    pub(super) fn new(session: Session, limits: Limits, metrics: Arc<Metrics>) -> Self {
        let events = session.watch();
        Self {
            session,
            events,
            limits,
            connections: HashMap::new(),
            feed: Feed::new(),
            requests: Vec::new(),
            stream: None,
            closed: VecDeque::new(),
            failure: None,
            waiting: HashSet::new(),
            excluded: HashSet::new(),
            answers: None,
            recovering: None,
            finished: HashSet::new(),
            cleared: HashSet::new(),
            state: None,
            tally: Tally::new(metrics),
            exhausted: false,
            left: None,
            awake: false,
            held: false,
            due: false,
        }
    }

    /// Works until nobody has wanted anything for a while, or the server stops and the turns are over.
    pub(super) async fn run(mut self, mut orders: mpsc::Receiver<Order>, stop: CancellationToken) {
        self.remember().await;
        let mut until = Instant::now() + BLANK;
        let held = Instant::now() + HELD;
        let mut stopping = false;
        loop {
            self.tally.waiting(self.requests.len());
            let busy = self.session.is_busy();
            if stopping && !busy {
                // The end of the last turn is among them.
                while let Some(event) = self.events.try_next() {
                    self.event(event).await;
                }
                return;
            }
            let wanted = busy || !self.connections.is_empty() || self.feed.is_watched();
            if !stopping && wanted {
                let blank = self.state.is_none() && self.failure.is_none() && self.feed.is_blank();
                until = Instant::now() + if blank { BLANK } else { IDLE };
            }
            tokio::select! {
                biased;
                () = stop.cancelled(), if !stopping => {
                    stopping = true;
                    until = Instant::now() + self.limits.stop;
                }
                () = tokio::time::sleep_until(until), if stopping || !wanted => match orders.try_recv() {
                    // Somebody comes at the last moment.
                    Ok(order) if !stopping => self.order(order, stopping).await,
                    _ => return,
                },
                event = self.events.next() => match event {
                    Some(event) => {
                        let held = self.holds();
                        self.event(event).await;
                        // What clients have said meanwhile is about what they have seen.
                        while held && !self.holds() && let Ok(order) = orders.try_recv() {
                            self.order(order, stopping).await;
                        }
                    }
                    None => self.lagged(),
                },
                () = tokio::time::sleep_until(held), if self.holds() => self.held = false,
                order = orders.recv(), if !self.holds() => match order {
                    Some(order) => self.order(order, stopping).await,
                    None => return,
                },
            }
        }
    }

    /// Whether clients wait.
    fn holds(&self) -> bool {
        self.awake && self.held
    }

    async fn order(&mut self, order: Order, stopping: bool) {
        match order {
            // Its outbox is dropped, and so the connection closed.
            Order::Join { .. }
            | Order::Inspect { .. }
            | Order::Frame { frame: ClientFrame::Chat { .. }, .. }
            | Order::Turn { .. }
                if stopping => {}
            Order::Join { connection, client, agent, outbox } => {
                self.connections.insert(connection, Connection { client, outbox });
                self.greet(connection, &agent).await;
                // Not before, so that it sees what becomes of a turn that it knows, and says at once whether it wants it.
                if self.held && !self.awake {
                    tokio::time::sleep(SAID).await;
                }
                self.wake().await;
            }
            Order::Inspect { connection, after, outbox } => {
                self.feed.join(connection, after.as_deref(), outbox);
                self.wake().await;
            }
            Order::Decide { decisions, goes_on } => {
                let _ = goes_on.send(self.decide(decisions).await);
            }
            Order::Wake => self.wake().await,
            Order::Leave { connection } => self.leave(connection),
            Order::Frame { connection, frame, room: _room } => self.frame(connection, frame).await,
            Order::Turn { request, reply } => {
                self.wake().await;
                if let Err(Ok(turn)) = reply.send(self.answer(*request).await) {
                    // Who has asked went away meanwhile.
                    turn.detach();
                }
            }
        }
    }

    async fn frame(&mut self, from: u64, frame: ClientFrame) {
        self.tally.metrics.received.inc();
        match frame {
            ClientFrame::Chat { id, init } => self.ask(from, id, &init).await,
            ClientFrame::Cancel { id } => drop(self.session.cancel(&id)),
            ClientFrame::Clear {} => self.clear(from).await,
            ClientFrame::ToolResult {
                tool_call_id,
                output,
                state,
                error_text,
                auto_continue,
                client_tools,
            } => {
                self.take_tools(client_tools).await;
                let failed = state.is_some_and(|state| state == "output-error");
                let result = if failed { Err(error_text) } else { Ok(output) };
                self.tool_result(from, &tool_call_id, result, auto_continue).await;
            }
            ClientFrame::ToolApproval { tool_call_id, approved, reason, auto_continue } => {
                self.approval(from, &tool_call_id, approved, reason, auto_continue).await;
            }
            ClientFrame::ResumeRequest { probe_id } => self.probe(from, probe_id.as_deref()),
            ClientFrame::ResumeAck { id } => self.acknowledge(from, id.as_deref()).await,
            ClientFrame::Rpc { id, method, args } => self.call(from, &id, &method, &args),
            ClientFrame::State { state } => {
                self.tell_others(from, &frames::state(&state));
                self.note(STATE, Some(&state)).await;
                self.state = Some(state);
            }
        }
    }

    fn leave(&mut self, connection: u64) {
        self.feed.leave(connection);
        self.connections.remove(&connection);
        self.waiting.remove(&connection);
        self.excluded.remove(&connection);
        if let Some(answers) = &mut self.answers {
            answers.leave(connection);
        }
    }

    /// Events are lost: what clients have seen has a hole. They come back and are told all anew.
    fn lagged(&mut self) {
        self.tally.left_behind();
        tracing::warn!(session = self.session.name(), "the hub of a session was too slow for its events");
        self.events = self.session.watch();
        self.feed = Feed::new();
        self.connections.clear();
        self.waiting.clear();
        self.excluded.clear();
        self.requests.clear();
        self.stream = None;
        self.answers = None;
        self.finished.clear();
        self.held = false;
    }

    fn tell(&mut self, connection: u64, frame: &Json) {
        self.send([connection], &text(frame));
    }

    fn tell_all(&mut self, frame: &Json) {
        self.send(self.connections.keys().copied().collect::<Vec<_>>(), &text(frame));
    }

    fn tell_others(&mut self, but: u64, frame: &Json) {
        let client = self.connections.get(&but).map(|connection| &connection.client);
        let named = client.filter(|client| matches!(client, Client::Socket(Some(_))));
        let others = self.connections.iter().filter(|(other, connection)| {
            **other != but && named.is_none_or(|named| connection.client != *named)
        });
        let others: Vec<u64> = others.map(|(other, _)| *other).collect();
        self.send(others, &text(frame));
    }

    /// Who awaits a replay is not told.
    fn tell_live(&mut self, frame: &Json) {
        let excluded = &self.excluded;
        let live: Vec<u64> = self.connections.keys().copied().filter(|id| !excluded.contains(id)).collect();
        self.send(live, &text(frame));
    }

    fn send(&mut self, connections: impl IntoIterator<Item = u64>, frame: &Utf8Bytes) {
        for connection in connections {
            let Some(Connection { outbox, .. }) = self.connections.get(&connection) else { continue };
            let metrics = &self.tally.metrics;
            match outbox.send(frame.clone()) {
                Ok(()) => {
                    metrics.sent.inc();
                }
                Err(lost) => {
                    if lost == Lost::Slow {
                        metrics.slow.inc();
                    }
                    self.leave(connection);
                }
            }
        }
    }
}

fn text(frame: &Json) -> Utf8Bytes {
    frame.to_string().into()
}
