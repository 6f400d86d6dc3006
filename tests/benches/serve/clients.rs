//! Those who connect, and how long what the model says takes to reach them.

use std::time::Duration;

use futures::future::join_all;
use futures::{SinkExt, StreamExt};
use serde_json::json;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Mutex;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::metronome::{MARK, TOKENS, now};
use crate::{SESSIONS, TURNS};

/// Bytes that the system may hold for a client that does not read.
const RECEIVED: u32 = 16 << 10;

/// Who reads what comes.
#[derive(Clone, Copy)]
pub(crate) enum Readers {
    All,
    /// So many of those who only watch do not.
    AllBut(usize),
}

type Socket = WebSocketStream<TcpStream>;

/// Two clients a session: one that asks, and one that watches.
pub(crate) struct Crowd {
    asking: Vec<Mutex<Socket>>,
    watching: Vec<Mutex<Socket>>,
    slow: usize,
}

/// What the clients have seen of a round.
#[derive(Default)]
pub(crate) struct Seen {
    /// Nanoseconds from the model to a client, one for each token and client.
    ways: Vec<u64>,
    /// Turns that did not complete, and clients that were not told every token in order.
    pub(crate) errors: usize,
}

impl Seen {
    /// The time within which this part of the tokens has arrived.
    pub(crate) fn percentile(&self, part: f64) -> Duration {
        let last = self.ways.len() - 1;
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a place in a list"
        )]
        let place = (last as f64 * part) as usize;
        Duration::from_nanos(self.ways[place])
    }

    pub(crate) fn tokens(&self) -> usize {
        self.ways.len()
    }

    fn sum(all: Vec<Self>) -> Self {
        let mut sum = Self::default();
        for seen in all {
            sum.ways.extend(seen.ways);
            sum.errors += seen.errors;
        }
        sum.ways.sort_unstable();
        sum
    }
}

impl Crowd {
    pub(crate) async fn connect(address: &str, readers: Readers) -> Self {
        let mut crowd = Self { asking: Vec::new(), watching: Vec::new(), slow: 0 };
        if let Readers::AllBut(slow) = readers {
            crowd.slow = slow;
        }
        for session in 0..SESSIONS {
            crowd.asking.push(Mutex::new(connect(address, session).await));
            crowd.watching.push(Mutex::new(connect(address, session).await));
        }
        crowd
    }

    /// All turns at once, to their end.
    pub(crate) async fn round(&self, name: &str) -> Seen {
        let asking = self.asking.iter().take(TURNS).enumerate().map(|(number, socket)| async move {
            let mut socket = socket.lock().await;
            ask(&mut socket, &format!("{name} {number}")).await;
            listen(&mut socket).await
        });
        let watching = self.watching.iter().take(TURNS).skip(self.slow);
        let watching = watching.map(|socket| async move { listen(&mut *socket.lock().await).await });
        let (asking, watching) = tokio::join!(join_all(asking), join_all(watching));
        Seen::sum(asking.into_iter().chain(watching).collect())
    }

    /// How many of those who did not read find, when they do, that the server has let them go.
    pub(crate) async fn let_go(&self) -> usize {
        let slow = self.watching.iter().take(self.slow);
        let read = slow.map(|socket| async move { listen(&mut *socket.lock().await).await.errors });
        join_all(read).await.into_iter().sum()
    }
}

async fn connect(address: &str, session: usize) -> Socket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(RECEIVED).unwrap();
    let stream = socket.connect(address.parse().unwrap()).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let url = format!("ws://{address}/agents/bench/{session}");
    client_async(url, stream).await.unwrap().0
}

async fn ask(socket: &mut Socket, id: &str) {
    let message =
        json!({"id": format!("u {id}"), "role": "user", "parts": [{"type": "text", "text": "Go on."}]});
    let body = json!({"messages": [message], "trigger": "submit-message"}).to_string();
    let init = json!({"method": "POST", "body": body});
    let frame = json!({"type": "cf_agent_use_chat_request", "id": id, "init": init});
    socket.send(Message::text(frame.to_string())).await.unwrap();
}

/// Reads one turn.
async fn listen(socket: &mut Socket) -> Seen {
    let mut seen = Seen { ways: Vec::with_capacity(TOKENS), errors: 0 };
    let mut last = 0;
    while let Some(Ok(message)) = socket.next().await {
        let Message::Text(text) = message else { continue };
        if !text.contains("cf_agent_use_chat_response") {
            continue;
        }
        if text.contains("\"done\":true") {
            let whole = text.contains("\"outcome\":\"completed\"") && seen.ways.len() == TOKENS;
            seen.errors += usize::from(!whole);
            return seen;
        }
        // Read so that measuring costs little: parsing would cost these clients more than the server's work.
        if let Some(said) = text.split(MARK).nth(1).and_then(|said| said.parse::<u128>().ok()) {
            seen.errors += usize::from(said < last);
            last = said;
            seen.ways.push(u64::try_from(now().saturating_sub(said)).unwrap());
        }
    }
    seen.errors += 1;
    seen
}
