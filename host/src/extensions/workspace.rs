//! Which folders may be a workspace.

use std::path::{Path, PathBuf};

use super::grant::WorkspaceGrant;
use super::manifest::Workspace;

/// Whether a folder can be granted; if not, why. `own` are the host's own files and folders: who writes compiled code or
/// grants is the host, so no extension may.
pub(super) fn check<'a>(
    workspace: &WorkspaceGrant,
    own: impl IntoIterator<Item = &'a Path>,
) -> Result<(), String> {
    let WorkspaceGrant { dir, access } = workspace;
    if !dir.is_dir() {
        return Err(format!("its workspace {} is not a folder; make it, or name another", dir.display()));
    }
    let inside = |path: &&Path| real(path).starts_with(real(dir));
    match own.into_iter().find(inside) {
        Some(path) if *access == Workspace::ReadWrite => Err(format!(
            "its workspace {} cannot be written, since {} is in it: whoever writes there can make the host do anything; \
             name another folder, or grant `access = \"read\"`",
            dir.display(),
            path.display()
        )),
        _ => Ok(()),
    }
}

/// The path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    // The folder of `file.wasm` is an empty path, and means this one.
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let existing = absolute.ancestors().find_map(|part| Some((part.canonicalize().ok()?, part)));
    match existing {
        Some((real, part)) => match absolute.strip_prefix(part) {
            Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
            _ => real,
        },
        None => absolute,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_what_the_host_runs_is_for_reading_alone() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["data", "work/deep", "far"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.path(), at("far/link")).unwrap();
        let own = [at("data/cache/not/yet"), at("lathe.toml")];
        for (dir, access, good) in [
            ("work", Workspace::ReadWrite, true),
            ("work/deep", Workspace::ReadWrite, true),
            ("far", Workspace::ReadWrite, true),
            ("", Workspace::Read, true),
            ("", Workspace::ReadWrite, false),
            ("work/..", Workspace::ReadWrite, false),
            ("data", Workspace::ReadWrite, false),
            #[cfg(unix)]
            ("far/link", Workspace::ReadWrite, false),
            ("nowhere", Workspace::Read, false),
        ] {
            let workspace = WorkspaceGrant { dir: at(dir), access };
            let checked = check(&workspace, own.iter().map(PathBuf::as_path));
            assert_eq!(checked.is_ok(), good, "{dir}: {checked:?}");
        }
    }
}
