//! The tests of an extension in JavaScript or Python.

use std::io;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::super::build::{Language, Project, SIDE};
use super::super::problem::{self, Problem};

/// What runs them; None if there are none.
pub(super) fn command(project: &Project) -> Result<Option<Command>, Problem> {
    let files = match project.language {
        Language::JavaScript => {
            let mut files = Vec::new();
            gather(&project.folder, Path::new(""), &mut files)
                .map_err(|error| problem::folder(&project.folder, &error))?;
            if files.is_empty() {
                return Ok(None);
            }
            files.sort();
            files
        }
        // `unittest` goes through the folder itself.
        Language::Python => Vec::new(),
    };
    Ok(Some(project.language.test(&project.folder, &files)))
}

/// Node.js would find them too, and beside them those of packages and of the author's side.
fn gather(folder: &Path, at: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder.join(at))? {
        let name = entry?.file_name();
        let (path, text) = (at.join(&name), name.to_string_lossy());
        let whole = folder.join(&path);
        if whole.is_dir() {
            let of_others = text.starts_with('.') || text == "node_modules" || path == Path::new(SIDE);
            if !of_others && !whole.is_symlink() {
                gather(folder, &path, files)?;
            }
        } else if text.ends_with(".test.js") || text.ends_with(".test.mjs") {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_files_are_the_authors_own() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "b.test.js",
            "a/a.test.mjs",
            "a.js",
            "lathe/x.test.js",
            "node_modules/y/y.test.js",
            ".git/z.test.js",
        ] {
            let file = folder.path().join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "").unwrap();
        }
        let mut files = Vec::new();
        gather(folder.path(), Path::new(""), &mut files).unwrap();
        files.sort();
        assert_eq!(files, [Path::new("a/a.test.mjs"), Path::new("b.test.js")]);
    }
}
