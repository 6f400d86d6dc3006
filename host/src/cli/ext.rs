//! What there is of extensions, and what the operator does with them.

mod edit;
mod grant;
mod logs;
mod permission;

use std::sync::Arc;

use super::args::{ExtCommand, ListArgs, NamedArgs, Place, ReloadArgs};
use super::print::whole;
use super::problem::{self, Problem};
use super::style::clip;
use super::{Done, host, reload};
use crate::config::{Config, nearest};
use crate::driver::StoreBridge;
use crate::extensions::{
    Extension, ExtensionSettings, Folder, Found, Grant, Health, LoadError, Loaded, Manifest, reset_health,
};
use crate::hooks::{Condition, Hook};
use crate::store::SqliteStore;
use crate::turn::Json;
pub(super) use edit::Edit;
pub(super) use grant::{add, allowed, parsed, take};

/// Of a digest in a table: enough to tell files apart.
const SHORT: usize = 12;

pub(super) async fn run(command: ExtCommand, config: Config) -> Result<Done, Problem> {
    match command {
        ExtCommand::List(args) => list(args, config).await,
        ExtCommand::Reset(args) => reset(args, config).await,
        ExtCommand::Enable(args) => enable(args, config, true).await,
        ExtCommand::Disable(args) => enable(args, config, false).await,
        ExtCommand::Grant(args) => grant::grant(args, config).await,
        ExtCommand::Revoke(args) => grant::revoke(args, config).await,
        ExtCommand::Reload(args) => reload_hosts(args, config),
        ExtCommand::Logs(args) => logs::run(args, config).await,
    }
}

async fn list(mut args: ListArgs, mut config: Config) -> Result<Done, Problem> {
    args.place.apply(&mut config);
    let loaded = match host::folder(&config)? {
        Some(mut folder) => host::load(&mut folder).await?,
        None => Loaded::default(),
    };
    if let Some(kept) = Kept::open(&config).await? {
        for extension in &loaded.extensions {
            extension.refresh_health(&kept.bridge).await;
        }
        kept.store.close().await;
    }
    if args.json {
        let rows = listings(&loaded.extensions, &loaded.disabled, &loaded.errors, &config);
        return whole(&format!("{:#}\n", Json::from(rows)));
    }
    let mut rows =
        vec![["NAME", "VERSION", "DIGEST", "HOOKS", "TOOLS", "ASKED", "GRANTED", "HEALTH"].map(String::from)];
    rows.extend(loaded.extensions.iter().map(|extension| {
        row(&extension.manifest, &extension.digest, &extension.grant, in_words(&extension.health()))
    }));
    rows.extend(loaded.disabled.iter().map(|found| {
        let grant = granted(&config, &found.manifest);
        row(&found.manifest, &found.digest, &grant, "disabled".into())
    }));
    rows.extend(loaded.errors.iter().map(|error| {
        let none = || "-".to_owned();
        let health = error.reason.to_string();
        [file_name(error), none(), none(), none(), none(), none(), none(), health]
    }));
    whole(&table(&rows))
}

async fn reset(mut args: NamedArgs, mut config: Config) -> Result<Done, Problem> {
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
        return Err(Problem::new(never_called(name))
            .hint("`lathe ext list` shows the names; --data DIR is where the host keeps what it knows"));
    }
    reload::ask(&config.data)?;
    whole(&format!("{name} is ready\n"))
}

pub(super) fn never_called(name: &str) -> String {
    format!("nothing is known of an extension \"{name}\": it was never called")
}

/// Enables an extension, or disables it.
async fn enable(args: NamedArgs, mut config: Config, enabled: bool) -> Result<Done, Problem> {
    let NamedArgs { name, place } = args;
    find(place, &mut config, &name).await?;
    let word = if enabled { "enabled" } else { "disabled" };
    if is_enabled(&config, &name) == enabled {
        return whole(&format!("{name} is {word} already\n"));
    }
    let mut edit = Edit::open(&config)?;
    edit.enable(&name, enabled)?;
    edit.save()?;
    reload::ask(&config.data)?;
    whole(&format!("{name} is {word}\n"))
}

fn reload_hosts(mut args: ReloadArgs, mut config: Config) -> Result<Done, Problem> {
    args.place.apply(&mut config);
    if !reload::ask(&config.data)? {
        return Err(Problem::new(format!("no host has run with the data folder {}", config.data.display()))
            .hint("--data DIR names another one"));
    }
    whole("hosts that run take lathe.toml and the extensions anew before their next turn\n")
}

/// Whether an extension is to run.
pub(super) fn is_enabled(config: &Config, name: &str) -> bool {
    config.extension.get(name).is_none_or(|section| section.enabled)
}

/// The extension of that name, with what was typed in the place of what the configuration says.
async fn find(mut place: Place, config: &mut Config, name: &str) -> Result<Manifest, Problem> {
    place.apply(config);
    let there = there(host::folder(config)?.as_ref()).await?;
    Ok(named(there, config, name)?.manifest)
}

/// What there is in a folder, and the files that are no extensions.
pub(super) type There = (Vec<Found>, Vec<LoadError>);

pub(super) async fn there(folder: Option<&Folder>) -> Result<There, Problem> {
    let Some(folder) = folder else { return Ok(There::default()) };
    folder.find().await.map_err(|error| problem::folder(folder.dir(), &error))
}

/// The one of that name.
pub(super) fn named((found, broken): There, config: &Config, name: &str) -> Result<Found, Problem> {
    let names: Vec<String> = found.iter().map(|found| found.manifest.name.clone()).collect();
    if let Some(found) = found.into_iter().find(|found| found.manifest.name == name) {
        return Ok(found);
    }
    let problem =
        Problem::new(format!("there is no extension \"{name}\" in {}", config.extensions_dir().display()));
    Err(match (nearest(name, &names), broken.first()) {
        (Some(near), _) => problem.hint(format!("did you mean `{near}`?")),
        (None, Some(error)) => problem.hint(format!("a file there is no extension: {error}")),
        (None, None) => problem.hint("`lathe ext list` shows the names; --extensions DIR is another folder"),
    })
}

/// What takes effect of what the configuration grants.
fn granted(config: &Config, manifest: &Manifest) -> Grant {
    config.extension.get(&manifest.name).map(|section| section.grant.within(manifest)).unwrap_or_default()
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
        Ok(Some(Self { bridge: StoreBridge::new(Arc::new(store.clone()), None), store }))
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

fn row(manifest: &Manifest, digest: &str, grant: &Grant, health: String) -> [String; 8] {
    [
        manifest.name.clone(),
        manifest.version.clone(),
        digest.chars().take(SHORT).collect(),
        hooks(&manifest.hooks),
        words(manifest.tools.iter().map(|tool| manifest.tool_name(tool))),
        words(manifest.permissions.asked()),
        words(grant.names()),
        health,
    ]
}

/// What is known of extensions: of those that run, the disabled and the broken ones.
pub(super) fn listings(
    extensions: &[Arc<Extension>],
    disabled: &[Found],
    errors: &[LoadError],
    config: &Config,
) -> Vec<Json> {
    let set = config.extension_settings();
    let none = ExtensionSettings::default();
    let ready = extensions.iter().map(|extension| extension.listing());
    let disabled = disabled.iter().map(|found| found.listing(set.get(&found.manifest.name).unwrap_or(&none)));
    ready.chain(disabled).chain(errors.iter().map(LoadError::listing)).collect()
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
