//! A guest for tests: it asks for every right, and does with them what its tool's input or its settings say.

mod fetch;

use std::fs;

use lathe_guest::prelude::*;
use lathe_guest::{BridgeError, ContextBlock, WorkspaceAccess, messages};
use serde_json::Value;

#[derive(Default)]
struct Courier;

#[extension]
impl Extension for Courier {
    fn tools() -> Tools<Self> {
        Tools::new().tool("act", Self::act)
    }

    fn permissions() -> Permissions {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Permissions {
            workspace: WorkspaceAccess::ReadWrite,
            network: words(&["localhost", "127.0.0.1", "*.test"]),
            context_read: words(&["all"]),
            context_write: words(&["own", "shared_memory"]),
            messages: true,
            send_message: true,
            session_info: true,
            environment: words(&["COURIER_WORD", "COURIER_OTHER"]),
            ..Permissions::default()
        }
    }

    fn context() -> Vec<ContextBlock> {
        vec![ContextBlock { label: "notes".to_owned(), max_tokens: Some(20), ..ContextBlock::default() }]
    }

    fn before_turn(&mut self, turn: TurnSnapshot) -> Result<Option<TurnConfig>> {
        let settings: Settings = settings()?;
        if settings.turn.is_empty() {
            return Ok(None);
        }
        let system = format!("{}{}", turn.system, Value::from(all(settings.turn)));
        Ok(Some(TurnConfig { system: Some(system), ..Default::default() }))
    }
}

/// What to do in `before-turn`; nothing by default.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Settings {
    turn: Vec<Deed>,
}

/// Does these, one after the other, and tells what came of each: `{"ok": …}` or `{"error": …}`.
#[derive(Deserialize, JsonSchema)]
struct Act {
    deeds: Vec<Deed>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum Deed {
    Read { path: String },
    Write { path: String, text: String },
    List { path: String },
    Remove { path: String },
    Link { target: String, path: String },
    Variables,
    Clocks,
    Random,
    Fetch(fetch::Request),
    Flood { request: fetch::Request, count: usize },
    Messages { limit: u32 },
    Session,
    Send { text: String },
    ContextGet { label: String },
    ContextSet { label: String, text: String },
}

impl Courier {
    fn act(&mut self, input: Act) -> Result<Vec<Value>> {
        Ok(all(input.deeds))
    }
}

fn all(deeds: Vec<Deed>) -> Vec<Value> {
    deeds
        .into_iter()
        .map(|deed| match one(deed) {
            Ok(value) => json!({ "ok": value }),
            Err(error) => json!({ "error": error }),
        })
        .collect()
}

fn one(deed: Deed) -> Result<Value, String> {
    let file = |error: std::io::Error| format!("{:?}", error.kind());
    let bridge = |error: BridgeError| error.to_string();
    Ok(match deed {
        Deed::Read { path } => fs::read_to_string(path).map_err(file)?.into(),
        Deed::Write { path, text } => fs::write(path, text).map(|()| Value::Null).map_err(file)?,
        Deed::List { path } => list(&path).map_err(file)?.into(),
        Deed::Remove { path } => fs::remove_file(path).map(|()| Value::Null).map_err(file)?,
        Deed::Link { target, path } => link(&target, &path)?,
        Deed::Variables => std::env::vars().map(|(name, value)| (name, Value::from(value))).collect(),
        Deed::Clocks => clocks(),
        Deed::Random => {
            let numbers = wasip2::random::random::get_random_bytes(16);
            json!({ "bytes": numbers, "number": wasip2::random::random::get_random_u64() })
        }
        Deed::Fetch(request) => fetch::fetch(&request)?,
        Deed::Flood { request, count } => fetch::flood(&request, count)?,
        Deed::Messages { limit } => messages::recent(limit)
            .map_err(bridge)?
            .into_iter()
            .map(|message| json!({ "id": message.id, "role": message.role, "content": message.content }))
            .collect(),
        Deed::Session => {
            let info = session::info().map_err(bridge)?;
            json!({ "name": info.name, "messageCount": info.message_count })
        }
        Deed::Send { text } => session::send_message(&text).map(|()| Value::Null).map_err(bridge)?,
        Deed::ContextGet { label } => context::get(&label).map_err(bridge)?.into(),
        Deed::ContextSet { label, text } => {
            context::set(&label, &text).map(|()| Value::Null).map_err(bridge)?
        }
    })
}

fn list(path: &str) -> std::io::Result<Vec<String>> {
    let entries = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = entries.collect::<std::io::Result<Vec<String>>>()?;
    names.sort();
    Ok(names)
}

/// A symbolic link inside the first folder that the guest has. Not through `std`, which has no call for it here.
fn link(target: &str, path: &str) -> Result<Value, String> {
    let folders = wasip2::filesystem::preopens::get_directories();
    let (folder, _) = folders.first().ok_or("no folder")?;
    folder.symlink_at(target, path).map(|()| Value::Null).map_err(|error| format!("{error:?}"))
}

fn clocks() -> Value {
    let wall = wasip2::clocks::wall_clock::now();
    let monotonic = || wasip2::clocks::monotonic_clock::now();
    json!({ "seconds": wall.seconds, "nanoseconds": wall.nanoseconds, "monotonic": [monotonic(), monotonic()] })
}
