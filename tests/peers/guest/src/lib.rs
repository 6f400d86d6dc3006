//! The guest `bench` for Extism: the same hooks and the same tool, with JSON for what the contract has types for.

#![cfg_attr(not(target_family = "wasm"), allow(unused))]

use std::sync::atomic::{AtomicUsize, Ordering};

use extism_pdk::{FnResult, Json, plugin_fn};
use serde::{Deserialize, Serialize};

static CHUNKS: AtomicUsize = AtomicUsize::new(0);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code, reason = "it is read, as any host's guest would have it")]
struct Turn {
    system: String,
    tool_names: Vec<String>,
    message_count: u32,
    max_steps: u32,
    continuation: bool,
    model_id: String,
    request_id: String,
    trigger: String,
}

#[derive(Serialize)]
struct Config {
    system: String,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "as above")]
struct Chunk {
    r#type: String,
    text: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct Echo {
    text: String,
}

#[plugin_fn]
pub fn before_turn(Json(turn): Json<Turn>) -> FnResult<Json<Config>> {
    Ok(Json(Config { system: turn.system + " Answer in English." }))
}

#[plugin_fn]
pub fn on_chunk(Json(chunks): Json<Vec<Chunk>>) -> FnResult<()> {
    CHUNKS.fetch_add(chunks.len(), Ordering::Relaxed);
    Ok(())
}

#[plugin_fn]
pub fn echo(Json(input): Json<Echo>) -> FnResult<Json<Echo>> {
    Ok(Json(input))
}
