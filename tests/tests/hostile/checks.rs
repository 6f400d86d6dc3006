//! Rows that are about more than one guest, or about something that happens to one.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use lathe::TurnEvent;
use lathe::extensions::{Limits, Loader};
use lathe::turn::{Chunk, TurnStatus};
use serde_json::json;

use super::make::make;
use super::play::{host, load};
use super::table::Guest;

/// How many make a crowd.
const CROWD: usize = 1_000;

pub(super) async fn check(name: &str, of: &Guest) -> anyhow::Result<String> {
    let folder = tempfile::tempdir()?;
    match name {
        "fight" => fight(of, folder.path()).await,
        "cache" => cache(of, folder.path()).await,
        "replaced" => replaced(of, folder.path()).await,
        "crowd" => crowd(of, folder.path()).await,
        "cancelled" => cancelled(of, folder.path()).await,
        other => bail!("nobody knows the check \"{other}\""),
    }
}

/// The file of a guest.
pub(super) fn put(of: &Guest, folder: &Path) -> anyhow::Result<PathBuf> {
    let file = folder.join(format!("{}.wasm", of.name.replace(['/', '.'], "_")));
    std::fs::write(&file, make(of)?)?;
    Ok(file)
}

fn named(of: &Guest, name: &str) -> Guest {
    Guest { name: name.to_owned(), wat: of.wat.clone().or_else(|| Some(of.name.clone())), ..of.clone() }
}

/// The later one has the last word, and it is known who said what.
async fn fight(of: &Guest, folder: &Path) -> anyhow::Result<String> {
    let (a, b) = (named(of, "set-a"), named(of, "set-b"));
    let loaded = load(&[&a, &b], vec![put(&a, folder)?, put(&b, folder)?]).await?;
    ensure!(loaded.errors.is_empty(), "{:?}", loaded.errors);
    let host = host(loaded.extensions, &json!([{"text": ["done"]}])).await?;
    let calls = host.healthy_turn("done").await?;
    let said = |name: &str| {
        let call = calls.iter().find(|call| call.extension == name);
        call.and_then(|call| call.changes.first()).map(|change| change.value.clone())
    };
    ensure!(said("set-a") == Some(json!("SYS-a")) && said("set-b") == Some(json!("SYS-b")), "{calls:?}");
    let system = host.model.requests().first().and_then(|request| request.system.clone());
    ensure!(system.as_deref().is_some_and(|system| system.starts_with("SYS-b")), "{system:?}");
    Ok("the last in load order; both are in the events".into())
}

/// Compiled code that is not what was written is a miss.
async fn cache(of: &Guest, folder: &Path) -> anyhow::Result<String> {
    let (file, cache) = (put(of, folder)?, folder.join("cache"));
    let load = async || {
        let loaded = Loader::new()?.cache(cache.clone()).load_files(vec![file.clone()]).await;
        ensure!(loaded.errors.is_empty(), "{:?}", loaded.errors);
        anyhow::Ok(loaded)
    };
    ensure!(load().await?.compiled == 1 && load().await?.compiled == 0, "it is not cached");
    let code = std::fs::read_dir(&cache)?.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let code = code.into_iter().find(|path| path.extension().is_some_and(|kind| kind == "cwasm"));
    let code = code.context("no compiled code")?;
    let whole = std::fs::read(&code)?;
    let other = make(&Guest { hooks: 8, ..named(of, "other") })?;
    for bad in [&whole[..whole.len() / 2], b"\x7fELF", b"", &*other] {
        std::fs::write(&code, bad)?;
        let loaded = load().await?;
        ensure!(loaded.compiled == 1, "{} bytes of something else were used", bad.len());
        let host = host(loaded.extensions, &json!([{"text": ["done"]}])).await?;
        host.healthy_turn("done").await?;
    }
    Ok("compiled again".into())
}

/// A turn goes on with what was loaded.
async fn replaced(of: &Guest, folder: &Path) -> anyhow::Result<String> {
    let file = put(of, folder)?;
    let before = load(&[of], vec![file.clone()]).await?;
    std::fs::write(&file, make(&Guest { hooks: 8, ..of.clone() })?)?;
    let after = load(&[of], vec![file.clone()]).await?;
    let digest = |extensions: &[std::sync::Arc<lathe::extensions::Extension>]| {
        extensions.get(1).map(|extension| extension.digest.clone())
    };
    ensure!(digest(&before.extensions) != digest(&after.extensions), "the digest tells nothing");
    std::fs::write(&file, "nothing")?;
    for extensions in [before.extensions, after.extensions] {
        let tool =
            json!([{"toolCalls": [{"id": "a", "name": of.tool_name(), "input": {}}]}, {"text": ["done"]}]);
        let host = host(extensions, &tool).await?;
        host.healthy_turn("done").await?;
        let messages = serde_json::to_string(&host.model.requests().last().context("a request")?.messages)?;
        ensure!(messages.contains("well-behaved"), "{messages}");
    }
    Ok("the old code to the end, the new one's digest after loading".into())
}

async fn crowd(of: &Guest, folder: &Path) -> anyhow::Result<String> {
    let guests: Vec<Guest> = (0..CROWD).map(|number| named(of, &format!("crowd-{number}"))).collect();
    let files = guests.iter().map(|guest| put(guest, folder)).collect::<anyhow::Result<Vec<_>>>()?;
    let loaded = load(&guests.iter().collect::<Vec<_>>(), files).await?;
    ensure!(loaded.errors.is_empty() && loaded.extensions.len() == CROWD + 2, "{:?}", loaded.errors);
    let host = host(loaded.extensions, &json!([{"text": ["done"]}])).await?;
    let calls = host.healthy_turn("done").await?;
    ensure!(calls.iter().filter(|call| call.failure.is_none()).count() == CROWD + 1, "{calls:?}");
    Ok(format!("{CROWD} of them, each called"))
}

/// What was cancelled gives its place back: there is one, and the next call gets it.
async fn cancelled(of: &Guest, folder: &Path) -> anyhow::Result<String> {
    let fuel = 9_000_000_000_000;
    let limits = Limits { instances: 1, fuel_per_call: fuel, tool_timeout_ms: 1_500, ..Limits::default() };
    let of = Guest { limits, ..of.clone() };
    let loaded = load(&[&of], vec![put(&of, folder)?]).await?;
    let call = json!({"toolCalls": [{"id": "a", "name": of.tool_name(), "input": {}}]});
    let host = host(loaded.extensions, &json!([call, call, {"text": ["done"]}])).await?;
    let mut turn = host.agent.session("s").await?.send("go").await?;
    while let Some(event) = turn.next().await {
        if matches!(event, TurnEvent::Chunk(Chunk::ToolCall { .. })) {
            // Into the call, which begins when the model has ended.
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            turn.cancel();
        }
    }
    let result = turn.finish().await;
    ensure!(result.status == TurnStatus::Aborted, "{result:?}");
    host.healthy_turn("done").await?;
    let messages = serde_json::to_string(&host.model.requests().last().context("a request")?.messages)?;
    ensure!(messages.contains("longer than 1500 ms"), "the next call did not get the place: {messages}");
    Ok("aborted; the next call got its place".into())
}
