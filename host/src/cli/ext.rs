use std::sync::Arc;

use serde_json::json;

use super::Done;
use super::args::{ListArgs, ResetArgs};
use super::host;
use super::print::whole;
use super::problem::Problem;
use super::style::clip;
use crate::config::Config;
use crate::driver::StoreBridge;
use crate::extensions::{Extension, Health, LoadError, reset_health};
use crate::hooks::{Condition, Hook};
use crate::store::SqliteStore;
use crate::turn::Json;

/// Of a digest in a table: enough to tell files apart.
const SHORT: usize = 12;

pub(super) async fn list(mut args: ListArgs, mut config: Config) -> Result<Done, Problem> {
    args.place.apply(&mut config);
    let loaded = host::load(&config).await?;
    if let Some(kept) = Kept::open(&config).await? {
        for extension in &loaded.extensions {
            extension.refresh_health(&kept.bridge).await;
        }
        kept.store.close().await;
    }
    if args.json {
        let rows = loaded.extensions.iter().map(|extension| listed(extension));
        let rows: Vec<Json> = rows.chain(loaded.errors.iter().map(failed)).collect();
        return whole(&format!("{:#}\n", Json::from(rows)));
    }
    let mut rows =
        vec![["NAME", "VERSION", "DIGEST", "HOOKS", "TOOLS", "ASKED", "GRANTED", "HEALTH"].map(String::from)];
    rows.extend(loaded.extensions.iter().map(|extension| {
        let manifest = &extension.manifest;
        [
            manifest.name.clone(),
            manifest.version.clone(),
            extension.digest.chars().take(SHORT).collect(),
            hooks(&manifest.hooks),
            words(manifest.tools.iter().map(|tool| manifest.tool_name(tool))),
            words(manifest.permissions.asked()),
            words(extension.grant.names()),
            in_words(&extension.health()),
        ]
    }));
    rows.extend(loaded.errors.iter().map(|error| {
        let none = || "-".to_owned();
        let health = error.reason.to_string();
        [file_name(error), none(), none(), none(), none(), none(), none(), health]
    }));
    whole(&table(&rows))
}

pub(super) async fn reset(mut args: ResetArgs, mut config: Config) -> Result<Done, Problem> {
    args.place.apply(&mut config);
    let name = &args.name;
    let known = match Kept::open(&config).await? {
        None => false,
        Some(kept) => {
            let known = reset_health(&kept.bridge, name).await;
            kept.store.close().await;
            known.map_err(|error| Problem::new(format!("cannot reset \"{name}\": {error}")))?
        }
    };
    if !known {
        return Err(Problem::new(format!(
            "nothing is known of an extension \"{name}\": it was never called"
        ))
        .hint("`lathe ext list` shows the names; --data DIR is where the host keeps what it knows"));
    }
    whole(&format!("{name} is ready\n"))
}

/// What hosts have written down. None if no host has run yet.
struct Kept {
    store: SqliteStore,
    bridge: StoreBridge,
}

impl Kept {
    async fn open(config: &Config) -> Result<Option<Self>, Problem> {
        if !config.database().exists() {
            return Ok(None);
        }
        let store = SqliteStore::open(&config.database()).await?;
        Ok(Some(Self { bridge: StoreBridge(Arc::new(store.clone())), store }))
    }
}

/// Of an extension's health, what fits a table.
fn in_words(health: &Health) -> String {
    let error = health.last_error.as_deref().unwrap_or_default();
    match health.condition {
        Condition::Ready if health.strikes == 0 => "ready".into(),
        Condition::Ready => {
            let strikes = if health.strikes == 1 { "strike" } else { "strikes" };
            format!("ready, {} {strikes}: {error}", health.strikes)
        }
        Condition::Quarantined | Condition::Probing => {
            let seconds = health.quarantine_ms.unwrap_or_default().div_ceil(1_000);
            format!("quarantined for {seconds} s: {error}")
        }
    }
}

/// What is known of an extension that can run.
pub(super) fn ready(extension: &Extension) -> Json {
    let manifest = &extension.manifest;
    let tools = manifest.tools.iter().map(|tool| {
        let mut shown = json!(tool);
        shown["name"] = manifest.tool_name(tool).into();
        shown
    });
    json!({
        "name": manifest.name,
        "version": manifest.version,
        "description": manifest.description,
        "file": extension.file.display().to_string(),
        "digest": extension.digest,
        "hooks": manifest.hooks,
        "tools": tools.collect::<Vec<Json>>(),
        "permissions": {"asked": manifest.permissions, "granted": extension.grant},
        "health": Condition::Ready,
    })
}

/// The same, and how it has fared.
fn listed(extension: &Extension) -> Json {
    let mut shown = ready(extension);
    if let (Json::Object(shown), Json::Object(mut fields)) = (&mut shown, json!(extension.health())) {
        shown["health"] = fields.remove("condition").unwrap_or_default();
        shown.extend(fields);
    }
    shown
}

fn failed(error: &LoadError) -> Json {
    json!({
        "file": error.file.display().to_string(),
        "health": "failed",
        "error": error.reason.to_string(),
    })
}

fn file_name(error: &LoadError) -> String {
    error.file.file_name().unwrap_or(error.file.as_os_str()).to_string_lossy().into_owned()
}

/// In little space: a meter subscribes to everything.
fn hooks(hooks: &[Hook]) -> String {
    const ALL: usize = 8;
    if hooks.len() == ALL { "all".into() } else { words(hooks.iter().map(|hook| hook.name().to_owned())) }
}

pub(super) fn words(words: impl IntoIterator<Item = String>) -> String {
    let words: Vec<String> = words.into_iter().collect();
    if words.is_empty() { "-".into() } else { words.join(" ") }
}

/// Columns as wide as their widest cell; the last as it comes.
pub(super) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let cells: Vec<[String; N]> =
        rows.iter().map(|row| row.each_ref().map(|cell| clip(cell, usize::MAX))).collect();
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let padded = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<String>>().join("  ").trim_end().to_owned() + "\n"
    };
    cells.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_nothing_steers_the_terminal() {
        let rows = [["A", "BB"], ["long\nname", "\u{1b}[1m"], ["ü", ""]].map(|row| row.map(String::from));
        assert_eq!(table(&rows), "A          BB\nlong name  \u{fffd}[1m\nü\n");
    }
}
