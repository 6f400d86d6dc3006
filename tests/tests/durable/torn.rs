//! A database file that lost its end, or has other bytes in it than were written.

use std::panic::PanicHookInfo;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

use lathe::store::{SqliteStore, Store, StoreError};
use lathe::turn::{SubmissionStatus, TurnStatus};
use lathe_tests::binary::Folder;
use lathe_tests::house::{call, says};
use lathe_tests::mutation::Mutation;
use lathe_tests::tool::FnTool;
use serde_json::json;

use super::{PATIENCE, agent, ends_well, rows, run, turn};

/// Files that are tried through the library, and by the binary, which is slower.
const FILES: usize = 300;
const RUNS: usize = 6;

/// Panics of threads that have to do with sessions; those of other tests have names of their own.
static PANICS: AtomicUsize = AtomicUsize::new(0);

fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
            if std::thread::current().name() == Some("lathe-sqlite") {
                PANICS.fetch_add(1, Ordering::Relaxed);
            }
            usual(info);
        }));
    });
}

/// A database with several sessions, of which one has a turn that was cut off.
async fn whole(folder: &Path) -> Vec<u8> {
    let script = json!([call("c", "look", &json!({})), says("first"), says("then")]);
    let look = FnTool::answers("look", json!("a long look ".repeat(500))).arc();
    let (store, _, agent) = agent(folder, &script, |agent| agent.tool(look)).await;
    for name in ["work", "home", "garden", "attic"] {
        let session = agent.session(name).await.unwrap();
        for _ in 0..3 {
            let result = session.send("what is there? ".repeat(60)).await.unwrap().finish().await;
            assert_eq!(result.status, TurnStatus::Completed);
        }
    }
    drop(agent);
    store.close().await;
    rows::sql(
        folder,
        "INSERT INTO turns (session_id, request_id, body, begun) SELECT id, 'r', \
             '{\"start\": {\"requestId\": \"r\", \"messageId\": \"m\", \"trigger\": \"programmatic\", \"continuation\": false, \
             \"maxSteps\": 3}, \"rootRequestId\": \"r\"}', 1 FROM sessions WHERE name = 'attic'; \
         INSERT INTO turn_chunks SELECT number, 1, '{\"type\": \"start-step\"}' FROM turns",
    );
    let file = folder.join("lathe.db");
    let store = SqliteStore::open(&file).await.unwrap();
    assert_eq!(store.unfinished("attic").await.unwrap().len(), 1, "what is written by hand can be read");
    store.search(None, "first").await.unwrap();
    store.close().await;
    std::fs::read(file).unwrap()
}

/// Truncated, or with some bytes or a page changed.
fn tear(random: &mut Mutation, whole: &[u8]) -> (String, Vec<u8>) {
    let mut bytes = whole.to_vec();
    let pages = whole.len() / 4096;
    let at = random.below(whole.len());
    let what = match random.below(4) {
        0 => {
            bytes.truncate(at);
            format!("{at} bytes left")
        }
        1 => {
            let pages = random.below(pages);
            bytes.truncate(pages * 4096);
            format!("{pages} pages left")
        }
        2 => {
            let page = random.below(pages);
            let value = random.below(256).to_le_bytes()[0];
            bytes[page * 4096..(page + 1) * 4096].fill(value);
            format!("page {page} is all {value}")
        }
        _ => {
            for _ in 0..=random.below(40) {
                let at = random.below(whole.len());
                bytes[at] ^= 1 << random.below(8);
            }
            format!("some bits, and at {at}")
        }
    };
    (what, bytes)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_torn_file_ends_in_an_error_or_works() {
    count_panics();
    let origin = tempfile::tempdir().unwrap();
    let whole = whole(origin.path()).await;
    let mut random = Mutation::new(7);
    let (mut opened, mut answered, mut refused) = (0, 0, 0);
    for _ in 0..FILES {
        let (what, bytes) = tear(&mut random, &whole);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lathe.db");
        std::fs::write(&file, &bytes).unwrap();
        let tried = tokio::time::timeout(PATIENCE, tried(folder.path())).await;
        match tried.unwrap_or_else(|_| panic!("{what}: it hangs")) {
            Ok(turns) => {
                opened += 1;
                answered += turns;
                refused += 4 - turns;
            }
            Err(error) => assert!(
                matches!(error, StoreError::Open { .. } | StoreError::Newer { .. }),
                "{what}: {error}"
            ),
        }
        let checked = tokio::time::timeout(PATIENCE, SqliteStore::check(&file)).await;
        if let Err(error) = checked.unwrap_or_else(|_| panic!("{what}: doctor hangs")) {
            assert!(!matches!(error, StoreError::Closed), "{what}: the database's thread is gone");
        }
        assert_eq!(PANICS.load(Ordering::Relaxed), 0, "{what}");
    }
    // Not all of them are worth nothing, and not all of them whole.
    assert!(opened > FILES / 4 && answered > 0 && refused > 0, "{opened} {answered} {refused}");
}

/// How many of the four sessions have answered.
async fn tried(folder: &Path) -> Result<usize, StoreError> {
    let store = SqliteStore::open(&folder.join("lathe.db")).await?;
    store.close().await;
    let (store, _, agent) = agent(folder, &json!([says("here")]), |agent| agent).await;
    // What is said of it does not matter, that it is said does.
    let _ = (store.sessions().await, store.search(None, "first").await);
    let recovered = agent.recover().await;
    let mut answered = 0;
    for name in ["work", "home", "garden", "attic"] {
        let Ok(session) = agent.session(name).await else { continue };
        let Ok(turn) = session.send("and now?").await else { continue };
        let result = turn.finish().await;
        if result.status == TurnStatus::Completed {
            assert_eq!(result.text, "here");
            answered += 1;
        } else {
            assert!(result.error.is_some_and(|error| !error.is_empty()), "{name}: no word of what is wrong");
        }
        assert!(session.wait_until_stable(PATIENCE).await);
        let _ = session.list_submissions(Some(SubmissionStatus::Error), 5).await;
    }
    drop((recovered, agent));
    store.close().await;
    Ok(answered)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_binary_says_what_is_wrong_with_a_torn_file() {
    let origin = tempfile::tempdir().unwrap();
    let whole = whole(origin.path()).await;
    let mut random = Mutation::new(11);
    for _ in 0..RUNS {
        let (what, bytes) = tear(&mut random, &whole);
        let folder = Folder::new();
        folder.write("script.json", json!([says("here")]).to_string());
        folder.write(".lathe/lathe.db", bytes);
        ends_well(&run(folder.command(&["sessions", "list"])).await, &what);
        ends_well(&turn(&folder, "attic").await, &what);
        ends_well(&run(folder.command(&["doctor"])).await, &what);
    }
}
