//! Versions of the contract: which of them this host speaks, and which one a component was built for.

use wasmparser::{Encoding, Parser, Payload};

use super::error::LoadReason;

/// What this host speaks, the oldest first. Each stands, as it was published, in a folder of `wit/`; the last is the
/// current one. `wit/README.md` says what a new one takes.
const VERSIONS: [&str; 1] = ["0.1.0"];

/// The interfaces that every extension exports, without their versions.
const EXPORTS: [&str; 3] =
    ["lathe:extension/extension-manifest", "lathe:extension/tools", "lathe:extension/hooks"];

/// Whether a component with these exports was built for a version that this host speaks.
pub(super) fn check(exports: &[String]) -> Result<(), LoadReason> {
    let mut built_for = None;
    for wanted in EXPORTS {
        let version = exports.iter().find_map(|name| name.strip_prefix(wanted)?.strip_prefix('@'));
        match (version, built_for) {
            (Some(found), _) if !VERSIONS.contains(&found) => {
                return Err(LoadReason::Version { found: found.to_owned(), offered: VERSIONS.join(", ") });
            }
            (Some(found), None) => built_for = Some(found),
            (Some(found), Some(version)) if found == version => {}
            (_, version) => {
                let version = version.or(VERSIONS.last().copied()).unwrap_or_default();
                return Err(LoadReason::World { missing: format!("{wanted}@{version}") });
            }
        }
    }
    Ok(())
}

/// The version of the contract that a component was built for, if it is older than the current one: both, the older first.
#[must_use]
pub fn outdated(component: &[u8]) -> Option<(String, &'static str)> {
    older(&version(component)?, &VERSIONS)
}

fn older(version: &str, versions: &[&'static str]) -> Option<(String, &'static str)> {
    let (current, earlier) = versions.split_last()?;
    earlier.contains(&version).then(|| (version.to_owned(), *current))
}

/// The version of the contract's interfaces among a component's exports. Nothing is compiled.
fn version(component: &[u8]) -> Option<String> {
    // Components may hold components; only what the outermost exports counts.
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(component) {
        match payload.ok()? {
            Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => return None,
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentExportSection(exports) if depth == 0 => {
                for export in exports {
                    let name = export.ok()?.name.name;
                    let version =
                        EXPORTS.iter().find_map(|wanted| name.strip_prefix(wanted)?.strip_prefix('@'));
                    if let Some(version) = version {
                        return Some(version.to_owned());
                    }
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    use super::*;

    fn exports(version: &str) -> Vec<String> {
        EXPORTS.map(|name| format!("{name}@{version}")).into()
    }

    #[test]
    fn an_unknown_version_is_refused_with_both_named() {
        assert!(check(&exports("0.1.0")).is_ok());
        let error = check(&exports("9.9.0")).unwrap_err().to_string();
        assert!(error.contains("@9.9.0") && error.contains("0.1.0"), "{error}");
    }

    #[test]
    fn one_component_is_of_one_version() {
        let mixed =
            ["lathe:extension/extension-manifest@0.1.0", "lathe:extension/tools@0.1.0"].map(String::from);
        let error = check(&mixed).unwrap_err().to_string();
        assert!(error.contains("lathe:extension/hooks@0.1.0"), "{error}");
        assert!(check(&[]).is_err());
    }

    #[test]
    fn a_component_of_an_earlier_version_is_told() {
        let versions = ["0.1.0", "0.1.1", "0.2.0"];
        assert_eq!(older("0.1.1", &versions), Some(("0.1.1".to_owned(), "0.2.0")));
        assert_eq!(older("0.2.0", &versions), None);
        assert_eq!(older("9.9.0", &versions), None);
    }

    fn wit() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit")
    }

    fn files(folder: &Path) -> BTreeMap<String, String> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let texts = entries.filter(|path| path.extension().is_some_and(|extension| extension == "wit"));
        texts
            .map(|path| {
                let text = std::fs::read_to_string(&path).unwrap();
                (path.file_name().unwrap().to_string_lossy().into_owned(), text)
            })
            .collect()
    }

    /// The package's version, the same in every file.
    fn package(files: &BTreeMap<String, String>) -> String {
        let line = |text: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix("package lathe:extension@"));
            line.and_then(|line| line.strip_suffix(';')).unwrap().to_owned()
        };
        let mut versions: Vec<String> = files.values().map(|text| line(text)).collect();
        versions.dedup();
        assert_eq!(versions.len(), 1, "{versions:?}");
        versions.remove(0)
    }

    #[test]
    fn what_is_published_stays_as_it_is() {
        let mut frozen: Vec<String> = std::fs::read_dir(wit())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        frozen.sort();
        assert_eq!(frozen, VERSIONS, "each version has its folder");
        for version in VERSIONS {
            assert_eq!(package(&files(&wit().join(version))), version);
        }
        let current = files(&wit());
        let version = package(&current);
        assert_eq!(Some(&&*version), VERSIONS.last());
        assert!(
            current == files(&wit().join(&version)),
            "the contract {version} is published: what differs from wit/{version} needs a new version"
        );
    }

    #[test]
    fn the_guests_have_the_same_contract() {
        assert!(
            files(&wit()) == files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest-sdk/wit")),
            "guest-sdk/wit is a copy of wit: cp wit/*.wit guest-sdk/wit/"
        );
    }
}
