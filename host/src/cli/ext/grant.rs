use std::path::Path;

use serde_json::json;

use super::edit::Edit;
use super::permission::{Kind, PERMISSIONS, Permission, folder};
use super::{find, table};
use crate::cli::args::{GrantArgs, RevokeArgs};
use crate::cli::print::whole;
use crate::cli::problem::Problem;
use crate::cli::{Done, reload};
use crate::config::Config;
use crate::extensions::{Grant, Manifest, Workspace};
use crate::turn::Json;

pub(super) async fn grant(args: GrantArgs, mut config: Config) -> Result<Done, Problem> {
    let GrantArgs { name, permissions, all, place } = args;
    let manifest = find(place, &mut config, &name).await?;
    let before = written(&config, &name);
    let wanted = if all { asked(&manifest, &before, &config)? } else { parsed(&permissions)? };
    if wanted.is_empty() {
        return whole(&shown(&manifest, &before));
    }
    let mut edit = Edit::open(&config)?;
    add(&mut edit, &name, wanted)?;
    finish(edit, &config, &manifest)
}

/// Has the file grant these.
pub(in crate::cli) fn add(edit: &mut Edit, name: &str, wanted: Vec<Permission>) -> Result<(), Problem> {
    let section = &["extension", name, "grant"];
    for permission in wanted {
        let Permission { name: key, kind, values } = permission.complete()?;
        match (kind, values.first()) {
            (Kind::Folder, Some(text)) => {
                let (dir, access) = folder(text);
                let mut workspace = toml_edit::InlineTable::new();
                workspace.insert("dir", dir.into());
                workspace.insert("access", access.into());
                edit.set(section, key, workspace)?;
            }
            (Kind::Words, Some(_)) => edit.add(section, key, &values)?,
            _ => edit.set(section, key, true)?,
        }
    }
    Ok(())
}

pub(super) async fn revoke(args: RevokeArgs, mut config: Config) -> Result<Done, Problem> {
    let RevokeArgs { name, permissions, all, place } = args;
    let manifest = find(place, &mut config, &name).await?;
    let mut edit = Edit::open(&config)?;
    if all {
        edit.remove(&["extension", &name], "grant")?;
    } else {
        take(&mut edit, &config, &name, parsed(&permissions)?)?;
    }
    finish(edit, &config, &manifest)
}

/// Has the file grant these no longer.
pub(in crate::cli) fn take(
    edit: &mut Edit,
    config: &Config,
    name: &str,
    unwanted: Vec<Permission>,
) -> Result<(), Problem> {
    let section = &["extension", name, "grant"];
    let there = json!(written(config, name));
    for Permission { name: key, kind, values } in unwanted {
        let lacks = |what: &str| {
            Problem::new(format!("{name} is not granted {what}"))
                .hint(format!("`lathe ext grant {name}` shows what it is granted"))
        };
        let Some(granted) = there.get(key) else { return Err(lacks(key)) };
        if kind != Kind::Words || values.is_empty() {
            edit.remove(section, key)?;
            continue;
        }
        let granted = words(granted);
        if let Some(absent) = values.iter().find(|value| !granted.contains(value)) {
            return Err(lacks(&format!("{key}={absent}")));
        }
        edit.take(section, key, &values)?;
    }
    Ok(())
}

/// Writes it down, and shows what is granted now.
fn finish(edit: Edit, config: &Config, manifest: &Manifest) -> Result<Done, Problem> {
    let after = allowed(&edit, config, manifest)?;
    edit.save()?;
    reload::ask(&config.data)?;
    whole(&shown(manifest, &after))
}

/// What the file would grant, unless that would have no effect.
pub(in crate::cli) fn allowed(edit: &Edit, config: &Config, manifest: &Manifest) -> Result<Grant, Problem> {
    let name = &manifest.name;
    let after = written(&edit.check()?, name);
    let idle = written(config, name).unasked(manifest);
    let new: Vec<String> = after.unasked(manifest).into_iter().filter(|what| !idle.contains(what)).collect();
    if !new.is_empty() {
        return Err(Problem::new(format!(
            "{name} does not ask for {}: it would have no effect",
            new.join(", ")
        ))
        .hint(format!("`lathe ext grant {name}` shows what it asks for")));
    }
    Ok(after)
}

/// What the configuration grants, of effect or not.
fn written(config: &Config, name: &str) -> Grant {
    config.extension.get(name).map(|section| section.grant.clone()).unwrap_or_default()
}

pub(in crate::cli) fn parsed(permissions: &[String]) -> Result<Vec<Permission>, Problem> {
    permissions.iter().map(|text| Permission::parse(text)).collect()
}

/// Everything that an extension asks for. A folder has to be there already: nobody but the operator knows which.
fn asked(manifest: &Manifest, granted: &Grant, config: &Config) -> Result<Vec<Permission>, Problem> {
    let asked = json!(manifest.permissions);
    let wanted = PERMISSIONS.iter().filter_map(|&(name, kind, _)| {
        let values = words(asked.get(name)?);
        Some(Permission { name, kind, values: if kind == Kind::Words { values } else { Vec::new() } })
    });
    let mut wanted: Vec<Permission> = wanted.collect();
    if wanted.is_empty() {
        return Err(Problem::new(format!("{} asks for nothing", manifest.name)));
    }
    for permission in wanted.iter_mut().filter(|permission| permission.kind == Kind::Folder) {
        let access = if manifest.permissions.workspace == Some(Workspace::ReadWrite) { "rw" } else { "ro" };
        let Some(workspace) = &granted.workspace else {
            return Err(Problem::new(format!(
                "{} asks for a folder, and which is yours to say",
                manifest.name
            ))
            .hint(format!("first `lathe ext grant {} workspace=DIR:{access}`", manifest.name)));
        };
        // As it stands in the file, which is where a relative one is taken from.
        let folder = config.file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let dir = workspace.dir.strip_prefix(folder).unwrap_or(&workspace.dir);
        permission.values = vec![format!("{}:{access}", dir.display())];
    }
    Ok(wanted)
}

/// What is asked for and what is granted, side by side.
fn shown(manifest: &Manifest, granted: &Grant) -> String {
    let (asked, granted) = (json!(manifest.permissions), json!(granted.within(manifest)));
    let mut rows = vec![["PERMISSION", "ASKED", "GRANTED", "MEANING"].map(String::from)];
    for (name, _, meaning) in PERMISSIONS {
        let (asked, granted) = (asked.get(name), granted.get(name));
        if asked.is_some() || granted.is_some() {
            rows.push([name.to_owned(), cell(asked), cell(granted), meaning.to_owned()]);
        }
    }
    if rows.len() == 1 {
        return format!("{} asks for nothing\n", manifest.name);
    }
    table(&rows)
}

fn cell(value: Option<&Json>) -> String {
    match value {
        None => "-".into(),
        Some(Json::Bool(_)) => "yes".into(),
        Some(value) => words(value).join(","),
    }
}

/// The words of a permission in JSON: texts, hosts of the network, a folder with its access.
fn words(value: &Json) -> Vec<String> {
    match value {
        Json::String(word) => vec![word.clone()],
        Json::Array(list) => list.iter().flat_map(words).collect(),
        Json::Object(fields) => match (fields.get("host"), fields.get("dir"), fields.get("access")) {
            (Some(host), ..) => words(host),
            (None, Some(Json::String(dir)), Some(Json::String(access))) => vec![format!("{dir}:{access}")],
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}
