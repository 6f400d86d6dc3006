//! Extism, with a compiled plugin and fuel: a fresh instance a call, as Lathe has, and one that is kept.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use extism::{CompiledPlugin, Manifest, Plugin, PluginBuilder, Wasm};
use serde_json::json;

use crate::figures::Figures;
use crate::payload;

/// As Lathe gives to one call.
const FUEL: u64 = 200_000_000;

const TARGET: &str = "wasm32-wasip1";

pub(crate) fn run(figures: &mut Figures) -> Result<()> {
    let manifest = Manifest::new([Wasm::file(guest()?)]).disallow_all_hosts();
    let plugin = PluginBuilder::new(manifest).with_wasi(true).with_fuel_limit(FUEL);
    let compiled = CompiledPlugin::new(plugin)?;

    let chunks = json!([{ "type": "text-delta", "text": payload::DELTA }]).to_string();
    let turn = json!({
        "system": payload::system(),
        "toolNames": payload::tool_names(),
        "messageCount": 1,
        "maxSteps": 10,
        "continuation": false,
        "modelId": "scripted:test",
        "requestId": "request",
        "trigger": "programmatic",
    })
    .to_string();
    let input = json!({ "text": payload::text() }).to_string();

    let mut kept = Plugin::new_from_compiled(&compiled)?;
    ensure!(kept.call::<_, &str>("echo", &input)? == input, "the guest does not echo");
    ensure!(kept.call::<_, &str>("before_turn", &turn)?.contains("English."), "the guest adds nothing");

    let name = |how: &str| format!("Extism 1.30, {how}");
    figures.take("on-chunk", &name("kept instance"), || Ok(kept.call("on_chunk", &chunks)?))?;
    for (measure, export, input) in [("before-turn", "before_turn", &turn), ("tool-call", "echo", &input)] {
        figures.take(measure, &name("fresh instance"), || {
            let mut fresh = Plugin::new_from_compiled(&compiled)?;
            Ok(fresh.call::<_, String>(export, input).map(drop)?)
        })?;
        figures.take(measure, &name("kept instance"), || {
            Ok(kept.call::<_, String>(export, input).map(drop)?)
        })?;
    }
    Ok(())
}

/// Builds the guest.
fn guest() -> Result<PathBuf> {
    let built = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--profile", "guest", "--locked", "--target", TARGET, "--package", "peer-guest"])
        .status()?;
    ensure!(built.success(), "its guest does not build: `rustup target add {TARGET}` may help");
    let program = std::env::current_exe()?;
    // <target>/release/peers
    let target = program.ancestors().nth(2).context("cargo's layout")?;
    Ok(target.join(TARGET).join("guest/peer_guest.wasm"))
}
