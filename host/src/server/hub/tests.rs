use std::sync::Arc;

use super::*;
use crate::agent::Agent;
use crate::server::outbox::outbox;
use crate::store::SqliteStore;

type Running = (mpsc::Sender<Order>, tokio::task::JoinHandle<()>, tempfile::TempDir);

async fn running() -> Running {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::open(&folder.path().join("lathe.db")).await.unwrap());
    let agent = Agent::builder(store).build().unwrap();
    let hub = Hub::new(agent.session("s").await.unwrap(), Limits::default(), Arc::default());
    let (orders, receiver) = mpsc::channel(8);
    (orders, tokio::spawn(hub.run(receiver, CancellationToken::new())), folder)
}

fn join(outbox: Outbox) -> Order {
    Order::Join { connection: 1, client: Client::Socket(None), agent: "a".into(), outbox }
}

#[tokio::test(start_paused = true)]
async fn it_stays_as_long_as_somebody_is_connected_and_a_while_longer() {
    let (orders, running, _folder) = running().await;
    let (outbox, mut frames) = outbox(1_000_000);
    orders.send(join(outbox)).await.unwrap();
    for greeting in ["cf_agent_chat_messages", "cf_agent_identity", "cf_agent_mcp_servers"] {
        assert!(frames.next().await.unwrap().contains(greeting));
    }
    tokio::time::sleep(IDLE * 3).await;
    let frame = ClientFrame::Rpc { id: "c".into(), method: "none".into(), args: Vec::new() };
    orders.send(Order::Frame { connection: 1, frame, room: None }).await.unwrap();
    assert!(
        frames.next().await.unwrap().contains("\"success\":false"),
        "nobody has spoken, and yet it is there"
    );
    let frame = ClientFrame::State { state: Json::Null };
    orders.send(Order::Frame { connection: 1, frame, room: None }).await.unwrap();
    orders.send(Order::Leave { connection: 1 }).await.unwrap();
    assert!(frames.next().await.is_none());
    tokio::time::sleep(IDLE / 2).await;
    assert!(!running.is_finished(), "who comes back finds it");
    tokio::time::sleep(IDLE).await;
    assert!(running.is_finished());
}

#[tokio::test(start_paused = true)]
async fn where_nothing_has_happened_nothing_is_kept() {
    let (orders, running, _folder) = running().await;
    let (outbox, mut frames) = outbox(1_000_000);
    orders.send(join(outbox)).await.unwrap();
    orders.send(Order::Leave { connection: 1 }).await.unwrap();
    while frames.next().await.is_some() {}
    tokio::time::sleep(BLANK / 2).await;
    assert!(!running.is_finished());
    tokio::time::sleep(BLANK).await;
    assert!(running.is_finished());
}

#[tokio::test(start_paused = true)]
async fn it_stays_as_long_as_somebody_watches() {
    let (orders, running, _folder) = running().await;
    let (outbox, mut frames) = outbox(1_000_000);
    orders.send(Order::Inspect { connection: 1, after: None, outbox }).await.unwrap();
    assert_eq!(&*frames.next().await.unwrap(), ": from here on it is live\n\n");
    tokio::time::sleep(IDLE * 3).await;
    assert!(!running.is_finished());
    orders.send(Order::Leave { connection: 1 }).await.unwrap();
    assert!(frames.next().await.is_none());
    tokio::time::sleep(IDLE * 2).await;
    assert!(running.is_finished());
}
