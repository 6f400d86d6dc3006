use serde_json::json;

use super::Done;
use super::args::ListArgs;
use super::host;
use super::print::whole;
use super::problem::Problem;
use super::style::clip;
use crate::config::Config;
use crate::extensions::{Extension, LoadError};
use crate::hooks::Hook;
use crate::turn::Json;

/// Of a digest in a table: enough to tell files apart.
const SHORT: usize = 12;

pub(super) async fn list(mut args: ListArgs, mut config: Config) -> Result<Done, Problem> {
    args.place.apply(&mut config);
    let loaded = host::load(&config).await?;
    if args.json {
        let rows = loaded.extensions.iter().map(|extension| ready(extension));
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
            "ready".into(),
        ]
    }));
    rows.extend(loaded.errors.iter().map(|error| {
        let none = || "-".to_owned();
        let health = error.reason.to_string();
        [file_name(error), none(), none(), none(), none(), none(), none(), health]
    }));
    whole(&table(&rows))
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
        "health": "ready",
    })
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
fn table<const N: usize>(rows: &[[String; N]]) -> String {
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
