//! What stored sessions cost: a host that starts with many, and one that is long. Prints a table of medians.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench that stops when something fails")]

use std::path::Path;
use std::time::Duration;

use lathe::store::{Entry, SqliteStore, Store};
use lathe::turn::{UiMessage, UiRole};
use tokio::time::Instant;

/// Sessions in the one database, messages in the session of the other.
const SESSIONS: usize = 10_000;
const MESSAGES: usize = 10_000;

/// Bytes of a message's text.
const TEXT: usize = 1_000;

/// Times that each is taken.
const SAMPLES: usize = 15;

fn entries(many: usize) -> Vec<Entry> {
    let text = "word and ".repeat(TEXT / 9);
    (0..many)
        .map(|number| {
            let mut message = UiMessage::user(number.to_string(), format!("{text} n{number}"));
            if number % 2 == 1 {
                message.role = UiRole::Assistant;
            }
            let parent = number.checked_sub(1).map(|parent| parent.to_string());
            Entry::Message { parent, created_at: None, message }
        })
        .collect()
}

async fn median<T, F: Future<Output = T>>(name: &str, work: impl Fn() -> F) {
    let mut taken: Vec<Duration> = Vec::new();
    for _ in 0..SAMPLES {
        let begun = Instant::now();
        std::hint::black_box(work().await);
        taken.push(begun.elapsed());
    }
    taken.sort_unstable();
    println!("{name:<44} {:>10.3} ms", taken[SAMPLES / 2].as_secs_f64() * 1e3);
}

async fn open(file: &Path) -> SqliteStore {
    SqliteStore::open(file).await.unwrap()
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let (many, long) = (folder.path().join("many.db"), folder.path().join("long.db"));
        let store = open(&many).await;
        for session in 0..SESSIONS {
            store.import(&format!("session-{session}"), entries(4)).await.unwrap();
        }
        store.close().await;
        let store = open(&long).await;
        store.import("long", entries(MESSAGES)).await.unwrap();
        store.close().await;

        median("open, 10,000 sessions", || async { open(&many).await.close().await }).await;
        let store = open(&many).await;
        median("list, 10,000 sessions", || async { store.sessions().await.unwrap().len() }).await;
        median("one of 10,000 sessions, read", || async {
            store.messages("session-77").await.unwrap().len()
        })
        .await;
        let begun = Instant::now();
        let hits = store.search(None, "n2").await.unwrap().len();
        println!(
            "{:<44} {:>10.3} ms",
            "first search, 40,000 messages to be indexed",
            begun.elapsed().as_secs_f64() * 1e3
        );
        assert_eq!(hits, 20);
        median("search in all", || async { store.search(None, "n2").await.unwrap().len() }).await;
        median("search in one", || async { store.search(Some("session-77"), "n2").await.unwrap().len() })
            .await;
        let next = std::sync::atomic::AtomicUsize::new(0);
        median("a message stored", || async {
            let id = format!("new-{}", next.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
            store.put("session-77", &UiMessage::user(id, "word ".repeat(200)), None).await.unwrap();
        })
        .await;

        let store = open(&long).await;
        median("10,000 messages, all of them", || async { store.messages("long").await.unwrap().len() })
            .await;
        for (name, bytes) in
            [("10,000 messages, the last 1 MiB", 1 << 20), ("10,000 messages, the last 64 KiB", 1 << 16)]
        {
            median(name, || async { store.recent("long", bytes).await.unwrap().len() }).await;
        }
        let size = std::fs::metadata(&long).unwrap().len();
        println!("{:<44} {:>10.1} MiB", "the file of 10,000 messages", size as f64 / f64::from(1 << 20));
    });
}
