//! Where a new crate finds `lathe-guest`, which is in no registry.
//!
//! Inside a checkout of this repository it is the one of the checkout. Elsewhere the crate gets a copy of its own, below
//! `vendor/`: it is of the version that made it, can be committed, and builds on any machine with nothing but the registry.

use std::io;
use std::path::{Path, PathBuf};

include!(concat!(env!("OUT_DIR"), "/sdk.rs"));

/// Where the copy goes, in the new crate.
pub(super) const VENDOR: &str = "vendor/lathe";

/// The crate, in the repository and in the copy.
const SDK: &str = "guest-sdk";

/// The path to the crate from a new crate in this folder; a copy is made if there is none around it.
pub(super) fn provide(folder: &Path) -> io::Result<PathBuf> {
    let absolute = folder.canonicalize()?;
    let checkout =
        |up: &&Path| up.join(SDK).join("Cargo.toml").is_file() && up.join("wit/world.wit").is_file();
    if let Some(depth) = absolute.ancestors().position(|up| checkout(&up)) {
        return Ok((0..depth).map(|_| "..").chain([SDK]).collect());
    }
    for (name, text) in FILES {
        let file = folder.join(VENDOR).join(name);
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(file, if *name == "Cargo.toml" { workspace(text)? } else { (*text).to_owned() })?;
    }
    Ok(Path::new(VENDOR).join(SDK))
}

/// The repository's workspace with nothing in it but the crate: its versions are the copy's.
fn workspace(text: &str) -> io::Result<String> {
    let mut manifest: toml::Table = text.parse().map_err(io::Error::other)?;
    manifest.retain(|key, _| key == "workspace");
    if let Some(workspace) = manifest.get_mut("workspace").and_then(toml::Value::as_table_mut) {
        workspace.retain(|key, _| !matches!(key, "members" | "default-members" | "exclude"));
        let members = [SDK, "guest-sdk/macros"].map(toml::Value::from);
        workspace.insert("members".into(), members.to_vec().into());
        // The others are not the crate's.
        if let Some(dependencies) = workspace.get_mut("dependencies").and_then(toml::Value::as_table_mut) {
            let used = |name: &str| {
                let manifests = FILES.iter().filter(|(path, _)| path.ends_with("/Cargo.toml"));
                manifests.into_iter().any(|(_, text)| {
                    text.lines()
                        .any(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(" =")))
                })
            };
            dependencies.retain(|name, _| used(name));
        }
    }
    toml::to_string(&manifest).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_outside_has_a_copy_that_is_a_workspace_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(provide(folder.path()).unwrap(), Path::new("vendor/lathe/guest-sdk"));
        let copy = folder.path().join(VENDOR);
        let manifest = std::fs::read_to_string(copy.join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let workspace = manifest["workspace"].as_table().unwrap();
        assert_eq!(workspace["members"].as_array().unwrap().len(), 2);
        let dependencies = workspace["dependencies"].as_table().unwrap();
        assert!(dependencies.contains_key("schemars") && dependencies.contains_key("wasip2"));
        assert!(!dependencies.contains_key("wasmtime"), "{dependencies:?}");
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest-sdk/src/lib.rs");
        let (one, other) =
            (std::fs::read(original).unwrap(), std::fs::read(copy.join("guest-sdk/src/lib.rs")).unwrap());
        assert!(one == other);
        assert!(copy.join("guest-sdk/wit/world.wit").is_file());
    }

    #[test]
    fn a_crate_in_the_checkout_uses_the_checkouts() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../extensions/calc");
        assert_eq!(provide(&folder).unwrap(), Path::new("../../guest-sdk"));
    }
}
